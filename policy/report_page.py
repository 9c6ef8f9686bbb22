"""The page of a report on a policy, to read and print: it has no scripts, and loads nothing."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup


def report_page(name: str, filters: Mapping[str, Callable[..., Any]], values: Mapping[str, Any]) -> bytes:
    """Return the page of a template in this package, with its style beside it; each by its name without the ending."""
    engine = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_file)
    )
    engine.filters.update(filters)
    style = _file("report.css") + _file(f"{name}.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    own = {"style": Markup(style), "style_digest": digest}  # noqa: S704 - files of ours
    return f"{engine.get_template(f'{name}.html').render(**own, **values)}\n".encode()


def _file(name: str) -> str:
    return (files("policy") / name).read_text(encoding="utf-8")

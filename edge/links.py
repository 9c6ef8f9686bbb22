"""Our links: their routes, and the one page behind all of them.

The page is made once and is the same for every link, whether its target exists or not. Nothing is looked up, so neither
the answer nor its time can tell anything.
"""

import base64
import hashlib
from importlib.resources import files

from fastapi import FastAPI
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from runtime.services.links import LinkTo, path_of

_APP = "https://slack.com/app_redirect?app={}"
"""Slack's own way to an app, from anywhere; it asks people for their workspace where they have several."""
_SLACK = "slack://open"


def _read(name: str) -> str:
    return files("edge").joinpath(f"link_page.{name}").read_text(encoding="utf-8")


_CSS = _read("css")
_HASH = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}


class LinkPage:
    """That page. With `app_id` (`A…`) it leads to the app, else to Slack."""

    def __init__(self, app_id: str | None) -> None:
        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        way = _APP.format(app_id) if app_id else _SLACK
        css = Markup(_CSS)  # noqa: S704 - a file of ours
        self._text = environment.from_string(_read("html")).render(css=css, way=way, names_app=bool(app_id))

    def response(self) -> HTMLResponse:
        """Return it."""
        return HTMLResponse(self._text, 200, _HEADERS)


def add_links(app: FastAPI, page: LinkPage) -> None:
    """Add the page, under whatever may be one of our links."""

    async def show(some_id: str) -> HTMLResponse:  # noqa: ARG001 - it is not looked at
        return page.response()

    for to in LinkTo:
        app.get(f"{path_of(to)}{{some_id}}")(show)

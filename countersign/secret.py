"""Which settings are secret, and so belong in files."""

from typing import Any, get_args

from pydantic import SecretStr

from countersign.settings import Settings


def is_secret(name: str) -> bool:
    """Return whether a setting is secret by its type; a pack's settings may be."""
    return name == "pack" or _holds_secret(Settings.model_fields[name].annotation)


def _holds_secret(kind: Any) -> bool:
    return kind is SecretStr or any(map(_holds_secret, get_args(kind)))

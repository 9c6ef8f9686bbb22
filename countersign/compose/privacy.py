"""The secrets that the settings hold, as what takes them out of every text from outside and of the log."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import SecretStr

from countersign.config.settings import Settings
from receipts.privacy import Privacy, Secret
from receipts.redaction import is_secret_name

_TOKEN_PART = 8
"""Characters of a token that are as secret as the whole."""
_SHORTEST = 6
"""Characters from which a pack's setting counts as a secret, if its name does not say so."""
_ADDRESS = re.compile(r"https?://[^@?#]*")


def make_privacy(settings: Settings) -> Privacy:
    """Return what takes out the secrets of these settings."""
    return Privacy.of([*_own(settings), *_of_packs(settings)])


def _own(settings: Settings) -> Iterator[Secret]:
    for name in type(settings).model_fields:
        for text in _secrets(getattr(settings, name)):
            yield from (Secret(secret, _TOKEN_PART) for secret in _secret_parts(text) if secret)


def _secret_parts(text: str) -> list[str]:
    """Return what is secret in a secret setting: of a database's address its passwords, for the rest names hosts."""
    if not text.startswith("postgres"):
        return [text]
    address = urlsplit(text)
    return [unquote(address.password or ""), *parse_qs(address.query).get("password", [])]


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _secrets(item)


def _of_packs(settings: Settings) -> Iterator[Secret]:
    """Yield all that packs are told but addresses: what else is secret among it, only the pack knows."""
    for told in settings.pack.values():
        for name, text in told.items():
            if password := urlsplit(text).password if "://" in text else None:
                yield Secret(unquote(password), _TOKEN_PART)
            if is_secret_name(name) and text:
                yield Secret(text, _TOKEN_PART)
            elif len(text) >= _SHORTEST and not _ADDRESS.fullmatch(text):
                yield Secret(text)

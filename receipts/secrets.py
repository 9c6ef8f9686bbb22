"""What is secret in settings: values of the type SecretStr, and passwords in addresses. Their names decide nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

SHORTEST_SECRET = 8
"""Characters of a secret at least: texts are full of shorter ones by chance."""
TOO_SHORT = f"has fewer than {SHORTEST_SECRET} characters, so it cannot be told from a word"
_DATABASE = re.compile(r"postgres(?:ql)?://")
_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#:@]*:([^/?#]*)@")
_ASKED = re.compile(r"[?&]password=([^&#]*)")
_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})")
_SIGNING = "whsec_"


def secrets_in(value: Any) -> Iterator[str]:
    """Yield the secrets of a setting, whatever it holds them in."""
    if isinstance(value, SecretStr):
        yield from _parts(value.get_secret_value())
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secrets_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from secrets_in(item)
    elif isinstance(value, str):
        yield from passwords_in(value)


def passwords_in(address: str) -> list[str]:
    """Return the passwords that an address holds, as they are and as it writes them: all else in it names a place."""
    found = _USERINFO.match(address)
    asked = _ASKED.findall(address) if _DATABASE.match(address) else []
    written = [text for text in (found[1] if found else "", *asked) if text]
    return [*dict.fromkeys(form for text in written for form in (_plain(text), _plain(text.replace("+", " ")), text))]


def _plain(text: str) -> str:
    """Return what a percent-encoded text stands for."""
    return _ENCODED.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode()).decode(errors="replace")


def _parts(secret: str) -> list[str]:
    """Return what is secret in a secret: an address's passwords; of a webhook's secret also what follows its prefix."""
    if _DATABASE.match(secret):
        return passwords_in(secret)
    return [*dict.fromkeys(text for text in (secret, secret.removeprefix(_SIGNING)) if text)]

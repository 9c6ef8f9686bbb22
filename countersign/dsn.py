"""Whether a text is the URL of a PostgreSQL database.

The libraries that take it apart quote what they stumble over, which may be a part of the password. So it is looked at
here, before they see it, and what is wrong is said without a character of it.
"""

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict

FORM = "postgresql://USER:PASSWORD@HOST:PORT/NAME"

_WHITE = re.compile(r"[\x00-\x20\x7f-\xa0]")
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLACE = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(:[0-9]{0,5})?")


def check_dsn(url: str) -> None:
    """Raise ValueError that says what is wrong, and how the character at fault is written, and nothing of the value."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"is not {FORM}")
    if _WHITE.search(url):
        raise ValueError("holds a space or a control character; write a space as %20")
    if _BROKEN.search(url):
        raise ValueError("holds a % that stands for nothing; write % itself as %25")
    if url.count("@") > 1:
        raise ValueError("holds more than one @; in a password write @ as %40")
    _, at, place = _authority(url).rpartition("@")
    if not _PLACE.fullmatch(place) or ("@" in url and not at):
        raise ValueError("its host or port is not one; in a password write / as %2F and ? as %3F")
    try:
        conninfo_to_dict(url)
    except psycopg.Error:
        raise ValueError(f"is not {FORM} as PostgreSQL's own library reads it") from None


def _authority(url: str) -> str:
    """Return what stands between the slashes, as PostgreSQL's library finds it."""
    return re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]

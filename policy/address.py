"""`unix:///PATH`: the address of a Unix socket, where an OPA on this machine may listen, encoded as URLs are."""

import os
import re
import sys
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

LONGEST = 103 if sys.platform == "darwin" else 107
"""Bytes that the path of a socket may have."""

_FORM = re.compile(r"unix://((?:/(?:[^\x00-\x20\x7f/?#%]|%(?!00)[0-9A-Fa-f]{2})+)+)")


def socket_path(url: str) -> str | None:
    """Return the path of the socket that the address names, None where it names none.

    Raise ValueError that says what is wrong, and quotes nothing of the address.
    """
    if not url.startswith("unix:"):
        return None
    if not (found := _FORM.fullmatch(url)):
        raise ValueError("is not unix:///PATH, the whole path of a socket; write % ? # and spaces as %25 %3F %23 %20")
    path = unquote_to_bytes(found[1])
    if len(path) > LONGEST:
        raise ValueError(f"names a socket whose path has {len(path)} bytes: no more than {LONGEST} are possible")
    return os.fsdecode(path)


def socket_url(path: Path) -> str:
    """Return the address of a socket."""
    return f"unix://{quote(os.fsencode(path))}"

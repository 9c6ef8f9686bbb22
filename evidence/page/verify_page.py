"""The second verifier: one HTML file that checks a bundle in a browser, for those who have not our program."""

import hashlib
from importlib.resources import files
from pathlib import Path

from evidence.errors import EvidenceError


class PageError(EvidenceError):
    """The page cannot be written; the message says where and why."""


def write_page(to: Path) -> str:
    """Write the page to a file that must not be there yet, and return its SHA-256."""
    page = files(__package__).joinpath("verify.html").read_bytes()
    try:
        with to.open("xb") as file:
            file.write(page)
    except OSError as error:
        raise PageError(f"{to} cannot be written: {error.strerror}") from error
    return hashlib.sha256(page).hexdigest()

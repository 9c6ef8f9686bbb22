"""The Legal Entity Identifier (ISO 17442): 18 characters and two check digits, ISO 7064 mod 97-10."""

import re
from typing import Annotated

from pydantic import AfterValidator

_FORM = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_MODULUS = 97


def remainder(text: str) -> int:
    """Return the remainder mod 97 of `text` with each letter read as its two digits (A is 10)."""
    return int("".join(str(int(character, 36)) for character in text)) % _MODULUS


def with_check_digits(stem: str) -> str:
    """Return the LEI of an 18-character stem."""
    return f"{stem}{98 - remainder(stem + '00'):02d}"


def is_lei(text: str) -> bool:
    """Return whether `text` has the form of an LEI and right check digits."""
    return bool(_FORM.fullmatch(text)) and remainder(text) == 1


def _check(text: str) -> str:
    if not is_lei(text):
        raise ValueError("is not an LEI: 18 characters 0-9 A-Z and two right check digits")
    return text


Lei = Annotated[str, AfterValidator(_check)]

"""What the text formats of C2SP share: lines, numbers and base64, each of which has one spelling."""

import base64
import binascii
import re

from receipts.log.errors import LogError
from receipts.log.hashes import HASH_BYTES, MAX_SIZE

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def number(text: str, what: str, error: type[LogError]) -> int:
    """Return a number up to 2**63 - 1 in ASCII digits without leading zeroes, or raise `error`."""
    if not _NUMBER.fullmatch(text) or int(text) > MAX_SIZE:
        raise error(f"{what} is no number up to 2**63 - 1 without leading zeroes: {text[:40]!r}")
    return int(text)


def from_base64(text: str, what: str, error: type[LogError]) -> bytes:
    """Return the bytes of standard base64 in its one canonical spelling, or raise `error`."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as cause:
        raise error(f"{what} is not base64: {text[:40]!r}") from cause
    if to_base64(data) != text:
        raise error(f"{what} is base64, but not in its canonical spelling: {text[:40]!r}")
    return data


def to_base64(data: bytes) -> str:
    """Return standard base64."""
    return base64.b64encode(data).decode("ascii")


def hash_from(line: str, what: str, error: type[LogError]) -> bytes:
    """Return the hash in a line of base64, or raise `error`."""
    data = from_base64(line, what, error)
    if len(data) != HASH_BYTES:
        raise error(f"{what} has {len(data)} bytes, not {HASH_BYTES}")
    return data


def utf8(data: bytes, limit: int, what: str, error: type[LogError]) -> str:
    """Return text of at most `limit` bytes, without control characters but line breaks, or raise `error`."""
    if len(data) > limit:
        raise error(f"{what} has {len(data)} bytes, and may have {limit}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise error(f"{what} is not UTF-8 at byte {cause.start}") from cause
    if found := re.search(r"[\x00-\x09\x0b-\x1f]", text):
        raise error(f"{what} holds the control character U+{ord(found[0]):04X}")
    return text

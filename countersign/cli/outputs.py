"""Files that commands write: nothing is overwritten, and what holds the same already is left as it is."""

from pathlib import Path

from countersign.foreseen_errors import OperateError
from evidence.local import TakenError, write_once

_READABLE = 0o644


def check_free(to: Path, data: bytes) -> None:
    """Raise OperateError where the data could not be written, before anything is on record."""
    try:
        if not to.parent.is_dir():
            raise OperateError(f"{to} cannot be written: {to.parent} is not a folder")
        if to.exists() and to.read_bytes() != data:
            raise _exists_error(to)
    except OSError as error:
        raise OperateError(f"{to} cannot be written: {error.strerror}") from error


def write_new(to: Path, data: bytes, mode: int = _READABLE) -> None:
    """Write a file; raise OperateError where that cannot be."""
    try:
        write_once(to, data, mode)
    except TakenError as error:
        raise _exists_error(to) from error
    except OSError as error:
        raise OperateError(f"{to} cannot be written: {error.strerror}") from error


def _exists_error(to: Path) -> OperateError:
    return OperateError(f"{to} exists with other content: nothing is overwritten")

"""Tessera's checker of logs in tiles, `fsck`, for tests alone: pinned, built with Go once, kept in the cache.

It is a second implementation of what `receipts/tiles.py` writes. Where there is no Go, tests do without. Standard
library only.
"""

import os
from pathlib import Path

from countersign.embedded.servers import cache_folder, go_install
from countersign.embedded.work import Report, SetUpError, one_at_a_time

MODULE = "github.com/transparency-dev/tessera"
VERSION = "v1.0.4"
SUM = "h1:IXjGowubcLR0T3zUQrysSMKgtTh9KGKQ0iajUiubyP4="
"""What Go's database of sums says of the module at this version."""


def find() -> Path | None:
    """Return the program, if it is in the cache and was built from the pinned module."""
    program = _target()
    return program if os.access(program, os.X_OK) and _is_pinned(program) else None


def build_if_possible(report: Report) -> None:
    """Build the program where it is missing and Go is there; else say what is left out."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    try:
        with one_at_a_time(cache, report):
            if find() is None:
                _build(report)
    except SetUpError as error:
        report(f"Tests do without Tessera's fsck: {error}")


def _build(report: Report) -> None:
    built = go_install(f"{MODULE}/cmd/fsck@{VERSION}", _target(), "half a minute", report)
    if not _is_pinned(built):
        built.unlink()
        raise SetUpError(f"what Go built is not of {MODULE} {VERSION} with the sum {SUM}")


def _target() -> Path:
    return cache_folder() / f"tessera-fsck-{VERSION.removeprefix('v')}"


def _is_pinned(program: Path) -> bool:
    """Return whether the program bears the mark that Go gives it, which ends with the sum of its module."""
    return f"mod\t{MODULE}\t{VERSION}\t{SUM}\n".encode() in program.read_bytes()

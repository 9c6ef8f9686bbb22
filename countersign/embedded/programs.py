"""The `opa` program of embedded mode and of commands."""

from pathlib import Path

from countersign.embedded.servers import OPA, ensure
from countersign.embedded.work import to_stderr
from countersign.settings import Settings


def opa_program(settings: Settings) -> Path:
    """Return the program that the settings name, else the pinned one, installed where it is missing."""
    return settings.opa or ensure(OPA, to_stderr)

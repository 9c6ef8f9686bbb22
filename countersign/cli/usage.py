"""What is said of a command that is used wrongly: one sentence, and where its help is."""

from typing import Any

from typer.exceptions import TyperException


def told(error: TyperException) -> str:
    """Return what is to be said of wrong use, and nothing of a group without a command: its help was printed."""
    context: Any = getattr(error, "ctx", None)
    said = _sentence(error.format_message())
    more = f" (`{context.command_path} --help` tells more)" if context else ""
    return f"countersign: {said}{more}\n" if said else ""


def _sentence(said: str) -> str:
    """Return the library's words as ours: on one line, without its own prefixes, and begun as we begin."""
    one = " ".join(said.split()).removeprefix("Invalid value: ").replace("Value error, ", "").rstrip(".")
    return one[:1].lower() + one[1:] if one[1:2].islower() else one

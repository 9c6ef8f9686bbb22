"""What can be wrong with a pack: one value per problem, each with its place, and the errors that carry them."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

Path = tuple[str | int, ...]
Finding = tuple[Path, str, str]
"""Something wrong at a path, with the code and the message of its problem."""


class DefinitionError(Exception):
    """Base of everything that this package raises."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong at one place. `code` is stable; `path` leads through the document, "$" being the whole."""

    file: str
    line: int
    path: str
    code: str
    message: str

    def __str__(self) -> str:
        """Return the problem as one line, in the form that editors can follow."""
        return f"{self.file}:{self.line}: {self.path}: {self.message}"


class InvalidDefinitionsError(DefinitionError):
    """Some definitions cannot be used; `problems` holds every reason."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def show_path(path: Path) -> str:
    """Return `path` as authors read it, for example ``steps[0].params.lei``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "$"


def hint(name: object, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" where a known name is near, else nothing."""
    near = get_close_matches(str(name), sorted(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""

"""Files that an operator writes: strict YAML, of which every fault is named with its file, line and place."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from countersign.foreseen_errors import CountersignError
from runtime.definitions.loading.shapes import in_words_of_the_file
from runtime.definitions.loading.yaml_source import SourceError, read_source
from runtime.definitions.problems import Path as Place

Fault = tuple[Place, str]

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_file(
    path: Path,
    model: type[ModelT],
    faults_of: Callable[[ModelT], Iterable[Fault]],
    error: type[CountersignError],
) -> ModelT:
    """Return what a file says; raise `error` with every fault of its shape, or else with what `faults_of` finds."""
    try:
        source = read_source(path, str(path))
    except SourceError as fault:
        raise error(str(fault)) from fault
    found, faults = _shaped(model, source.value, faults_of)
    if found is None or faults:
        raise error("\n".join(str(source.problem(place, "file", what)) for place, what in faults))
    return found


def _shaped(
    model: type[ModelT], value: object, faults_of: Callable[[ModelT], Iterable[Fault]]
) -> tuple[ModelT | None, list[Fault]]:
    try:
        found = model.model_validate(value)
    except ValidationError as error:
        return None, [(one["loc"], in_words_of_the_file(one)) for one in error.errors(include_url=False)]
    return found, list(faults_of(found))

"""Operations that the packs' runbooks use, each with the place of its verb."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from countersign.engine import validated_catalog
from countersign.settings import Settings
from policy.lint.rules import Used
from runtime.definitions.loading.catalog import Catalog

_HANDLER = re.compile(r"\bhandler:\s*[\"']?([a-z0-9_]+::[a-z0-9_]+)")


def used_operations(settings: Settings) -> tuple[list[Used], Sequence[str]]:
    """Return what the runbooks of the packs have done through the gate, and the problems in what was not loaded."""
    catalog = validated_catalog(settings)
    places = dict(_places(settings.packs))
    used = [_used(handler, runbook, places) for handler, runbook in _handlers(catalog).items()]
    return used, tuple(map(str, catalog.problems))


def _used(handler: str, runbook: str, places: dict[str, tuple[str, int]]) -> Used:
    connector, operation = handler.split("::")
    file, line = places.get(handler, (runbook, 0))
    return Used(connector, operation, runbook, file, line)


def _handlers(catalog: Catalog) -> dict[str, str]:
    """Return the handlers that policy is asked about, each with the first runbook that uses it."""
    found: dict[str, str] = {}
    for (name, _), definition in sorted(catalog.definitions.items()):
        for verb in definition.verbs.values():
            if verb.passes_gate:
                found.setdefault(verb.handler, name)
    return found


def _places(packs: Sequence[Path]) -> Iterator[tuple[str, tuple[str, int]]]:
    files = sorted(file for pack in packs for file in (pack / "verbs").glob("*.yaml"))
    for file in reversed(files):
        numbered = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        yield from ((found[1], (str(file), row)) for row, line in numbered if (found := _HANDLER.search(line)))

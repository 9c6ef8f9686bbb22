"""What must hold for the ``response`` of a runbook."""

from collections.abc import Collection, Iterator

from runtime.definitions.loading.functions import functions_in
from runtime.definitions.loading.params import check_text
from runtime.definitions.problems import Finding, Path, hint
from runtime.definitions.responses import ResponseSpec
from runtime.definitions.scope import Scope


def response_findings(response: ResponseSpec | None, scope: Scope, outcomes: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with it; `scope` is that of the whole run, `outcomes` the words with which it may end."""
    if response is None:
        return
    for path, text in _texts(response):
        yield from ((path, fault.code, fault.message) for fault in check_text(text, scope))
        for name in functions_in(text):
            yield path, "rule", f"'{name}' is a function of a pack; a response is made of CEL's own"
    for name in response.outcomes:
        if name not in outcomes:
            message = f"no step ends a run with the outcome '{name}'{hint(name, outcomes)}"
            yield ("response", "outcomes", name), "dangling_reference", message


def _texts(response: ResponseSpec) -> Iterator[tuple[Path, str]]:
    for name in ("succeeded", "failed", "canceled"):
        if (text := getattr(response, name)) is not None:
            yield ("response", name), text
    yield from ((("response", "outcomes", name), text) for name, text in response.outcomes.items())

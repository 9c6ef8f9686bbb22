"""What must hold where the trigger of a runbook says what it is about, or which of its type the runbook takes."""

from collections.abc import Collection, Iterator

from runtime.definitions.loading.conditions import check_condition
from runtime.definitions.loading.functions import functions_in
from runtime.definitions.loading.params import check_text
from runtime.definitions.problems import Finding, hint
from runtime.definitions.schemas import Schema
from runtime.definitions.scope import Scope


def about_findings(
    about: str | None, signal: str | None, trigger: Schema | None, waited_for: Collection[str]
) -> Iterator[Finding]:
    """Yield what is wrong with `about` and `signal`; the text sees the trigger alone, since no run has begun then."""
    if (about is None) != (signal is None):
        missing = "about" if about is None else "signal"
        yield ("trigger",), "missing_key", f"the key '{missing}' is missing: 'about' and 'signal' go together"
    for fault in check_text(about, Scope({"trigger": trigger})) if about is not None else ():
        yield ("trigger", "about", *fault.path), fault.code, fault.message
    for name in functions_in(about):
        yield ("trigger", "about"), "rule", f"'{name}' is a function of a pack: these stand in steps and output alone"
    if signal is not None and signal not in waited_for:
        message = f"no step waits for the signal '{signal}'{hint(signal, waited_for)}"
        yield ("trigger", "signal"), "dangling_reference", message


def when_findings(when: str | None, trigger: Schema | None) -> Iterator[Finding]:
    """Yield what is wrong with `when`, which sees the trigger alone, too."""
    for fault in check_condition(when, Scope({"trigger": trigger})) if when is not None else ():
        yield ("trigger", "when", *fault.path), fault.code, fault.message
    for name in functions_in(f"${{{when}}}") if when is not None else ():
        yield ("trigger", "when"), "rule", f"'{name}' is a function of a pack: these stand in steps and output alone"

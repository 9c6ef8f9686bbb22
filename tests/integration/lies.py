"""Every lie that is told of a genuine run, forged and judged by the program once for all whose tests look at it."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from evidence.verify.verify import VerificationError, verify
from runtime.services.sealing import Story
from tests.integration.forger import Forged
from tests.integration.lies_budgets import BUDGET_GROUPS
from tests.integration.lies_classes import CLASS_GROUPS
from tests.integration.lies_console import CONSOLE_GROUPS
from tests.integration.lies_edits import EDIT_GROUPS, WINDOW_GROUPS
from tests.integration.lies_nodes import GROUPS as NODE_GROUPS
from tests.integration.lies_passkeys import GROUPS as PASSKEY_GROUPS
from tests.integration.lies_requests import ANSWER_GROUPS, CARD_GROUPS
from tests.integration.lies_runs import HELD_GROUPS, RUN_GROUPS
from tests.integration.lies_told import GROUPS as RECORD_GROUPS
from tests.integration.lies_votes import VOTER_GROUPS
from tests.once import shared
from tests.unit.evidence_sample import Office

LIES = {
    f"{group}: {name}": lie
    for groups in (
        CARD_GROUPS,
        RECORD_GROUPS,
        RUN_GROUPS,
        NODE_GROUPS,
        HELD_GROUPS,
        PASSKEY_GROUPS,
        EDIT_GROUPS,
        ANSWER_GROUPS,
        VOTER_GROUPS,
        WINDOW_GROUPS,
        BUDGET_GROUPS,
        CLASS_GROUPS,
        CONSOLE_GROUPS,
    )
    for group, lies in groups.items()
    for name, lie in lies.items()
}
RUNS = sorted({run for _, run, _ in LIES.values()})


class Fault(NamedTuple):
    """What the program finds: by which rule, at which step, in which member, and in words."""

    rule: str
    step: int
    member: str
    words: str


class Judged(NamedTuple):
    """The bundle that lies, and what the program finds, if it finds anything."""

    data: bytes
    fault: Fault | None


def fault_of(office: Office, data: bytes) -> Fault | None:
    """Return what the program finds in a bundle; None where everything holds."""
    try:
        verify(office.write(data), office.public)
    except VerificationError as error:
        return Fault(error.rule, error.step, error.member, str(error))
    return None


async def judged(factory: pytest.TempPathFactory, office: Office, stories: Mapping[str, Story], name: str) -> Judged:
    """Forge a lie and let the program judge it, unless that was done in this run."""
    async with shared(factory, f"lie-{list(LIES).index(name)}") as kept:
        if kept.value is None:
            _, run, bend = LIES[name]
            forged = Forged.of(stories[run])
            bend(forged)
            data = forged.seal(office.key)
            kept.keep(Judged(data, fault_of(office, data)))
        found: Judged = kept.value
        return found

"""Somebody who holds the signing key bends genuine runs of every ending: each lie is found, by its rule."""

from collections.abc import Mapping

import pytest

from evidence.verify.verify import verify
from runtime.services.sealing import Story
from tests.integration import lies_passkeys
from tests.integration.forger import Forged
from tests.integration.genuine_stage import genuine, office, stories
from tests.integration.lies import LIES, RUNS, judged
from tests.integration.lies_patience import as_first_release
from tests.unit.evidence_sample import Office

__all__ = ["genuine", "office", "stories"]


@pytest.mark.parametrize("name", RUNS)
def test_genuine_run_holds_and_its_chain_made_anew_is_the_same(
    office: Office, stories: Mapping[str, Story], name: str
) -> None:
    report = verify(office.write(Forged.of(stories[name]).seal(office.key)), office.public)
    assert report.run_id == stories[name].leaves[0]["run_id"]
    forged = Forged.of(stories[name])
    forged.retime()
    assert verify(office.write(forged.seal(office.key)), office.public).version == "2"


@pytest.mark.parametrize("name", ["expired", "unreviewed"])
def test_who_was_next_in_line_by_the_first_release_needs_no_time(
    office: Office, stories: Mapping[str, Story], name: str
) -> None:
    forged = Forged.of(stories[name])
    as_first_release(forged)
    assert verify(office.write(forged.seal(office.key)), office.public).version == "2"


def test_a_vote_that_was_signed_anew_holds(office: Office, stories: Mapping[str, Story]) -> None:
    forged = Forged.of(stories["signed"])
    lies_passkeys.signed_before(0)(forged)
    assert verify(office.write(forged.seal(office.key)), office.public).version == "2"


@pytest.mark.parametrize("name", LIES)
async def test_lie_is_found_by_its_rule(
    office: Office, stories: Mapping[str, Story], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    _, fault = await judged(tmp_path_factory, office, stories, name)
    assert fault is not None
    assert fault.rule == LIES[name][0], fault

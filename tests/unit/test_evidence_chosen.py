"""Evidence of a choice: the version of the run is one of those that were looked at, and its trigger says when."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evidence.build import Dossier
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from tests.unit.evidence_bound import bound
from tests.unit.evidence_governed import redefine
from tests.unit.evidence_sample import Office, Story

OTHER = {"name": "other", "version": 1, "digest": "0" * 64}


def chosen() -> Story:
    """Return the sound run in format 2, whose runbook was chosen between two."""
    told = bound()
    definition = canonical.loads(told.definition)
    definition["trigger"]["when"] = "trigger.kind == 'corporate'"
    redefine(told, definition)
    queued = told.events[0][1]
    queued["among"] = [{"name": "kyc", "version": 3, "digest": queued["definition_digest"]}, OTHER]
    return told


def among(*candidates: Any) -> Dossier:
    """Return the dossier of a run that names others among which its version was chosen."""
    told = chosen()
    told.events[0][1]["among"] = list(candidates)
    return told.dossier()


def own() -> dict[str, Any]:
    found: dict[str, Any] = chosen().events[0][1]["among"][0]
    return found


def _unsaid() -> Dossier:
    told = chosen()
    del told.events[0][1]["among"]
    return told.dossier()


def _said() -> Dossier:
    told = bound()
    told.events[0][1]["among"] = [OTHER]
    return told.dossier()


_OTHER_THAN = "audit.jsonl", "line 1: it says what was to choose among, or not, other than the definition's trigger"
_NOT_CHOSEN = "audit.jsonl", "line 1: kyc version 3 is not what was chosen among what it names"
LIES: dict[str, tuple[tuple[str, str, str], Callable[[], Dossier]]] = {
    "a choice of which nothing is said": (("run.definition", *_OTHER_THAN), _unsaid),
    "a choice where there was none": (("run.definition", *_OTHER_THAN), _said),
    "a run of what was not looked at": (("run.definition", *_NOT_CHOSEN), lambda: among(OTHER)),
    "another version": (("run.definition", *_NOT_CHOSEN), lambda: among({**own(), "version": 4}, OTHER)),
    "another text": (("run.definition", *_NOT_CHOSEN), lambda: among({**own(), "digest": "0" * 64}, OTHER)),
    "one name twice": (("run.definition", *_NOT_CHOSEN), lambda: among(own(), {**own(), "version": 2})),
    "a candidate without a digest": (
        ("run.definition", "audit.jsonl", "line 1: among.1.digest: Field required"),
        lambda: among(own(), {"name": "other", "version": 1}),
    ),
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def test_a_run_that_was_chosen_or_asked_for_by_name_holds(office: Office) -> None:
    verify(office.seal(chosen().dossier()), office.public)
    verify(office.seal(among()), office.public)


@pytest.mark.parametrize("name", LIES)
def test_what_is_told_of_a_choice_must_agree_with_the_definition(office: Office, name: str) -> None:
    (rule, member, what), lie = LIES[name]
    path: Path = office.seal(lie())
    with pytest.raises(VerificationError) as caught:
        verify(path, office.public)
    assert (caught.value.rule, caught.value.member, caught.value.what) == (rule, member, what)

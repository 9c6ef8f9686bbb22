"""Bundles of decisions by a policy that nobody had activated say so to people, and say it of no others."""

from pathlib import Path

import pytest

from evidence.report import report_on
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from tests.unit.evidence_bends import members_of, resealed
from tests.unit.evidence_sample import Office, Story, story

NOTICE = "For development: {} of 3 decisions came from a policy that nobody had activated."


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def developed(*decisions: str) -> Story:
    """Return the sample in which nobody had activated the policy behind these decisions."""
    told = story()
    for number in decisions:
        told.decisions[number]["development"] = True
    return told


def page_of(office: Office, path: Path) -> str:
    return report_on(path, trust_of(office.public)).page.decode()


@pytest.mark.parametrize("decisions", [("d-1", "d-2", "d-3"), ("d-2",)])
def test_summary_and_report_say_how_many_decisions_nobody_activated_the_policy_of(
    office: Office, decisions: tuple[str, ...]
) -> None:
    path = office.seal(developed(*decisions).dossier())
    verify(path, office.public)
    said = NOTICE.format(len(decisions))
    assert f"\n\n**{said}**\n\n" in members_of(path)["summary.md"].decode()
    cover, _, rest = page_of(office, path).partition('aria-label="Exceptions"')
    assert said in cover
    assert said not in rest


def test_nothing_is_said_of_development_where_no_decision_says_it(office: Office) -> None:
    path = office.seal(story().dossier())
    assert "development" not in members_of(path)["summary.md"].decode()
    assert "development" not in page_of(office, path)


@pytest.mark.parametrize(("told", "said"), [((), ("d-1",)), (("d-1",), ()), (("d-1",), ("d-1", "d-2"))])
def test_a_summary_that_says_development_of_other_decisions_is_named(
    office: Office, told: tuple[str, ...], said: tuple[str, ...]
) -> None:
    other = members_of(office.seal(developed(*said).dossier()))["summary.md"]
    path = resealed(office, office.seal(developed(*told).dossier()), **{"summary.md": other})
    with pytest.raises(VerificationError) as raised:
        verify(path, office.public)
    assert (raised.value.rule, raised.value.member) == ("texts.summary", "summary.md")


@pytest.mark.parametrize("value", [False, None, "yes", 1, 1.0])
def test_a_decision_says_development_as_true_or_not_at_all(office: Office, value: object) -> None:
    told = story()
    told.decisions["d-1"]["development"] = value
    with pytest.raises(VerificationError) as raised:
        verify(office.seal(told.dossier()), office.public)
    assert (raised.value.rule, raised.value.member) == ("decisions.on-record", "decisions/00001-d-1.json")
    assert raised.value.what.startswith("development: ")

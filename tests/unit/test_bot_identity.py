"""Exactly one person of our own workspace or organization, or a refusal that says what is so."""

from typing import Any

import pytest

from bot.listeners.identity import is_elsewhere, only_person, profile_refusal, team_refusal
from bot.listeners.installation import Installation
from bot.payloads import Actions, User
from runtime.model.person import Person
from runtime.model.votes import Refusal

HOST = Installation("T0HOST", None)
GRID = Installation("T0HOST", "E0GRID")
ANNA = User(id="U0ANNA", team_id="T0HOST")
PROFILE = {
    "id": "U0ANNA",
    "team_id": "T0HOST",
    "deleted": False,
    "is_bot": False,
    "is_restricted": False,
    "is_ultra_restricted": False,
}
COLLEAGUE = {
    **PROFILE,
    "team_id": "T0SISTER",
    "enterprise_user": {"id": "U0ANNA", "enterprise_id": "E0GRID", "teams": ["T0SISTER", "T0THIRD"]},
}
PERSON = Person("p-anna", "Anna Berg", ("compliance",))


def code(refusal: object) -> str:
    assert isinstance(refusal, Refusal)
    return refusal.code


def test_a_full_member_is_not_refused() -> None:
    for installation in (HOST, GRID):
        assert not is_elsewhere(ANNA, installation)
        assert team_refusal(ANNA, installation, PROFILE) is None
    assert profile_refusal(PROFILE) is None
    assert only_person([PERSON]) is PERSON


@pytest.mark.parametrize("team", ["T0OTHER", "E0GRID", None])
def test_another_team_or_none_is_elsewhere(team: str | None) -> None:
    assert is_elsewhere(User(id="U0EVE", team_id=team), HOST)


@pytest.mark.parametrize("change", [{"team_id": "T0OTHER"}, {"team_id": None}, {"is_stranger": True}])
def test_slacks_record_of_another_team_is_refused(change: dict[str, Any]) -> None:
    for installation in (HOST, GRID):
        assert code(team_refusal(ANNA, installation, {**PROFILE, **change})) == "identity.other_team"


@pytest.mark.parametrize("team", ["T0SISTER", "T0THIRD", "T0HOST", "E0GRID"])
def test_a_member_of_the_same_organization_is_no_stranger(team: str) -> None:
    user = User(id="U0ANNA", team_id=team)
    assert not is_elsewhere(user, GRID)
    assert team_refusal(user, GRID, COLLEAGUE) is None
    assert code(team_refusal(user, HOST, COLLEAGUE)) == "identity.other_team"


@pytest.mark.parametrize(
    ("team", "profile"),
    [
        ("T0OTHER", COLLEAGUE),
        (None, COLLEAGUE),
        ("T0SISTER", {**COLLEAGUE, "enterprise_user": {"enterprise_id": "E0RIVAL", "teams": ["T0SISTER"]}}),
        ("T0SISTER", {**COLLEAGUE, "enterprise_user": None}),
        ("T0SISTER", {**COLLEAGUE, "enterprise_user": {"teams": "T0SISTER"}}),
        ("E0GRID", {**PROFILE, "team_id": "T0OTHER"}),
    ],
)
def test_another_organization_or_a_payload_that_disagrees_is_refused(team: str | None, profile: dict[str, Any]) -> None:
    assert code(team_refusal(User(id="U0ANNA", team_id=team), GRID, profile)) == "identity.other_team"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"deleted": True}, "identity.deactivated"),
        ({"is_bot": True}, "identity.bot"),
        ({"is_workflow_bot": True}, "identity.bot"),
        ({"is_restricted": True}, "identity.guest"),
        ({"is_ultra_restricted": True}, "identity.guest"),
        ({"id": "USLACKBOT"}, "identity.bot"),
        ({"is_restricted": None}, "identity.unclear"),
        ({"is_ultra_restricted": "no"}, "identity.unclear"),
        ({"deleted": None}, "identity.unclear"),
        ({"is_bot": None}, "identity.unclear"),
    ],
)
def test_slacks_record_can_only_refuse_and_nobody_is_called_what_they_are_not(
    change: dict[str, Any], expected: str
) -> None:
    assert code(profile_refusal({**PROFILE, **change})) == expected


def test_no_person_and_two_persons_are_refused() -> None:
    assert code(only_person([])) == "identity.unknown"
    assert code(only_person([PERSON, Person("p-2", "Anna B.", ())])) == "identity.ambiguous"


def test_the_team_is_the_users_own_not_the_hosts() -> None:
    payload = Actions.model_validate(
        {
            "type": "block_actions",
            "team": {"id": "T0HOST"},
            "user": {"id": "U0EVE", "username": "eve", "team_id": "T0OTHER"},
            "actions": [{"action_id": "countersign_approve", "action_ts": "1.2", "value": "{}"}],
            "trigger_id": "1.2.3",
        }
    )
    assert is_elsewhere(payload.user, HOST)

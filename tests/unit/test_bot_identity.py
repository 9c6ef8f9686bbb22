"""Exactly one person of our own workspace, or a refusal."""

from typing import Any

import pytest

from bot.listeners.identity import profile_refusal, team_refusal, the_one
from bot.listeners.payloads import Actions, User
from runtime.model.actor import Person
from runtime.model.approval import Refusal

HOST = "T0HOST"
ANNA = User(id="U0ANNA", team_id=HOST)
PROFILE = {
    "id": "U0ANNA",
    "team_id": HOST,
    "deleted": False,
    "is_bot": False,
    "is_restricted": False,
    "is_ultra_restricted": False,
}
PERSON = Person("p-anna", "Anna Berg", ("compliance",))


def code(refusal: object) -> str:
    assert isinstance(refusal, Refusal)
    assert refusal.text
    return refusal.code


def test_a_full_member_is_not_refused() -> None:
    assert team_refusal(ANNA, HOST) is None
    assert profile_refusal(PROFILE, ANNA) is None
    assert the_one([PERSON]) is PERSON


@pytest.mark.parametrize("team", ["T0OTHER", "E0GRID", None])
def test_another_team_or_none_is_refused(team: str | None) -> None:
    assert code(team_refusal(User(id="U0EVE", team_id=team), HOST)) == "identity.other_team"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"team_id": "T0OTHER"}, "identity.other_team"),
        ({"is_stranger": True}, "identity.other_team"),
        ({"deleted": True}, "identity.deactivated"),
        ({"is_bot": True}, "identity.bot"),
        ({"is_restricted": None}, "identity.guest"),
        ({"is_workflow_bot": True}, "identity.bot"),
        ({"deleted": None}, "identity.deactivated"),
        ({"team_id": None}, "identity.other_team"),
        ({"is_restricted": True}, "identity.guest"),
        ({"is_ultra_restricted": True}, "identity.guest"),
        ({"id": "U0EVE"}, "identity.lookup_failed"),
        ({"id": None}, "identity.lookup_failed"),
    ],
)
def test_slacks_record_can_only_refuse(change: dict[str, Any], expected: str) -> None:
    assert code(profile_refusal({**PROFILE, **change}, ANNA)) == expected


def test_a_failed_lookup_refuses() -> None:
    assert code(profile_refusal(None, ANNA)) == "identity.lookup_failed"


def test_no_person_and_two_persons_are_refused() -> None:
    assert code(the_one([])) == "identity.unknown"
    assert code(the_one([PERSON, Person("p-2", "Anna B.", ())])) == "identity.ambiguous"


def test_the_team_is_the_users_own_not_the_hosts() -> None:
    payload = Actions.model_validate(
        {
            "type": "block_actions",
            "team": {"id": HOST},
            "user": {"id": "U0EVE", "username": "eve", "team_id": "T0OTHER"},
            "actions": [{"action_id": "countersign_approve", "action_ts": "1.2", "value": "{}"}],
            "trigger_id": "1.2.3",
        }
    )
    assert code(team_refusal(payload.user, HOST)) == "identity.other_team"

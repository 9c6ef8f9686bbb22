"""A policy that no OPA serves is asked with the program `opa`: it answers as OPA does, or is away, and says why."""

import copy
import json
from pathlib import Path

import pytest

from policy.bundle import CONFIG_FILE, policy_text, read_policy
from policy.contract import PolicyText, PolicyUnavailableError, Verdict
from policy.unserved import UnservedPolicies
from tests.opa_server import SHIPPED, opa_program, question

TEXT = read_policy(SHIPPED)
MODULES = {name: text for name, text in TEXT.files.items() if name != CONFIG_FILE}
CONFIG = json.loads(TEXT.files[CONFIG_FILE])
DECISION = "countersign/decision.rego"


def deciding(decision: str) -> PolicyText:
    """Return the shipped policy with another module that decides."""
    return policy_text({**MODULES, DECISION: f"package countersign.effect\n\n{decision}\n"}, CONFIG)


def without_quorum() -> PolicyText:
    """Return the shipped policy with a configuration that does not say how many people must sign."""
    config = copy.deepcopy(CONFIG)
    del config["acme"]["requirements"]["high"]["quorum"]
    return policy_text(MODULES, config)


async def asked(text: PolicyText = TEXT, opa: Path | None = None) -> Verdict:
    return await UnservedPolicies(opa or opa_program()).ask(text, question())


async def why_away(text: PolicyText) -> str:
    with pytest.raises(PolicyUnavailableError) as raised:
        await asked(text)
    return str(raised.value)


async def test_a_text_answers_under_its_own_digest() -> None:
    found = await asked()
    assert (found.policy_digest, found.answer.outcome) == (TEXT.digest, "needs_approval")
    assert found.opa_version == await UnservedPolicies(opa_program()).opa_version()
    assert found.opa_version.count(".") == 2


async def test_without_an_opa_program_nothing_is_answered_and_the_setting_is_named() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"asked with an `opa` program: set COUNTERSIGN_OPA$"):
        await UnservedPolicies(None).ask(TEXT, question())


async def test_an_opa_program_that_is_not_there_or_is_another_program_answers_nothing(tmp_path: Path) -> None:
    with pytest.raises(PolicyUnavailableError, match="opa: there is no such program"):
        await asked(opa=tmp_path / "opa")
    with pytest.raises(PolicyUnavailableError, match="/bin/true: is no `opa`"):
        await asked(opa=Path("/bin/true"))


async def test_a_text_that_does_not_compile_is_away_and_the_place_is_named() -> None:
    assert f"{DECISION}:3: " in await why_away(deciding("decision := is is"))


async def test_a_text_whose_configuration_has_flaws_is_away_and_they_are_told_of_the_tenant() -> None:
    assert await why_away(without_quorum()) == "acme: requirements.high: quorum is required"


async def test_a_text_that_does_not_say_whether_its_configuration_has_flaws_is_away() -> None:
    only = policy_text({DECISION: 'package countersign.effect\n\ndecision := {"outcome": "allow"}\n'}, CONFIG)
    assert await why_away(only) == "result: not a list of flaws"


@pytest.mark.parametrize(
    ("rule", "said"),
    [("other := 1", "answer: undefined"), ("decision := 7", "answer"), ('decision := {"outcome": "allow"}', "answer.")],
)
async def test_an_answer_that_is_none_is_never_taken(rule: str, said: str) -> None:
    assert (await why_away(deciding(rule))).startswith(said)

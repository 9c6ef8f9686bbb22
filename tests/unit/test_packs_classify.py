"""The classification of incidents by the rules that their verb declares."""

from typing import Any

import pytest
from countersign_incident_triage.handlers import handlers

from runtime.handlers import Answer, Call, JsonObject, RefusedError

OPERATION = "triage::classify"


def rule(name: str, *words: str) -> JsonObject:
    return {"name": name, "words": list(words), "category": name, "assignment_group": name.title(), "labels": [name]}


async def classify(text: str, **changes: Any) -> JsonObject:
    params = {
        "number": "INC0010042",
        "short_description": text,
        "description": "",
        "impact": 2,
        "urgency": 2,
        "rules": [rule("network", "vpn", "dns"), rule("database", "sql", "deadlock")],
        "otherwise": {"category": "inquiry", "assignment_group": "Service Desk", "labels": []},
        "urgent_label": "urgent",
    }
    result = await handlers({})[OPERATION].run(Call("t", "r", "s", OPERATION, {**params, **changes}))
    assert not isinstance(result, Answer), "a computation asks nobody, and has nothing to tell beside its result"
    return result


async def test_rule_with_most_words_wins() -> None:
    assert (await classify("VPN broken: SQL deadlock"))["category"] == "database"


async def test_first_rule_wins_among_equals() -> None:
    assert (await classify("sql over vpn"))["category"] == "network"


async def test_word_within_a_word_does_not_count() -> None:
    assert (await classify("mysqldump"))["category"] == "inquiry"


async def test_description_counts_too() -> None:
    assert (await classify("help", description="the DNS"))["assignment_group"] == "Network"


async def test_nothing_matching_goes_to_the_fallback_and_says_so() -> None:
    result = await classify("coffee machine")
    assert result == {
        "category": "inquiry",
        "assignment_group": "Service Desk",
        "labels": [],
        "note": "Triage of INC0010042: category inquiry, group Service Desk (no rule matched).",
    }


async def test_highest_impact_and_urgency_add_the_urgent_label() -> None:
    assert (await classify("vpn", impact=1, urgency=1))["labels"] == ["network", "urgent"]
    assert (await classify("vpn", impact=1, urgency=2))["labels"] == ["network"]


async def test_note_names_rule_and_words() -> None:
    assert "(rule 'network', words: vpn, dns)" in (await classify("dns and vpn"))["note"]


@pytest.mark.parametrize("label", ["needs-triage", "Upper", "a^b", ""])
async def test_label_that_servicenow_would_not_take_is_refused(label: str) -> None:
    with pytest.raises(RefusedError, match="urgent_label"):
        await classify("vpn", urgent_label=label)

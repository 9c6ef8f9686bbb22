"""Routing: the file is read strictly, and the first rule that fits a request says where its cards go."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.routing import RoutingError, read_routing
from runtime.engine import Routing
from runtime.model.routing import Destination, Fallback, Subject, first_fit

FILE = """
rules:
  - when:
      group: compliance
      tier: [high]
      verb: "file_*"
      connector: register
      runbook: ["kyc-*"]
      params: {client.country: [DE, AT], count: 3, urgent: true}
      trigger: {desk: north}
    send: {channels: [C0NORTH], direct: true, mention: [S0LEADS, U0ANNA]}
  - when: {tier: low}
    send: {nobody: true}
  - send: {channels: [C0REST], mention: []}
fallback: {groups: [seniors], channels: [C0DESK]}
"""
FILING = Subject(
    groups=("compliance", "risk"),
    tier="high",
    verb="file_report",
    connector="register",
    runbook="kyc-onboarding",
    params={"client": {"country": "AT"}, "count": 3, "urgent": True},
    trigger={"desk": "north"},
)
NORTH = Destination(("C0NORTH",), direct=True, mention=("S0LEADS", "U0ANNA"))
REST = Destination(("C0REST",), mention=())


def _routing(tmp_path: Path, text: str = FILE) -> Routing:
    file = tmp_path / "routing.yaml"
    file.write_text(text, encoding="utf-8")
    rules, fallback = read_routing(file).of_runtime()
    return Routing("C0ALL", {"compliance": "C0COMPLIANCE"}, rules=rules, fallback=fallback)


def _refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(RoutingError) as caught:
        _routing(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path / 'routing.yaml'}:", "")


def test_what_fits_in_all_goes_where_the_rule_says(tmp_path: Path) -> None:
    routing = _routing(tmp_path)
    assert routing.destination(FILING) == NORTH
    assert routing.fallback == Fallback(("seniors",), ("C0DESK",))


@pytest.mark.parametrize(
    "change",
    [
        {"groups": ("risk",)},
        {"tier": "medium"},
        {"verb": "refile_report"},
        {"connector": "registers"},
        {"runbook": "kyb-onboarding"},
        {"params": {**FILING.params, "client": {"country": "CH"}}},
        {"params": {**FILING.params, "client": "AT"}},
        {"params": {**FILING.params, "count": 4}},
        {"params": {**FILING.params, "urgent": 1}},
        {"params": {}},
        {"trigger": {"desk": "South"}},
    ],
)
def test_what_does_not_fit_in_one_thing_goes_on_to_the_next_rule(tmp_path: Path, change: dict[str, Any]) -> None:
    assert _routing(tmp_path).destination(replace(FILING, **change)) == REST


def test_the_first_rule_that_fits_is_taken(tmp_path: Path) -> None:
    assert _routing(tmp_path).destination(replace(FILING, tier="low")) == Destination()


def test_without_a_rule_a_card_goes_to_its_groups_channel(tmp_path: Path) -> None:
    routing = _routing(tmp_path, "rules: []")
    assert routing.destination(FILING) == Destination(("C0COMPLIANCE",))
    assert routing.destination(replace(FILING, groups=("risk",))) == Destination(("C0ALL",))
    assert first_fit(routing.rules, FILING) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rule: []", "1: rule: unknown key"),
        (
            "rules:\n- when: {tier: highest}\n  send: {channels: [C1]}",
            "2: rules[0].when.tier[0]: expected 'low', 'medium' or 'high', not 'highest'",
        ),
        ("rules:\n- when: {groups: a}\n  send: {channels: [C1]}", "2: rules[0].when.groups: unknown key"),
        ("rules:\n- when: {tier: []}\n  send: {channels: [C1]}", "2: rules[0].when.tier: may not be empty"),
        ("rules:\n- when: {verb: 'a b'}\n  send: {channels: [C1]}", "2: rules[0].when.verb[0]: 'a b' does not match"),
        ("rules:\n- when: {params: {a..b: 1}}\n  send: {direct: true}", "rules[0].when.params"),
        (
            "rules:\n- when: {params: {a: {b: 1}}}\n  send: {direct: true}",
            "2: rules[0].when.params.a: expected a list, not a mapping",
        ),
        (
            "rules:\n- when: {params: {a: [[1]]}}\n  send: {direct: true}",
            "2: rules[0].when.params.a[0]: ",
        ),
        ("rules:\n- send: {channels: ['#general']}", "2: rules[0].send.channels[0]: '#general' does not match"),
        ("rules:\n- send: {mention: [U1]}", "2: rules[0].send: says nowhere"),
        ("rules:\n- send: {nobody: true, direct: true}", "2: rules[0].send: nobody excludes channels, direct, mention"),
        ("rules:\n- send: {nobody: false}", "2: rules[0].send.nobody: expected True, not False"),
        ("rules:\n- send: {direct: true, mention: [C1]}", "2: rules[0].send.mention[0]: 'C1' does not match"),
        ("fallback: {}", "1: fallback: names neither groups nor channels"),
        (
            "rules:\n- send: {direct: true}\n- when: {tier: low}\n  send: {direct: true}",
            "3: rules[1]: no request comes here: rules[0] is for every one",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    assert says in _refusal(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RoutingError, match="cannot be read"):
        read_routing(tmp_path / "nowhere.yaml")


def test_the_digest_is_of_what_the_file_says_however_it_says_it(tmp_path: Path) -> None:
    said = _routing_digest(tmp_path, "rules: [{send: {channels: [C0ALL]}}]")
    assert said == _routing_digest(
        tmp_path, "# to all\nrules:\n- when: {}\n  send: {direct: false, channels: [C0ALL]}\n"
    )
    assert said != _routing_digest(tmp_path, "rules: [{send: {channels: [C0ALL], mention: []}}]"), "nobody is called"
    assert _routing_digest(tmp_path, "rules: []") is None


def _routing_digest(tmp_path: Path, text: str) -> str | None:
    (tmp_path / "routing.yaml").write_text(text, encoding="utf-8")
    return read_routing(tmp_path / "routing.yaml").digest

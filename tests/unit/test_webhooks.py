"""Outgoing webhooks: how they are signed, where they may go, what the file says, and which leaves are events."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from countersign.subscriptions import SubscriptionsError, read_subscriptions
from edge.signing import webhook_headers, webhook_secret
from edge.webhooks import may_go_to
from receipts.chain import GENESIS, PROGRAM, Correlation, Head, Leaf, next_leaf
from runtime.model.action import Tier
from runtime.model.subscription import DELIVER, EventName, Where
from runtime.outbox.webhooks import events_in
from runtime.worker.lanes import Lane, room_for, slots_of

AT = datetime(2026, 1, 5, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
FILE = """
subscriptions:
  - name: pager
    on: [run.failed, run.needs_attention]
    where: {runbook: "kyc-*"}
    to: https://hooks.acme.example/pager/T0KEN
    secret: pager
  - name: ledger
    on: effect.settled
    where: {verb: [file_*], tier: high}
    to: https://ledger.acme.example:8443/in
    secret: [old, new]
    inside: true
"""


def test_a_message_is_signed_as_the_standard_says() -> None:
    """The example of the specification's reference implementations."""
    signed = webhook_headers(
        [webhook_secret(SECRET)],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        datetime.fromtimestamp(1614265330, UTC),
        b'{"test": 2432232314}',
    )
    assert signed["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert (signed["webhook-id"], signed["webhook-timestamp"]) == ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330")


def test_a_message_is_signed_with_each_secret_while_they_are_rotated() -> None:
    both = webhook_headers([b"a" * 24, b"b" * 24], "id", AT, b"{}")["webhook-signature"].split(" ")
    assert both == [webhook_headers([one * 24], "id", AT, b"{}")["webhook-signature"] for one in (b"a", b"b")]


@pytest.mark.parametrize("text", ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%%", "whsec_", ""])
def test_a_secret_has_its_form(text: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        webhook_secret(text)


@pytest.mark.parametrize(
    ("address", "anywhere", "inside"),
    [
        ("93.184.216.34", True, True),
        ("2606:4700::1111", True, True),
        ("10.1.2.3", False, True),
        ("192.168.0.9", False, True),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("fd12::1", False, True),
        ("100.64.0.1", False, True),
        ("::ffff:10.1.2.3", False, True),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("2002:a9fe:a9fe::1", False, False),
        ("64:ff9b::5db8:d822", True, True),
        ("fe80::1", False, False),
        ("fd00:ec2::254", False, False),
        ("100.100.100.200", False, False),
        ("168.63.129.16", False, False),
        ("192.0.0.192", False, False),
        ("::ffff:192.0.0.192", False, False),
        ("::169.254.169.254", False, False),
        ("::ffff:0:169.254.169.254", False, False),
        ("64:ff9b:1::169.254.169.254", False, False),
        ("64:ff9b:1::192.0.0.192", False, False),
        ("fd12::5efe:169.254.169.254", False, False),
        ("fd12::200:5efe:100.100.100.200", False, False),
        ("2001:0:a9fe:a9fe::1", False, False),
        ("2001::5601:5601", False, False),
        ("fd12::5efe:10.1.2.3", False, True),
        ("0.0.0.0", False, False),
        ("::7f00:1", False, True),
        ("::ffff:0:10.1.2.3", False, True),
        ("64:ff9b:1::a01:203", False, True),
        ("fec0::1", False, True),
        ("5f00::1", False, True),
        ("192.0.0.9", False, True),
        ("224.0.0.1", False, False),
    ],
)
def test_nothing_goes_into_our_network_unless_said_and_never_to_a_machines_secrets(
    address: str, *, anywhere: bool, inside: bool
) -> None:
    assert (may_go_to(address, inside=False), may_go_to(address, inside=True)) == (anywhere, inside)


def _read(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "subscriptions.yaml"
    file.write_text(text, encoding="utf-8")
    return read_subscriptions(file, {"pager", "old", "new"})


def test_a_file_says_what_is_told_to_whom(tmp_path: Path) -> None:
    pager, ledger = (one.of_runtime() for one in _read(tmp_path, FILE).subscriptions)
    assert (pager.target, ledger.target) == ("https://hooks.acme.example", "https://ledger.acme.example:8443")
    assert pager.on == {EventName.RUN_FAILED, EventName.RUN_NEEDS_ATTENTION}
    assert ledger.where == Where((), ("file_*",), (Tier.HIGH,))


def test_whatever_is_changed_makes_another_subscription(tmp_path: Path) -> None:
    before = _read(tmp_path, FILE).subscriptions[0].of_runtime()
    after = _read(tmp_path, FILE.replace("T0KEN", "T1KEN")).subscriptions[0].of_runtime()
    assert before.target == after.target
    assert before.digest != after.digest


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("run.failed, ", "run.ended, "), "subscriptions[0].on[0]"),
        (("[run.failed, run.needs_attention]", "[]"), "subscriptions[0].on"),
        (("https://hooks", "http://hooks"), "must be https unless the host is this machine"),
        (("https://hooks", "https://me:word@hooks"), "without user, query and fragment"),
        (("secret: pager", "secret: nobody"), "COUNTERSIGN_WEBHOOK_SECRETS has no nobody"),
        (("name: ledger", "name: pager"), "pager is the name of subscriptions[0], too"),
        (("{runbook:", "{tier: high, runbook:"), "run.failed, run.needs_attention has neither verb nor tier"),
        (("inside: true", "inner: true"), "inner"),
    ],
)
def test_a_fault_in_the_file_is_named_with_its_place(tmp_path: Path, change: tuple[str, str], fault: str) -> None:
    with pytest.raises(SubscriptionsError) as caught:
        _read(tmp_path, FILE.replace(*change))
    assert fault in str(caught.value)
    assert "subscriptions.yaml:" in str(caught.value)
    assert "T0KEN" not in str(caught.value)


def _leaves(*said: tuple[str, str | None, dict[str, Any]]) -> list[Leaf]:
    head, found = GENESIS, []
    for event, step, data in said:
        about = Correlation(run_id="run_1", step=step)
        leaf = next_leaf(head, run_id="run_1", at=AT, event=event, actor=PROGRAM, correlation=about, data=data).leaf
        head = Head(leaf.seq, leaf.hash)
        found.append(leaf)
    return found


def test_an_effect_has_settled_when_it_succeeded_or_its_step_ended_with_it() -> None:
    failed = ("receipt.written", "file", {"outcome": "failure"})
    refused = ("receipt.written", "file", {"outcome": "refusal"})
    assert not list(events_in(_leaves(failed, ("step.failed_retryable", "file", {}))))
    assert not list(events_in(_leaves(refused)))
    assert not list(events_in(_leaves(("receipt.written", None, {"outcome": "success"}))))
    (settled,) = events_in(_leaves(refused, ("step.failed_terminal", "file", {})))
    assert (settled.name, settled.status) == (EventName.EFFECT_SETTLED, "refusal")


def test_a_vote_breaks_glass_only_where_it_says_so() -> None:
    plain = {"verdict": "approve"}
    assert not list(events_in(_leaves(("vote.counted", "file", plain))))
    (broken,) = events_in(_leaves(("vote.counted", "file", {**plain, "break_glass": {"ticket": "I1"}})))
    assert broken.name is EventName.BREAK_GLASS_USED


@pytest.mark.parametrize("receivers", [1, 2, 7])
def test_deliveries_have_their_own_slots_and_each_receiver_its_share(receivers: int) -> None:
    slots, handlers = slots_of(8, receivers), [DELIVER, "slack::post_card"]
    hooks, messages = (room_for(slots, lane, [], handlers) for lane in (Lane.HOOKS, Lane.MESSAGES))
    assert (hooks.handlers, messages.handlers) == ([DELIVER], ["slack::post_card"])
    assert (hooks.target_cap, hooks.slots) == (2, 2 * receivers)

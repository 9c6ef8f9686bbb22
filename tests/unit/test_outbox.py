"""The outbox: webhooks, retries and what handlers report beside their result.

Outgoing webhooks: how they are signed, where they may go, what the file says, and which leaves are events.

When to try again.

What a handler tells beside its result is read strictly; nonsense is noted, and nothing of it is kept.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countersign.subscriptions import SubscriptionsError, read_subscriptions
from edge.signing import webhook_headers, webhook_secret
from edge.webhooks import may_go_to
from receipts.canonical import dumps, loads
from receipts.chain import GENESIS, PROGRAM, Correlation, Head, Leaf, next_leaf
from receipts.usage import CallReport
from runtime.definitions.canonical import retry_document, retry_of
from runtime.definitions.loading.node_shapes import RetryShape
from runtime.definitions.loading.timing import declared_retry, retry_rules
from runtime.definitions.model import Retry
from runtime.handlers import Answer, HandlerError, Metadata, TransientError, Usage
from runtime.lanes import Lane, room_for, slots_of
from runtime.model.action import Tier
from runtime.model.subscription import DELIVER, EventName, Where
from runtime.outbox import messages
from runtime.outbox.attempts import told_by
from runtime.outbox.retry import delay, of_document, pause, to_document, wait
from runtime.outbox.webhooks import events_in

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


EXPONENTIAL = Retry(9, "exponential", timedelta(seconds=2), timedelta(seconds=30))
JITTER = st.floats(0, 1, exclude_max=True)


def test_delays_double_up_to_the_cap() -> None:
    assert [delay(EXPONENTIAL, attempt, 0).total_seconds() for attempt in range(1, 7)] == [2, 4, 8, 16, 30, 30]


@given(st.integers(-5, 10_000), JITTER)
def test_jitter_takes_off_half_at_most_and_the_cap_holds_for_any_attempt(attempt: int, jitter: float) -> None:
    whole = delay(EXPONENTIAL, attempt, 0)
    assert whole / 2 <= delay(EXPONENTIAL, attempt, jitter) <= whole <= EXPONENTIAL.max_delay


def test_a_fixed_backoff_stays_the_same() -> None:
    fixed = Retry(9, "fixed", timedelta(seconds=2), timedelta(seconds=30))
    assert delay(fixed, 7, 0) == timedelta(seconds=2)


def test_a_stored_policy_reads_back_as_it_was() -> None:
    assert of_document(to_document(EXPONENTIAL)) == EXPONENTIAL


def _pauses(retry: Retry, count: int) -> list[float]:
    return [delay(retry, attempt, 0).total_seconds() for attempt in range(1, count + 1)]


def _said(**retry: object) -> Retry:
    shape = RetryShape.model_validate(retry)
    assert list(retry_rules(shape)) == []
    return declared_retry(shape)


def test_a_ladder_is_climbed_pause_by_pause_and_its_last_one_repeats() -> None:
    ladder = _said(max_attempts=6, ladder=["PT5S", "PT30S", "PT2M"])
    assert _pauses(ladder, 5) == [5, 30, 120, 120, 120]


def test_a_ladder_has_one_attempt_more_than_pauses_unless_more_are_wanted() -> None:
    assert _said(ladder=["PT5S", "PT30S"]).max_attempts == 3


def test_pauses_grow_by_a_factor_up_to_the_longest() -> None:
    growing = _said(max_attempts=9, factor=3, base_delay="PT2S", max_delay="PT1M")
    assert _pauses(growing, 5) == [2, 6, 18, 54, 60]
    assert _pauses(growing, 100_000)[-1] == 60


@given(st.integers(1, 100), JITTER, st.floats(0, 1))
def test_chance_takes_off_the_share_that_the_author_gives_it(attempt: int, chance: float, share: float) -> None:
    whole = timedelta(seconds=30)
    paused = delay(
        _said(max_attempts=9, backoff="fixed", base_delay="PT30S", max_delay="PT30S", jitter=share), attempt, chance
    )
    assert whole * (1 - share) <= paused <= whole


def test_without_a_share_for_chance_a_ladder_is_kept_to_the_second_half() -> None:
    assert delay(_said(ladder=["PT10S"]), 1, 0.999) >= timedelta(seconds=5)
    assert delay(_said(ladder=["PT10S"], jitter=0), 1, 0.999) == timedelta(seconds=10)


def test_what_was_not_taken_waits_as_the_other_side_says_and_not_longer_for_having_waited_before() -> None:
    assert [wait(EXPONENTIAL, nth, 0, 3).total_seconds() for nth in range(1, 9)] == [3] * 8
    assert wait(EXPONENTIAL, 1, 0, 60) == EXPONENTIAL.max_delay, "no target may ask for more than the longest pause"
    assert [wait(EXPONENTIAL, nth, 0, None).total_seconds() for nth in range(1, 5)] == [2, 4, 8, 16]


@given(st.floats(1, 600))
def test_a_message_is_tried_again_soon_after_an_outage_ends(outage: float) -> None:
    policy, now, nth = of_document(messages._RETRY), 0.0, 0
    while now < outage:
        nth += 1
        now += delay(policy, nth, 0).total_seconds()
    assert now - outage <= max(1.0, outage / 2 + 1)


def test_the_other_side_is_waited_for_no_longer_than_the_longest_pause() -> None:
    assert pause(_said(ladder=["PT5S", "PT30S"]), 1, 0, 600) == timedelta(seconds=30)


@pytest.mark.parametrize(
    "said",
    [
        {"ladder": ["PT5S", "PT2M"], "jitter": 0},
        {"max_attempts": 7, "factor": 1.5, "base_delay": "PT2S", "max_delay": "PT1M", "jitter": 0.25},
        {"max_attempts": 7, "factor": 2, "base_delay": "PT2S", "max_delay": "PT1M"},
        {"max_attempts": 7, "backoff": "fixed", "base_delay": "PT2S", "max_delay": "PT1M"},
    ],
)
def test_every_way_to_say_it_reads_back_as_it_was_from_an_effect_and_from_a_definition(said: dict[str, object]) -> None:
    retry = _said(**said)
    assert of_document(loads(dumps(to_document(retry)))) == retry
    assert retry_of(loads(dumps(retry_document(retry)))) == retry


def test_what_was_stored_before_there_were_ladders_is_read() -> None:
    old = {"max_attempts": 9, "backoff": "exponential", "base_delay": 2.0, "max_delay": 30.0}
    assert of_document(old) == EXPONENTIAL
    assert to_document(EXPONENTIAL) == old


@pytest.mark.parametrize(
    "document",
    [
        {"max_attempts": 3, "backoff": "ladder"},
        {"max_attempts": 3, "backoff": "fixed", "ladder": ["PT5S"]},
        {"max_attempts": 3, "backoff": "factor", "base_delay": "PT1S", "max_delay": "PT1S"},
    ],
)
def test_a_retry_that_does_not_say_its_pauses_is_not_read(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="does not say its pauses"):
        retry_of(document)


TOKENS = Usage("openai", "gpt-5", {"input_tokens": 812, "output_tokens": 90}, Decimal("0.001230"), "USD")


def told(metadata: Any = None, usage: Any = ()) -> CallReport:
    said = Answer({}, cast("Metadata | None", metadata), cast("Sequence[Usage]", usage))
    return told_by(said, lambda text: text.replace("s3cret", "[redacted]"))


def test_what_a_handler_tells_is_put_on_record_exactly() -> None:
    found = told(Metadata(200, "req-1", 2), [TOKENS])
    assert found.model_dump() == {
        "metadata": {"status": 200, "request_id": "req-1", "requests": 2},
        "usage": [
            {
                "provider": "openai",
                "model": "gpt-5",
                "units": {"input_tokens": "812", "output_tokens": "90"},
                "cost": "0.00123",
                "currency": "USD",
            }
        ],
        "not_recorded": None,
    }


def test_what_is_not_known_is_null() -> None:
    found = told(Metadata(), [Usage("gleif", units={"requests": 3})])
    assert found.metadata is not None
    assert found.metadata.model_dump() == {"status": None, "request_id": None, "requests": None}
    assert found.usage[0].model_dump(exclude={"units"}) == {
        "provider": "gleif",
        "model": None,
        "cost": None,
        "currency": None,
    }


def test_texts_are_cleaned_of_secrets() -> None:
    found = told(Metadata(request_id="id-s3cret"), [Usage("s3cret", "m-s3cret")])
    assert "s3cret" not in found.model_dump_json()
    assert (found.usage[0].provider, found.usage[0].model) == ("[redacted]", "m-[redacted]")


@pytest.mark.parametrize(
    ("metadata", "usage", "why"),
    [
        ({"status": 200}, (), "AttributeError: 'dict' object has no attribute 'status'"),
        (Metadata(status=20), (), "status: Input should be greater than or equal to 100"),
        (None, 7, "TypeError: 'int' object is not iterable"),
        (None, [{"provider": "x"}], "AttributeError: 'dict' object has no attribute 'provider'"),
        (None, [Usage("")], "provider: String should have at least 1 character"),
        (None, [Usage("x", units={"Input Tokens": 1})], "units.Input Tokens.[key]: String should match pattern"),
        (None, [Usage("x", units={"tokens": cast("int", 0.5)})], "TypeError: an amount is a whole number or a Decimal"),
        (None, [Usage("x", cost=-1, currency="USD")], "ValueError: an amount is from 0 to below"),
        (None, [Usage("x", cost=1)], "usage: Value error, cost and currency go together"),
        (None, [Usage("x", cost=1, currency="dollars")], "currency: String should match pattern"),
        (None, [Usage("x")] * 65, "usage: List should have at most 64 items"),
        (None, [Usage("x", units={"s3cret": 1, "S3": 1})], "units.S3.[key]: String should match pattern"),
        (None, [Usage("x", units={"A s3cret": 1})], "units.A [redacted].[key]: String should match pattern"),
    ],
)
def test_nonsense_is_noted_in_the_place_of_all_that_was_told(metadata: Any, usage: Any, why: str) -> None:
    found = told(metadata, usage)
    assert (found.metadata, found.usage) == (None, [])
    assert found.not_recorded is not None
    assert found.not_recorded.startswith(why)


def test_an_error_tells_as_an_answer_does() -> None:
    error: HandlerError = TransientError("the model said nonsense")
    error.usage = [TOKENS]
    assert told_by(error, str) == told(None, [TOKENS])

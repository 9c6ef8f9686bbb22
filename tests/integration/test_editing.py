"""Requests that are edited and resubmitted: the first one is void, and the same effect is put to policy anew."""

from dataclasses import dataclass
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError, Question, Reason, Verdict
from receipts.canonical import digest
from runtime.model.approval import ResultCode
from runtime.model.votes import Refusal, RefusalCode
from tests.bench import Bench, open_bench
from tests.integration.acts_stage import ASKED, asked, edit, request_of
from tests.integration.conftest import PACK, Targets
from tests.opa_server import Between
from tests.patience import MINUTE


async def _run_of(bench: Bench) -> str:
    (row,) = await bench.rows("SELECT run_id FROM runs")
    return str(row["run_id"])


async def _edited(bench: Bench, **params: Any) -> tuple[str, str]:
    """Edit a request; return it, and the one in its place."""
    first = await asked(bench)
    assert await edit(bench, "ann", first, params or {"copies": 3}) is None
    await bench.settle()
    return first, await request_of(bench, await _run_of(bench))


async def test_edited_values_are_asked_for_anew_performed_and_seen_by_later_steps(
    editing: Bench, targets: Targets
) -> None:
    first, second = await _edited(editing)
    assert (await editing.click("ben", first)).refusal is not None
    for person in ("ben", "cat"):
        assert (await editing.click(person, second)).counted
    await editing.settle()
    run = await editing.run(await _run_of(editing))
    assert run["status"] == "succeeded"
    (call,) = targets.file.calls
    assert (call.params["copies"], call.params["company"]) == (3, "ACME")
    assert [told.params["copies"] for told in targets.note.calls] == [3]


async def test_an_edit_voids_the_request_and_puts_the_same_effect_to_policy_with_another_digest(editing: Bench) -> None:
    first, second = await _edited(editing)
    rows = await editing.rows("SELECT approval_id, effect_id, digest, status FROM approvals WHERE kind = 'effect'")
    old, new = (next(row for row in rows if row["approval_id"] == one) for one in (first, second))
    assert (old["status"], new["status"]) == ("canceled", "requested")
    assert old["effect_id"] == new["effect_id"]
    assert old["digest"] != new["digest"]
    keys = await editing.rows("SELECT idempotency_key FROM effects WHERE purpose = 'step'")
    assert [row["idempotency_key"] for row in keys] == [f"copies:{await _run_of(editing)}:file"]
    inputs = await editing.rows(
        "SELECT document -> 'input' AS asked FROM policy_decisions WHERE document ->> 'step' = 'file' ORDER BY seq"
    )
    assert [row["asked"].get("edited") for row in inputs] == [None, {"by": ["ann"], "requested": {"copies": 10}}]
    assert [row["asked"]["effect"]["fields"]["copies"] for row in inputs] == [10, 3]


async def test_a_form_shows_of_an_edited_request_what_its_card_shows(editing: Bench) -> None:
    for approval in await _edited(editing):
        card, standing = await editing.desk.approval(approval), await editing.desk.standing(approval, "ben")
        assert card
        assert standing
        form = standing.view
        assert (form.fields, form.edited, form.stamp) == (card.fields, card.edited, card.stamp)


async def test_votes_on_the_first_version_do_not_count_for_the_second(editing: Bench, targets: Targets) -> None:
    first = await asked(editing)
    assert (await editing.click("ben", first)).counted
    assert await edit(editing, "ann", first, {"copies": 3}) is None
    await editing.settle()
    second = await request_of(editing, await _run_of(editing))
    assert (await editing.click("cat", second)).counted
    await editing.settle()
    assert targets.file.calls == []
    assert (await editing.click("ben", second)).counted
    await editing.settle()
    assert len(targets.file.calls) == 1


async def test_who_edited_it_does_not_sign_it_and_neither_does_who_asked(editing: Bench) -> None:
    _, second = await _edited(editing)
    assert [(await editing.click(one, second)).refusal.code for one in ("ann", "rita")] == [  # type: ignore[union-attr]
        RefusalCode.EXCLUDED,
        RefusalCode.REQUESTER,
    ]
    assert (await editing.pending("ann", 10)).total == 0
    view = await editing.desk.approval(second)
    assert view
    assert view.asked == ("UBEN", "UCAT"), "who edited it is not called"


async def test_everybody_who_edited_a_version_before_stays_excluded_and_enough_others_have_to_be_left(
    editing: Bench,
) -> None:
    _, second = await _edited(editing)
    assert await edit(editing, "ben", second, {"copies": 4}) is None
    await editing.settle()
    third = await request_of(editing, await _run_of(editing))
    view = await editing.desk.approval(third)
    assert view
    assert view.edited
    assert view.edited.by == ("Ann", "Ben")
    assert [(one.name, one.before, one.after) for one in view.edited.changes] == [("copies", 10, 4)]
    assert {"ann", "ben"} <= set(
        (await editing.rows("SELECT requirement FROM approvals WHERE approval_id = %s", third))[0]["requirement"][
            "exclude"
        ]
    )
    why = "it needs 2 distinct people, and 1 may decide; nobody in compliance may"
    assert await edit(editing, "cat", third, {"copies": 5}) == Refusal(RefusalCode.NOT_ENOUGH_APPROVERS, (why,))
    await editing.settle()
    assert await request_of(editing, await _run_of(editing)) == third


async def test_an_edit_back_to_what_was_asked_for_is_a_version_of_its_own(editing: Bench, targets: Targets) -> None:
    first, second = await _edited(editing)
    assert await edit(editing, "ben", second, {"copies": 10}) is None
    await editing.settle()
    third = await request_of(editing, await _run_of(editing))
    assert third not in (first, second)
    assert (await editing.click("cat", third)).counted
    assert (await editing.click("cat", first)).refusal is not None
    assert targets.file.calls == []


@pytest.mark.parametrize(
    ("person", "params", "reason", "code"),
    [
        ("rita", {"copies": 3}, "too many", RefusalCode.REQUESTER),
        ("omar", {"copies": 3}, "too many", RefusalCode.NOT_IN_GROUP),
        ("ann", {"copies": 3}, " ", RefusalCode.REASON_MISSING),
        ("ann", {"company": "OTHER"}, "too many", RefusalCode.NOT_EDITABLE),
        ("ann", {"api_token": "x"}, "too many", RefusalCode.NOT_EDITABLE),
        ("ann", {"nothing": 1}, "too many", RefusalCode.NOT_EDITABLE),
        ("ann", {"copies": 51}, "too many", RefusalCode.UNFIT),
        ("ann", {"copies": "3"}, "too many", RefusalCode.UNFIT),
        ("ann", {"copies": None}, "too many", RefusalCode.UNFIT),
        ("ann", {"text": "a\x00b"}, "too many", RefusalCode.UNFIT),
        ("ann", {"copies": 10}, "too many", RefusalCode.UNCHANGED),
        ("ann", {"copies": 10.0, "urgent": None}, "too many", RefusalCode.UNCHANGED),
        ("ann", {}, "too many", RefusalCode.UNCHANGED),
    ],
)
async def test_an_edit_that_may_not_count_changes_nothing_and_is_on_record(
    editing: Bench, person: str, params: dict[str, Any], reason: str, code: RefusalCode
) -> None:
    first = await asked(editing)
    refused = await edit(editing, person, first, params, reason=reason)
    assert refused
    assert refused.code is code
    view = await editing.desk.approval(first)
    assert view
    assert (view.status.value, {f.name: f.after for f in view.fields}["copies"]) == ("requested", 10)
    last = [leaf for leaf in await editing.chain(view.run_id) if leaf.event == "vote.refused"][-1]
    assert (last.data["code"], last.data["verdict"], last.actor.id) == (str(code), "edit", person)


async def test_an_edit_of_what_has_changed_or_ended_meanwhile_does_not_count(editing: Bench) -> None:
    first, second = await _edited(editing)
    codes = [
        await edit(editing, "ben", first, {"copies": 2}),
        await edit(editing, "ben", second, {"copies": 2}, stamp="0" * 16),
    ]
    assert [one.code for one in codes if one] == [RefusalCode.CLOSED, RefusalCode.STALE]
    assert (await editing.click("cat", second, "reject")).counted
    over = await edit(editing, "ben", second, {"copies": 2}, dedupe_key="again")
    assert over
    assert over.code is RefusalCode.CLOSED


async def test_deliveries_of_one_edit_make_one_version(editing: Bench) -> None:
    first = await asked(editing)
    assert [await edit(editing, "ann", first, {"copies": 3}) for _ in range(3)] == [None, None, None]
    await editing.settle()
    assert len(await editing.rows("SELECT 1 FROM edits")) == 1
    assert len(await editing.rows("SELECT 1 FROM approvals")) == 2


async def test_a_verb_that_names_no_params_has_nothing_to_edit(editing: Bench) -> None:
    await editing.start("bench.file", {"company": "ACME", "text": "report"})
    await editing.settle()
    approval = await editing.approval_id()
    view = await editing.desk.approval(approval)
    assert view
    assert not view.can_edit
    assert await editing.desk.editing.form(approval) is None
    refused = await edit(editing, "ann", approval, {"text": "other"})
    assert refused
    assert refused.code is RefusalCode.NOT_EDITABLE


async def test_a_review_is_answered_and_not_edited(editing: Bench) -> None:
    task = await editing.review()
    refused = await edit(editing, "ann", task, {"case": "C2"})
    assert refused
    assert refused.code is RefusalCode.NOT_EDITABLE


async def test_the_form_has_the_editable_params_alone_with_their_present_values(editing: Bench) -> None:
    form = await editing.desk.editing.form(await asked(editing))
    assert form
    assert form.present == {"copies": 10, "text": "report"}
    assert (set(form.schema["properties"]), form.schema["required"]) == (
        {"copies", "text", "urgent"},
        ["copies", "text"],
    )
    assert editing.desk.editing.faults(form, {"copies": 51}) == [("copies", "51 is greater than the maximum of 50")]
    assert editing.desk.editing.faults(form, {"copies": 4, "urgent": True}) == []


async def test_both_cards_say_what_became_of_the_request(editing: Bench) -> None:
    first, second = await _edited(editing)
    old, new = await editing.desk.approval(first), await editing.desk.approval(second)
    assert old
    assert new
    assert old.result
    assert (old.result.code, old.replaced_by, old.edited) == (ResultCode.REPLACED, second, None)
    assert {field.name: field.after for field in old.fields}["copies"] == 10
    assert {field.name: field.after for field in new.fields}["copies"] == 3
    assert new.edited
    assert [(one.name, one.before, one.after) for one in new.edited.changes] == [("copies", 10, 3)]
    assert new.edited.reasons == (("Ann", "too many"),)
    assert (new.can_edit, old.can_edit) == (True, False)


async def test_who_edited_what_is_on_record_once_with_both_digests(editing: Bench) -> None:
    first, second = await _edited(editing)
    leaves = await editing.chain(await _run_of(editing))
    (leaf,) = [leaf for leaf in leaves if leaf.event == "effect.edited"]
    rows = await editing.rows("SELECT approval_id, digest FROM approvals")
    digests = {row["approval_id"]: row["digest"] for row in rows}
    assert (leaf.actor.id, leaf.actor.kind, leaf.correlation.approval_id) == ("ann", "person", first)
    assert (leaf.data["from"], leaf.data["to"]) == (digests[first], digests[second])
    (row,) = await editing.rows("SELECT * FROM edits")
    said = {
        "person": "ann",
        "person_name": "Ann",
        "groups": row["groups"],
        "reason": "too many",
        "slack": {"team": row["team"], "user": "UANN"},
        "from": digests[first],
        "to": digests[second],
        "changes": [{"param": "copies", "before": 10, "after": 3}],
        "at": leaf.at,
    }
    assert leaf.data["digest"] == digest(said)


async def test_what_was_edited_is_undone_as_it_was_performed(editing: Bench, targets: Targets) -> None:
    _, second = await _edited(editing)
    for person in ("ben", "cat"):
        await editing.click(person, second)
    await editing.settle()
    (receipt,) = await editing.rows("SELECT document FROM receipts WHERE document ->> 'step' = 'file'")
    assert receipt["document"]["request"]["copies"] == 3
    assert receipt["document"]["approval_id"] == second


async def test_fields_of_a_deferred_effect_change_by_an_edit_on_record_alone(editing: Bench) -> None:
    await asked(editing)
    for change in (
        "fields = '{}'",
        "fields = '{}', status = 'pending'",
        "fields = '{}', digest = 'x', status = 'pending'",
    ):
        with pytest.raises(Exception, match=r"written once|by an edit on record alone"):
            await editing.rows(f"UPDATE effects SET {change} WHERE purpose = 'step' RETURNING 1")


async def test_what_is_asked_for_is_what_was_asked_for_until_somebody_edits_it(editing: Bench) -> None:
    view = await editing.desk.approval(await asked(editing))
    assert view
    assert (view.edited, view.replaced_by, view.can_edit) == (None, "", True)
    assert {field.name: field.after for field in view.fields if field.name in ASKED} == ASKED


@dataclass
class Careless(Between):
    """A policy that forgets, once it is asked to, who edited what it asks people about."""

    forgets: bool = False

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        asked_for, edited = verdict.answer.requirement, question.edited
        if not self.forgets or asked_for is None or edited is None:
            return verdict
        left = [one for one in asked_for.exclude if one not in edited.by]
        answer = verdict.answer.model_copy(update={"requirement": asked_for.model_copy(update={"exclude": left})})
        return verdict.model_copy(update={"answer": answer})


async def test_a_policy_that_does_not_keep_editors_from_signing_has_not_answered(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with OpaEngine(opa.url, timeout=MINUTE) as real:
        policy = Careless(real)
        async with open_bench(dsn, policy, [PACK, PACK.with_name("editing")], targets.handlers()) as bench:
            first = await asked(bench)
            assert await edit(bench, "ann", first, {"copies": 3}) is None
            policy.forgets = True
            await bench.settle()
            run_id = await _run_of(bench)
            assert not await bench.rows("SELECT 1 FROM approvals WHERE status = 'requested'")
            (leaf,) = [leaf for leaf in await bench.chain(run_id) if leaf.event == "policy.unavailable"]
            assert leaf.data["error"] == "requirement.exclude: ann edited it, and may not sign it"
            policy.forgets = False
            await bench.later(minutes=5)
            assert (await bench.click("ben", await request_of(bench, run_id))).counted


async def test_an_edit_waits_for_a_policy_that_does_not_keep_editors_from_signing(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with OpaEngine(opa.url, timeout=MINUTE) as real:
        policy = Careless(real, forgets=True)
        async with open_bench(dsn, policy, [PACK, PACK.with_name("editing")], targets.handlers()) as bench:
            first = await asked(bench)
            with pytest.raises(PolicyUnavailableError, match="ann edited it, and may not sign it"):
                await bench.desk.editing.refusal(first, "ann", {"copies": 3})
            refused = await edit(bench, "ann", first, {"copies": 3})
            assert refused
            assert refused.code is RefusalCode.FAILING
            assert await request_of(bench, await _run_of(bench)) == first


@dataclass
class Denying(Between):
    """A policy that denies what somebody edited."""

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        if question.edited is None:
            return verdict
        reasons = [Reason(code="copies.fixed", msg="Copies stay as they are")]
        denied = {"outcome": Outcome.DENY, "requirement": None, "reasons": reasons}
        return verdict.model_copy(update={"answer": verdict.answer.model_copy(update=denied)})


async def test_an_edit_that_policy_denies_leaves_the_request_as_it_is(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    denied = Refusal(RefusalCode.EDIT_DENIED, ("Copies stay as they are",))
    packs = [PACK, PACK.with_name("editing")]
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as real,
        open_bench(dsn, Denying(real), packs, targets.handlers()) as bench,
    ):
        first = await asked(bench)
        assert await bench.desk.editing.refusal(first, "ann", {"copies": 3}) == denied
        assert await edit(bench, "ann", first, {"copies": 3}) == denied
        await bench.settle()
        assert (await bench.click("ann", first)).counted


@dataclass
class Lenient(Between):
    """A policy that lets who edited something sign it."""

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        asked_for = verdict.answer.requirement
        if asked_for is None or question.step != "file":
            return verdict
        may = {"editors_may_sign": True, "exclude": [one for one in asked_for.exclude if one != "ann"]}
        answer = verdict.answer.model_copy(update={"requirement": asked_for.model_copy(update=may)})
        return verdict.model_copy(update={"answer": answer})


async def test_who_edited_it_signs_where_policy_says_so_and_an_edit_is_no_vote(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with OpaEngine(opa.url, timeout=MINUTE) as real:
        policy = Lenient(real)
        async with open_bench(dsn, policy, [PACK, PACK.with_name("editing")], targets.handlers()) as bench:
            first = await asked(bench)
            assert await edit(bench, "ann", first, {"copies": 3}) is None
            await bench.settle()
            second = await request_of(bench, await _run_of(bench))
            view = await bench.desk.approval(second)
            assert view
            assert view.votes == ()
            assert (await bench.click("ann", second)).counted
            refused = (await bench.click("rita", second)).refusal
            assert refused
            assert refused.code is RefusalCode.REQUESTER

"""A request as text: what is asked, in an order in which people read; all of it, and what is cut off is counted."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from runtime.model.approval import AskKind
from runtime.services.approval_view import Declared, DeclaredField, DeclaredTable, EditsView, FieldView
from runtime.services.request_text import LONGEST, MOST, text_of
from tests.unit.bot_samples import KYC

OWNERS = DeclaredTable("Owners", (("Name", "text"), ("Share", "percent")), (("Ingrid", 36),), 3)
DECLARED = Declared(
    title="File the owners",
    summary="Two owners.",
    fields=(DeclaredField("Country", "NO", "text"),),
    tables=(OWNERS,),
    hide=frozenset({"package"}),
    approve="We file it.",
    reject="The case ends.",
)


def test_what_is_declared_comes_first_and_what_is_left_off_the_card_last() -> None:
    fields = (FieldView("package", None, {"a": 1}), FieldView("labels", ["x"], ["x", "y"]))
    lines = text_of(replace(KYC, declared=DECLARED, fields=fields))
    assert lines[:2] == [("Request", "File the owners"), ("Summary", "Two owners.")]
    assert lines[-1] == ("package", '{"a": 1}')
    assert ("labels", "x → x, y") in lines
    assert lines.index(("Country", "NO")) < lines.index(("labels", "x → x, y"))
    assert [said for label, said in lines if label == "Owners"] == ["Name: Ingrid; Share: 36", "2 lines more"]
    assert {("Approve leads to", "We file it."), ("Reject leads to", "The case ends.")} <= set(lines)


def test_what_cannot_be_undone_what_was_edited_and_what_policy_wants_is_said() -> None:
    edited = EditsView(
        by=("Anna",), changes=(FieldView("share", "30", "36"),), reasons=(("Anna", "the register says so"),)
    )
    view = replace(
        KYC,
        reversible_by=None,
        edited=edited,
        veto=("legal",),
        sign_with="passkey",
        classes=("two of risk",),
        shortfall="x",
    )
    lines = dict(text_of(view))
    assert lines["Undo"] == "This cannot be undone."
    assert (lines["Edited by"], lines["Asked for: share"]) == ("Anna", "30 → 36")
    assert lines["Reason of Anna"] == "the register says so"
    assert (lines["Veto"], lines["Signed with"], lines["Among them"]) == ("legal", "passkey", "two of risk")
    assert lines["Too few people"] == "x"


def test_a_review_has_neither_tier_nor_undo() -> None:
    lines = dict(text_of(replace(KYC, kind=AskKind.TASK, operation="Review ACME", declared=Declared())))
    assert lines["Request"] == "Review ACME"
    assert {"Tier", "Undo", "Action", "Target"}.isdisjoint(lines)


@given(st.text(), st.integers(0, 2 * MOST))
def test_a_page_is_bounded_and_counts_what_it_leaves_out(value: str, count: int) -> None:
    fields = tuple(FieldView(f"f{number}", None, value * 3) for number in range(count))
    lines = text_of(replace(KYC, fields=fields, declared=Declared()))
    assert len(lines) <= MOST
    assert all(len(said) <= LONGEST + 40 for _, said in lines)
    whole = len(text_of(replace(KYC, fields=(), declared=Declared()))) + count
    assert whole <= MOST or lines[-1] == ("Not shown", f"{whole - MOST + 1} lines more")

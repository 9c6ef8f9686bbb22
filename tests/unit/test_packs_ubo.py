"""Who owns a company: shares along chains, and what cannot be followed."""

from decimal import Decimal

from countersign_kyc.lei import with_check_digits
from countersign_kyc.register import Holder
from countersign_kyc.ubo import trace
from hypothesis import given
from hypothesis import strategies as st

LEIS = [with_check_digits(f"9845{number:014d}") for number in range(5)]
A, B, C, D, _ = LEIS
QUARTER = Decimal(25)


def person(name: str, percent: str, person_id: str = "") -> Holder:
    return Holder(kind="person", name=name, percent=percent, person_id=person_id or name)


def company(lei: str | None, percent: str) -> Holder:
    return Holder(kind="company", name=f"company {lei}", percent=percent, lei=lei)


def test_share_is_the_product_along_the_chain() -> None:
    ownership = trace(A, {A: [company(B, "80"), person("x", "20")], B: [person("y", "62.5"), person("z", "37.5")]})
    assert {owner.name: owner.percent for owner in ownership.owners.values()} == {
        "x": Decimal(20),
        "y": Decimal(50),
        "z": Decimal(30),
    }
    assert ownership.unresolved_percent == 0


def test_shares_of_one_person_through_several_chains_add_up() -> None:
    holders = {A: [company(B, "50"), company(C, "50")], B: [person("x", "30", "id"), person("y", "70")]}
    ownership = trace(A, {**holders, C: [person("x", "20", "id"), person("z", "80")]})
    assert [(owner.name, owner.percent) for owner in ownership.beneficial(QUARTER)] == [
        ("z", Decimal(40)),
        ("y", Decimal(35)),
        ("x", Decimal(25)),
    ]


def test_exactly_the_threshold_counts_and_less_does_not() -> None:
    ownership = trace(A, {A: [person("x", "25"), person("y", "24.999999")]})
    assert [owner.name for owner in ownership.beneficial(QUARTER)] == ["x"]


def test_two_people_with_one_name_are_told_apart_by_id() -> None:
    ownership = trace(A, {A: [person("x", "20", "1"), person("x", "20", "2")]})
    assert ownership.beneficial(QUARTER) == []


def test_circular_holding_ends_and_is_unresolved() -> None:
    ownership = trace(A, {A: [company(B, "60"), person("x", "40")], B: [company(A, "50"), person("y", "50")]})
    assert ownership.unresolved == {("ownership.circular", A): Decimal(30)}


def test_company_that_the_register_does_not_list_is_unresolved() -> None:
    assert trace(A, {A: [company(B, "100")]}).unresolved == {("ownership.not_in_register", B): Decimal(100)}


def test_root_that_the_register_does_not_list_is_wholly_unresolved() -> None:
    assert trace(A, {}).unresolved_percent == Decimal(100)


def test_holder_without_identifier_is_unresolved() -> None:
    ownership = trace(A, {A: [company(None, "60"), person("x", "40")]})
    assert ownership.unresolved == {("ownership.holder_without_lei", "company None"): Decimal(60)}


def test_what_is_not_disclosed_is_unresolved() -> None:
    assert trace(A, {A: [person("x", "70")]}).unresolved == {("ownership.undisclosed", A): Decimal(30)}


def test_shareholdings_above_the_whole_are_not_believed() -> None:
    ownership = trace(A, {A: [person("x", "70"), person("y", "31")]})
    assert ownership.owners == {}
    assert ownership.unresolved == {("ownership.above_100_percent", A): Decimal(100)}


def test_chain_too_thin_to_matter_is_unresolved() -> None:
    holders = {A: [company(B, "0.01"), person("x", "99.99")], B: [person("y", "100")]}
    assert trace(A, holders).unresolved == {("ownership.remote", B): Decimal("0.01")}


HOLDERS = st.one_of(
    st.builds(person, st.sampled_from("xyz"), st.integers(1, 50).map(str)),
    st.builds(company, st.sampled_from([*LEIS, None]), st.integers(1, 50).map(str)),
)


@given(st.dictionaries(st.sampled_from(LEIS), st.lists(HOLDERS, max_size=4)))
def test_owned_and_unresolved_always_make_the_whole(register: dict[str, list[Holder]]) -> None:
    ownership = trace(D, register)
    owned = sum((owner.percent for owner in ownership.owners.values()), Decimal(0))
    assert abs(owned + ownership.unresolved_percent - 100) < Decimal("1e-12")

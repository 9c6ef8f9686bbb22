"""Who is meant by the members of a user group: by a listed account, else by a confirmed address, else nobody."""

from runtime.model.person import Member, match_members

KNOWN = [("T1", "UANN", "ann"), ("T1", "UTWIN", "one"), ("T1", "UTWIN", "two")]
EMAILS = {"ben@acme.example": "ben", "ann2@acme.example": "ann"}


def test_a_member_is_who_has_the_account() -> None:
    found = match_members([Member("T1", "UANN")], KNOWN, {})
    assert (set(found.people), set(found.linked)) == ({"ann"}, set())


def test_an_account_of_two_people_is_nobody() -> None:
    assert match_members([Member("T1", "UTWIN", "ben@acme.example")], KNOWN, EMAILS).people == frozenset()


def test_a_member_without_an_account_is_told_by_their_address_however_it_is_written() -> None:
    found = match_members([Member("T1", "UBEN", "Ben@Acme.example")], KNOWN, EMAILS)
    assert (set(found.people), set(found.linked)) == ({"ben"}, {("T1", "UBEN", "ben")})


def test_an_address_does_not_give_a_listed_account_to_somebody_else() -> None:
    found = match_members([Member("T1", "UANN", "ben@acme.example")], KNOWN, EMAILS)
    assert (set(found.people), set(found.linked)) == ({"ann"}, set())


def test_who_is_not_known_is_nobody() -> None:
    members = [Member("T1", "UEVE"), Member("T1", "UEVE2", "eve@acme.example"), Member("T1", "UBEN", "")]
    assert match_members(members, KNOWN, EMAILS).people == frozenset()


def test_a_person_with_two_accounts_is_one_person() -> None:
    assert match_members([Member("T1", "UANN"), Member("T1", "UANN2", "ann2@acme.example")], KNOWN, EMAILS).people == {
        "ann"
    }

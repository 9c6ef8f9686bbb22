"""Who can decide as things stand: those who are asked and can be reached, and one deputy for each who cannot."""

from runtime.approvals.electorate import able, users_of
from runtime.model.delegation import AskedPerson, Deputy
from runtime.model.person import Person

BOTH = {"desk", "board"}


def _asked(name: str, *groups: str, deputies: tuple[Deputy, ...] = (), away: bool = False) -> AskedPerson:
    return AskedPerson(Person(name, name.title(), groups), () if away else (f"U{name.upper()}",), deputies)


def _deputy(name: str, *groups: str, by: str = "omar", users: tuple[str, ...] | None = None) -> Deputy:
    return Deputy(name, name.title(), by, groups, (f"U{name.upper()}",) if users is None else users)


def _who(asked: list[AskedPerson], *barred: str) -> dict[str, tuple[str, ...]]:
    return {person.id: person.groups for person in able(asked, BOTH, set(barred))}


def test_who_is_asked_and_has_an_account_can() -> None:
    assert _who([_asked("ann", "desk"), _asked("ben", "desk", away=True)]) == {"ann": ("desk",)}


def test_a_deputy_can_for_who_is_away_in_the_groups_that_were_given() -> None:
    away = _asked("ben", "desk", "board", deputies=(_deputy("pam", "board"),), away=True)
    assert _who([away]) == {"pam": ("board",)}


def test_who_is_asked_votes_for_themselves_and_not_for_another_group() -> None:
    away = _asked("ben", "board", deputies=(_deputy("ann", "board"),), away=True)
    assert _who([_asked("ann", "desk"), away]) == {"ann": ("desk",)}


def test_as_few_as_can_be_stay_without_a_vote() -> None:
    first = _asked("ann", "desk", deputies=(_deputy("pam", "desk"), _deputy("sam", "desk")), away=True)
    second = _asked("ben", "desk", deputies=(_deputy("pam", "desk"),), away=True)
    assert set(_who([first, second])) == {"pam", "sam"}


def test_nobody_can_who_is_barred_nor_for_them_nor_by_their_word() -> None:
    asked = [
        _asked("ann", "desk"),
        _asked("ben", "desk", deputies=(_deputy("pam", "desk"),), away=True),
        _asked("cat", "desk", deputies=(_deputy("sam", "desk", by="rita"),), away=True),
        _asked("dan", "desk", deputies=(_deputy("rita", "desk"),), away=True),
    ]
    assert _who(asked, "ann", "ben", "rita") == {}


def test_a_deputy_without_an_account_or_for_other_groups_cannot() -> None:
    asked = [
        _asked("ann", "desk", deputies=(_deputy("pam", "desk", users=()),), away=True),
        _asked("ben", "desk", "legal", deputies=(_deputy("sam", "legal"),), away=True),
    ]
    assert _who(asked) == {}


def test_cards_go_to_those_asked_and_to_who_may_vote_for_them_each_once() -> None:
    deputies = (_deputy("pam", "desk"), _deputy("ann", "desk"))
    asked = [_asked("ann", "desk"), _asked("ben", "desk", deputies=deputies), _asked("cat", "legal")]
    assert users_of(asked, BOTH, set()) == ["UANN", "UBEN", "UPAM"]
    assert users_of(asked, BOTH, {"ben"}) == ["UANN"]

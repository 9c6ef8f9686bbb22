"""Whose an account of an identity provider is: one person's, by the directory or by a verified address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.model.console import Known, Link, ProviderAccount, SignInRefusal, whose

DOMAINS = ("bank.example",)
ANN = ProviderAccount("https://id.example", "s-1", "Ann@Bank.example", is_verified=True)
PEOPLE = st.sampled_from(["ann", "ben"])
SUBJECTS = st.sampled_from(["s-1", "s-2"])
ADDRESSES = st.sampled_from(["ann@bank.example", "ann@evil.example", ""])
ACCOUNTS = st.builds(ProviderAccount, st.just("https://id.example"), SUBJECTS, ADDRESSES, st.booleans())
KNOWN = st.builds(
    Known,
    st.sets(PEOPLE),
    st.none() | PEOPLE,
    st.lists(st.builds(Link, SUBJECTS, PEOPLE, ADDRESSES), max_size=3),
)


@pytest.mark.parametrize(
    ("link", "found"),
    [
        (Link("s-1", "ann", "ann@bank.example"), ("ann", "ann@bank.example")),
        (Link("s-1", "ann", "ann@old.example"), ("ann", "ann@bank.example")),
        (Link("s-2", "ann", "ann@old.example"), ("ann", "ann@bank.example")),
        (Link("s-2", "ann", "ann@bank.example"), SignInRefusal.CHANGED),
        (Link("s-1", "ben", "ann@bank.example"), SignInRefusal.CHANGED),
        (Link("s-1", "ben", "ben@bank.example"), SignInRefusal.CHANGED),
    ],
)
def test_the_first_account_of_an_address_stays_its_only_one_while_it_is_the_same_persons(
    link: Link, found: object
) -> None:
    assert whose(ANN, Known([], "ann", [link]), DOMAINS) == found


@given(ACCOUNTS, KNOWN)
def test_nobody_is_let_in_whom_neither_the_directory_nor_a_verified_trusted_address_names(
    account: ProviderAccount, known: Known
) -> None:
    found = whose(account, known, DOMAINS)
    if isinstance(found, SignInRefusal):
        return
    person, address = found
    if address is None:
        assert list(known.listed) == [person]
    else:
        assert not known.listed
        assert (known.addressee, account.is_verified, address) == (person, True, "ann@bank.example")
        assert all(link.actor_id == person for link in known.links if link.subject == account.subject)

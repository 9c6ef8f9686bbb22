"""The register of signing keys: who trusts the newest key can believe what it says of the others, and no more."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from receipts import canonical
from receipts.fields import timestamp
from receipts.register import (
    Entry,
    Register,
    RegisterError,
    believed,
    check_signed_at,
    entry,
    read_register,
    revoked,
    succeeded,
    write_register,
)
from receipts.signing import SigningKey

START = datetime(2026, 1, 1, tzinfo=UTC)
MONTH = timedelta(days=30)
KEYS = [SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)) for number in range(1, 5)]
IDS = [key.public.key_id for key in KEYS]


def _register(count: int = 4) -> list[Entry]:
    """Return the register of keys that followed each other monthly."""
    register = [entry(KEYS[0].public, START)]
    for number, key in enumerate(KEYS[1:count], 1):
        register = succeeded(register, key, START + number * MONTH)
    return register


def _at(months: float) -> str:
    return timestamp(START + months * MONTH)


def test_who_trusts_the_newest_key_believes_all() -> None:
    assert set(believed(Register(keys=_register()), KEYS[3].public)) == set(IDS)


def test_who_trusts_an_earlier_key_believes_no_later_one() -> None:
    assert set(believed(Register(keys=_register()), KEYS[1].public)) == set(IDS[:2])


def test_each_entry_but_the_newest_is_signed_by_the_next() -> None:
    assert [one.signed_by for one in _register()] == [*IDS[1:], None]


def test_a_register_comes_back_as_it_was_written() -> None:
    register = revoked(_register(), IDS[1], KEYS[3], START + 4 * MONTH, "the machine was stolen")
    assert read_register(write_register(register)).keys == register


@pytest.mark.parametrize(
    ("months", "said"),
    [(-0.1, "signed only from"), (0.0, ""), (0.5, ""), (1.0, ""), (1.1, "signed until")],
)
def test_a_key_counts_from_its_first_day_to_its_last(months: float, said: str) -> None:
    first = _register()[0]
    if not said:
        check_signed_at(first, _at(months))
        return
    with pytest.raises(RegisterError, match=said):
        check_signed_at(first, _at(months))


def test_what_other_clocks_say_may_differ_by_less_than_an_hour() -> None:
    first = _register()[0]
    check_signed_at(first, timestamp(START - timedelta(minutes=59)))
    check_signed_at(first, timestamp(START + MONTH + timedelta(minutes=59)))


def test_a_revoked_key_counts_until_it_was_revoked() -> None:
    register = revoked(_register(3), IDS[1], KEYS[2], START + 1.5 * MONTH, "the machine was stolen")
    known = believed(Register(keys=register), KEYS[2].public)
    check_signed_at(known[IDS[1]], _at(1.4))
    with pytest.raises(RegisterError, match=r"was revoked at .*: the machine was stolen"):
        check_signed_at(known[IDS[1]], _at(1.5))


def test_what_a_revoked_key_vouched_for_is_vouched_for_by_the_newest() -> None:
    register = revoked(_register(), IDS[1], KEYS[3], START + 4 * MONTH, "lost")
    assert [one.signed_by for one in register] == [IDS[3], IDS[3], IDS[3], None]
    assert set(believed(Register(keys=register), KEYS[3].public)) == set(IDS)


def test_a_revoked_key_vouches_for_nobody() -> None:
    register = revoked(_register(), IDS[1], KEYS[3], START + 4 * MONTH, "lost")
    forged = [_register()[0], *register[1:]]  # the first is still vouched for by the revoked one
    with pytest.raises(RegisterError, match="which was revoked"):
        believed(Register(keys=forged), KEYS[3].public)


@pytest.mark.parametrize(
    ("key_id", "by", "said"),
    [
        ("0" * 64, KEYS[3], "there is no key"),
        (IDS[3], KEYS[3], "rotate first"),
        (IDS[0], KEYS[2], "only the newest key"),
    ],
    ids=["unknown", "newest", "by an old one"],
)
def test_only_the_newest_key_revokes_an_earlier_one(key_id: str, by: SigningKey, said: str) -> None:
    with pytest.raises(RegisterError, match=said):
        revoked(_register(), key_id, by, START, "lost")


def test_who_trusts_a_key_that_is_not_there_believes_nothing() -> None:
    with pytest.raises(RegisterError, match="does not have the key that is trusted"):
        believed(Register(keys=_register(3)), KEYS[3].public)


FORGED: dict[str, dict[str, Any]] = {
    "until": {"until": _at(9)},
    "from": {"from": _at(-9)},
    "no revocation": {"revoked": None},
    "another key": {"public_key": _register()[1].public_key},
    "no signature": {"signature": None},
    "half a signature": {"signature": "AAAA"},
    "not base64": {"signature": "§"},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_an_entry_that_was_changed_is_not_believed(forged: dict[str, Any]) -> None:
    register = revoked(_register(), IDS[0], KEYS[3], START + 4 * MONTH, "lost")
    changed = Entry.model_validate({**register[0].model_dump(), **forged})
    with pytest.raises(RegisterError, match="is not signed by"):
        believed(Register(keys=[changed, *register[1:]]), KEYS[3].public)


def test_a_key_that_does_not_give_its_id_is_refused() -> None:
    one = _register()[0].model_copy(update={"public_key": _register()[1].public_key})
    with pytest.raises(RegisterError, match="is not the Ed25519 key with that id"):
        _ = one.key


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"keys":[{}]}',
        b'{"keys":[],"more":1}',
        canonical.dumps({"keys": [_register()[0].model_dump()] * 2}),
    ],
)
def test_what_is_no_register_is_refused(data: bytes) -> None:
    with pytest.raises(RegisterError, match="register of keys"):
        read_register(data)

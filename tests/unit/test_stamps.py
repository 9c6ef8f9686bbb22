"""A time stamp is believed of the very bytes that it is of, from those whose root is trusted, and from nobody else."""

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from receipts.stamp import STAMP_LIMIT, StampError, check_about, load_authority, make_request, no_later_than
from runtime.clock import utc_now
from tests.stamps import DAY, Tsa

DATA = b"log.example/acme\n28\n"
ASKED = make_request(DATA)


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> Tsa:
    return Tsa(tmp_path_factory.mktemp("tsa"))


@pytest.fixture(scope="module")
def stamp(tsa: Tsa) -> bytes:
    return tsa.reply(ASKED.body)


def test_a_stamp_says_since_when_at_the_latest_the_bytes_exist(tsa: Tsa, stamp: bytes) -> None:
    moment = no_later_than(stamp, DATA, tsa.authority, ASKED.nonce)
    assert abs(utc_now() - moment) < timedelta(minutes=10)
    assert moment == no_later_than(stamp, DATA, tsa.authority)
    check_about(stamp, DATA)


def test_a_stamp_is_of_the_very_bytes(tsa: Tsa, stamp: bytes) -> None:
    with pytest.raises(StampError, match="the stamp is of something else"):
        no_later_than(stamp, DATA + b"\n", tsa.authority)
    with pytest.raises(StampError, match="the stamp is of something else"):
        check_about(stamp, b"")


def test_a_stamp_answers_the_request_that_was_made(tsa: Tsa, stamp: bytes) -> None:
    other = make_request(DATA)
    assert other.nonce != ASKED.nonce
    with pytest.raises(StampError, match="Nonce mismatch"):
        no_later_than(stamp, DATA, tsa.authority, other.nonce)


def test_a_stamp_of_another_root_is_not_believed(tsa: Tsa, stamp: bytes, tmp_path: Path) -> None:
    with pytest.raises(StampError, match="the stamp does not hold: certificate signature failure"):
        no_later_than(stamp, DATA, Tsa(tmp_path / "other", family=1).authority)
    with pytest.raises(StampError, match="unable to get local issuer certificate"):
        no_later_than(stamp, DATA, load_authority(tsa.folder / "root.pem"))
    with pytest.raises(StampError, match="unable to get local issuer certificate"):
        no_later_than(stamp, DATA, load_authority(tsa.folder / "signer.pem"))


def test_a_certificate_that_had_expired_before_stamps_nothing(tmp_path: Path) -> None:
    old = Tsa(tmp_path / "old", until=-DAY)
    with pytest.raises(StampError, match="the stamp does not hold: certificate has expired"):
        no_later_than(old.reply(ASKED.body), DATA, old.authority)


def test_a_certificate_for_something_else_stamps_nothing(tsa: Tsa, stamp: bytes, tmp_path: Path) -> None:
    mail = Tsa(tmp_path / "mail", usage=ExtendedKeyUsageOID.EMAIL_PROTECTION)
    assert no_later_than(tsa.signs(stamp), DATA, tsa.authority)
    with pytest.raises(StampError, match="unsuitable certificate purpose"):
        no_later_than(mail.signs(stamp), DATA, mail.authority)


def test_what_an_authority_refuses_is_no_stamp(tmp_path: Path) -> None:
    refusing = Tsa(tmp_path / "refusing", digest="sha512")
    with pytest.raises(StampError, match="no stamp was given: Message digest algorithm is not supported"):
        check_about(refusing.reply(ASKED.body), DATA)


WRONG: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "a page": lambda _: b"<html>404</html>",
    "cut": lambda stamp: stamp[:-1],
    "more behind": lambda stamp: stamp + b"\0",
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_stamp_is_named(tsa: Tsa, stamp: bytes, change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(StampError, match=r"not a time stamp \(RFC 3161\)"):
        no_later_than(change(stamp), DATA, tsa.authority)


def test_a_stamp_has_a_bounded_size(tsa: Tsa, stamp: bytes) -> None:
    with pytest.raises(StampError, match="has more than 65536 bytes"):
        no_later_than(stamp + bytes(STAMP_LIMIT), DATA, tsa.authority)


def test_no_change_of_a_stamp_makes_it_say_another_time(tsa: Tsa, stamp: bytes) -> None:
    moment, chance = no_later_than(stamp, DATA, tsa.authority), random.Random(3161)  # noqa: S311 - the same in every run
    refused = 0
    for _ in range(3000):
        changed = bytearray(stamp)
        for _ in range(chance.choice((1, 2, 5))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            assert no_later_than(bytes(changed), DATA, tsa.authority, ASKED.nonce) == moment
        except StampError:
            refused += 1
    assert refused > 2900


def test_certificates_are_read_from_a_file_that_has_some(tmp_path: Path) -> None:
    with pytest.raises(StampError, match="cannot be read: No such file"):
        load_authority(tmp_path / "none.pem")
    (tmp_path / "key.pem").write_text("-----BEGIN PUBLIC KEY-----")
    with pytest.raises(StampError, match="does not hold certificates in PEM"):
        load_authority(tmp_path / "key.pem")

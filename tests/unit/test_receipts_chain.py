"""The audit chain and time stamps: whatever is edited is found, and who is believed.

The audit chain: whatever is edited, deleted, cut off, inserted or reordered is found.

A time stamp is believed of the very bytes that it is of, from those whose root is trusted, and from nobody else.
"""

import hashlib
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from receipts import canonical
from receipts.chain import (
    GENESIS,
    MAX_LEAF,
    Actor,
    ChainError,
    Correlation,
    Head,
    Leaf,
    in_place,
    next_leaf,
    verify_chain,
)
from receipts.stamp import STAMP_LIMIT, StampError, check_about, load_authority, make_request, no_later_than
from runtime.clock import utc_now
from tests.stamps import DAY, Tsa

START = datetime(2026, 1, 31, 9, tzinfo=UTC)
SYSTEM = Actor(id="worker-1", kind="system")


def leaf_after(head: Head, event: str = "step.succeeded", run_id: str = "run-1", **data: Any) -> Leaf:
    return next_leaf(
        head,
        run_id=run_id,
        at=START + timedelta(seconds=head.seq),
        event=event,
        actor=SYSTEM,
        correlation=Correlation(run_id=run_id, step="a"),
        data=data,
    ).leaf


def make_chain(length: int, run_id: str = "run-1") -> list[Leaf]:
    leaves: list[Leaf] = []
    for number in range(length):
        leaves.append(leaf_after(end_of(leaves), run_id=run_id, number=number))
    return leaves


def end_of(leaves: list[Leaf]) -> Head:
    return Head(leaves[-1].seq, leaves[-1].hash) if leaves else GENESIS


CHAIN = make_chain(8)
HEAD = end_of(CHAIN)
places = st.integers(0, len(CHAIN) - 1)


def test_sound_chain_holds_to_its_head() -> None:
    assert verify_chain(CHAIN, HEAD) == HEAD
    assert verify_chain([]) == GENESIS


@pytest.mark.parametrize("left_out", [None, "approval_id", "effect_id", "request_id"])
def test_a_leaf_names_each_member_of_its_correlation_as_it_was_written(left_out: str | None) -> None:
    body = leaf_after(GENESIS).model_dump(exclude={"hash"})
    body["correlation"].pop(left_out, None)
    hashed = hashlib.sha256(b"\x00" + canonical.dumps(body)).hexdigest()
    line = canonical.dumps({**body, "hash": hashed})
    leaf = Leaf.model_validate_json(line)
    if left_out is None:
        assert verify_chain([leaf], lines=[line]) == Head(1, hashed)
    else:
        with pytest.raises(ChainError, match="leaf 1: its content does not give its hash"):
            verify_chain([leaf], lines=[line])


def test_hash_is_the_leaf_hash_of_rfc_6962_over_the_canonical_leaf() -> None:
    body = {name: value for name, value in CHAIN[3].model_dump().items() if name != "hash"}
    assert CHAIN[3].hash == hashlib.sha256(b"\x00" + canonical.dumps(body)).hexdigest()
    assert CHAIN[0].prev_hash == "0" * 64


def test_what_a_leaf_says_is_its_canonical_form_without_its_place_in_the_chain() -> None:
    data = {"prev_hash": ',"prev_hash":', "text": '","prev_hash":"0', "hash": None}
    correlation = Correlation(run_id="run-1")
    written = next_leaf(HEAD, run_id="run-1", at=START, event="a.b", actor=SYSTEM, correlation=correlation, data=data)
    place = {"run_id", "seq", "prev_hash", "hash"}
    assert written.said == canonical.dumps(written.leaf.model_dump(exclude=place))
    rows = [(leaf.seq, leaf.hash, leaf.model_dump(exclude=place)) for leaf in CHAIN]
    last = (written.leaf.seq, written.leaf.hash, canonical.loads(written.said))
    leaves = [Leaf.model_validate(leaf) for leaf in in_place("run-1", [*rows, last])]
    assert leaves == [*CHAIN, written.leaf]
    assert verify_chain(leaves).seq == len(CHAIN) + 1


EDITS: dict[str, Any] = {
    "event": "step.failed",
    "at": "2026-01-31T09:00:00.123456Z",
    "actor": {"id": "mallory", "kind": "person"},
    "correlation": {"request_id": "x", "run_id": "run-1", "step": "a", "approval_id": None, "effect_id": None},
    "data": {"number": 99},
    "run_id": "run-2",
    "hash": "f" * 64,
    "prev_hash": "f" * 64,
    "seq": 77,
}


@given(places, st.sampled_from(sorted(EDITS)))
@settings(deadline=None)
def test_edited_leaf_is_found(place: int, member: str) -> None:
    bent = list(CHAIN)
    bent[place] = Leaf.model_validate(bent[place].model_dump() | {member: EDITS[member]})
    with pytest.raises(ChainError):
        verify_chain(bent, HEAD)


@given(places)
@settings(deadline=None)
def test_edited_leaf_with_its_hash_made_anew_is_found(place: int) -> None:
    bent = list(CHAIN)
    bent[place] = leaf_after(end_of(bent[:place]), number="forged")
    with pytest.raises(ChainError):
        verify_chain(bent, HEAD)


@given(places)
@settings(deadline=None)
def test_deleted_leaf_is_found(place: int) -> None:
    with pytest.raises(ChainError):
        verify_chain(CHAIN[:place] + CHAIN[place + 1 :], HEAD)


@given(places)
@settings(deadline=None)
def test_chain_cut_at_its_end_is_found_against_the_head(place: int) -> None:
    assert verify_chain(CHAIN[:place]) == end_of(CHAIN[:place])
    with pytest.raises(ChainError, match=f"ends at leaf {place} "):
        verify_chain(CHAIN[:place], HEAD)


@given(places, places)
@settings(deadline=None)
def test_exchanged_leaves_are_found(one: int, other: int) -> None:
    assume(one != other)
    bent = list(CHAIN)
    bent[one], bent[other] = bent[other], bent[one]
    with pytest.raises(ChainError, match=f"leaf {min(one, other) + 1} is missing or out of place"):
        verify_chain(bent, HEAD)


@given(places, places)
@settings(deadline=None)
def test_inserted_leaf_is_found(place: int, copied: int) -> None:
    with pytest.raises(ChainError):
        verify_chain([*CHAIN[:place], CHAIN[copied], *CHAIN[place:]], HEAD)


@given(places)
@settings(deadline=None)
def test_history_written_anew_from_some_leaf_on_is_found_against_the_head(place: int) -> None:
    bent = CHAIN[:place]
    while len(bent) < len(CHAIN):
        bent = [*bent, leaf_after(end_of(bent), number="forged")]
    assert verify_chain(bent).seq == HEAD.seq
    with pytest.raises(ChainError, match="ends at leaf 8"):
        verify_chain(bent, HEAD)


def test_leaf_of_another_run_is_found() -> None:
    foreign = leaf_after(end_of(CHAIN[:4]), run_id="run-2")
    with pytest.raises(ChainError, match="leaf 5 belongs to another run"):
        verify_chain([*CHAIN[:4], foreign])


def test_message_names_the_leaf_and_what_does_not_hold() -> None:
    bent = [*CHAIN[:2], CHAIN[2].model_copy(update={"said": {}}), *CHAIN[3:]]
    with pytest.raises(ChainError, match="leaf 3: its content does not give its hash"):
        verify_chain(bent)
    with pytest.raises(ChainError, match="leaf 3: prev_hash is not the hash of leaf 2"):
        verify_chain([*CHAIN[:2], make_chain(4, "run-1")[2].model_copy(update={"prev_hash": "0" * 64})])


@pytest.mark.parametrize("event", ["started", "Run.started", "run.", "run started", "run.x\n", ".a", "a..b"])
def test_event_must_be_a_dotted_name(event: str) -> None:
    with pytest.raises(ValidationError):
        leaf_after(GENESIS, event=event)


def test_data_without_canonical_form_makes_no_leaf() -> None:
    with pytest.raises(canonical.CanonicalError, match="/data/x"):
        leaf_after(GENESIS, x=float("nan"))


def test_a_leaf_that_no_log_could_hold_is_not_made() -> None:
    def made(size: int) -> Leaf:
        data = {"text": "x" * size}
        return next_leaf(
            GENESIS, run_id="r", at=START, event="a.b", actor=SYSTEM, correlation=Correlation(), data=data
        ).leaf

    beside = len(canonical.dumps(made(0).model_dump(exclude={"hash"})))
    made(MAX_LEAF - beside)
    with pytest.raises(ChainError, match="has 65536 bytes, and may have 65535"):
        made(MAX_LEAF - beside + 1)


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

"""Signing keys: private files, envelopes, and the register of keys.

Keys that only their owner can read, and envelopes of which no byte can change.

The register of signing keys: who trusts the newest key can believe what it says of the others, and no more.
"""

import base64
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer._key import SSlibKey

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
from receipts.signing import (
    EnvelopeError,
    KeyFileError,
    PublicKey,
    SigningKey,
    load_or_create,
    load_public,
    pae,
    public_path,
    sign_envelope,
    verify_envelope,
)

TYPE = "application/vnd.in-toto+json"
KEY = SigningKey(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = SigningKey(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "evidence" / "signing.pem"


def test_key_is_made_once_and_readable_by_its_owner_alone(path: Path) -> None:
    made = load_or_create(path)
    assert load_or_create(path).public.key_id == made.public.key_id
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert sorted(file.name for file in path.parent.iterdir()) == ["signing.pem", "signing.pub.pem"]


def test_public_half_stands_beside_it_and_has_the_same_id(path: Path) -> None:
    made = load_or_create(path)
    assert load_public(public_path(path)).key_id == made.public.key_id
    assert len(made.public.key_id) == 64


def test_lost_public_half_is_written_again(path: Path) -> None:
    made = load_or_create(path)
    public_path(path).unlink()
    load_or_create(path)
    assert load_public(public_path(path)).key_id == made.public.key_id


def test_public_half_of_another_key_is_refused(path: Path) -> None:
    load_or_create(path)
    public_path(path).write_bytes(OTHER.public.pem())
    with pytest.raises(KeyFileError, match="is not the public half"):
        load_or_create(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o601])
def test_key_that_others_can_use_is_refused(path: Path, mode: int) -> None:
    load_or_create(path)
    path.chmod(mode)
    with pytest.raises(KeyFileError, match="chmod 600"):
        load_or_create(path)


def test_processes_that_start_at_once_agree_on_one_key(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(load_or_create, [path] * 16))
    assert len({key.public.key_id for key in keys}) == 1


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n"])
def test_file_that_is_no_key_is_refused(path: Path, content: bytes) -> None:
    load_or_create(path)
    path.write_bytes(content)
    with pytest.raises(KeyFileError, match="cannot be read as an unencrypted private key"):
        load_or_create(path)


def test_key_of_another_kind_is_refused(path: Path) -> None:
    load_or_create(path)
    curve = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(
        curve.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    with pytest.raises(KeyFileError, match="not an Ed25519 private key"):
        load_or_create(path)
    public_path(path).write_bytes(
        curve.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(KeyFileError, match="not an Ed25519 public key"):
        load_public(public_path(path))


def test_what_is_no_public_key_is_said_in_words_of_ours(path: Path) -> None:
    load_or_create(path)
    with pytest.raises(KeyFileError, match=r"signing\.pem is a private key, and the public one is needed$"):
        load_public(path)
    with pytest.raises(KeyFileError, match=r"absent\.pem cannot be read: No such file or directory$"):
        load_public(path.with_name("absent.pem"))
    path.write_text("hello")
    with pytest.raises(KeyFileError, match=r"signing\.pem is no public key in PEM$"):
        load_public(path)


def test_encoding_to_be_signed_is_that_of_the_dsse_protocol() -> None:
    payload = b"hello world"
    assert pae("http://example.com/HelloWorld", payload) == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("ä", b"") == b"DSSEv1 2 \xc3\xa4 0 "


@given(st.binary(max_size=200), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
@settings(deadline=None)
def test_what_was_signed_is_what_is_opened(payload: bytes, kind: str) -> None:
    envelope = sign_envelope(kind, payload, KEY)
    opened = verify_envelope(envelope, KEY.public)
    assert (opened.payload_type, opened.payload) == (kind, payload)
    assert sign_envelope(kind, payload, KEY) == envelope


def test_signature_by_another_key_is_refused_whatever_keyid_says() -> None:
    parsed = json.loads(sign_envelope(TYPE, b"{}", OTHER))
    parsed["signatures"][0]["keyid"] = KEY.public.key_id
    with pytest.raises(EnvelopeError, match="the signature is not by the key"):
        verify_envelope(canonical.dumps(parsed), KEY.public)


def test_every_flipped_bit_is_found() -> None:
    envelope = sign_envelope(TYPE, b'{"a":1}', KEY)
    for place in range(len(envelope)):
        for bit in range(8):
            bent = bytearray(envelope)
            bent[place] ^= 1 << bit
            with pytest.raises(EnvelopeError):
                verify_envelope(bytes(bent), KEY.public)


def bent_envelopes() -> list[tuple[str, Any]]:
    parsed = json.loads(sign_envelope(TYPE, b"some payload!", KEY))
    signature = parsed["signatures"][0]
    spaced = signature["sig"][:8] + "\n" + signature["sig"][8:]
    return [
        ("unknown member", parsed | {"x": 1}),
        ("no signature", parsed | {"signatures": []}),
        ("two signatures", parsed | {"signatures": [signature, signature]}),
        ("another type", parsed | {"payloadType": "text/plain"}),
        ("no keyid", parsed | {"signatures": [{"sig": signature["sig"]}]}),
        ("another keyid", parsed | {"signatures": [signature | {"keyid": OTHER.public.key_id}]}),
        ("unpadded", parsed | {"payload": parsed["payload"].rstrip("=")}),
        ("url-safe", parsed | {"payload": base64.urlsafe_b64encode(b"\xff\xfe\xfd").decode()}),
        ("space in signature", parsed | {"signatures": [signature | {"sig": spaced}]}),
        ("unused bits", parsed | {"signatures": [signature | {"sig": signature["sig"][:-3] + "B=="}]}),
        ("not ASCII", parsed | {"payload": "é==="}),
        ("empty signature", parsed | {"signatures": [signature | {"sig": ""}]}),
        ("no object", [parsed]),
    ]


@pytest.mark.parametrize("bent", [pytest.param(bent, id=name) for name, bent in bent_envelopes()])
def test_envelope_in_another_form_is_refused(bent: Any) -> None:
    with pytest.raises(EnvelopeError):
        verify_envelope(canonical.dumps(bent), KEY.public)


def sslib_key(key: PublicKey, keyid: str) -> SSlibKey:
    made = SSlibKey.from_crypto(key.key)
    return SSlibKey(keyid, made.keytype, made.scheme, made.keyval)


def test_securesystemslib_accepts_our_envelope_and_no_other_keys() -> None:
    for keyid in ("", KEY.public.key_id):
        envelope = Envelope.from_dict(json.loads(sign_envelope(TYPE, b'{"a":1}', KEY, keyid=keyid)))
        assert list(envelope.verify([sslib_key(KEY.public, keyid)], 1)) == [keyid]
        with pytest.raises(VerificationError):
            envelope.verify([sslib_key(OTHER.public, keyid)], 1)


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

"""Policies are signed by a key of their own; of a bundle that is not wholly what was signed nothing is believed.

The real `opa sign` and the real OPA are compared in tests/integration/test_signed_policies.py.
"""

import base64
import gzip
import io
import json
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from policy.bundle import MANIFEST, archive, bundle_files, read_policy
from policy.errors import PolicyError
from policy.keys import PolicyKey, load_or_create, load_verification_key
from policy.signing import SIGNATURES, file_hash, sign_bundle, signed_payload
from policy.verifying import LARGEST, verify_bundle
from receipts.signing import KeyFileError, private_pem, public_path
from tests.opa_server import SHIPPED
from tests.spoiled_bundles import SPOILED, members, packed, signed

TEXT = read_policy(SHIPPED)
FILES = bundle_files(TEXT)


@pytest.fixture
def key(tmp_path: Path) -> PolicyKey:
    return load_or_create(tmp_path / "policy.pem")


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forged(
    key: PolicyKey,
    payload: bytes,
    header: object = {"alg": "ES256"},
    files: dict[str, str] = FILES,
) -> bytes:
    """Return a bundle with this payload, validly signed."""
    head = f"{encoded(json.dumps(header).encode())}.{encoded(payload)}"
    token = f"{head}.{encoded(key.sign(head.encode()))}"
    return archive({**files, SIGNATURES: json.dumps({"signatures": [token]})})


def payload(key: PolicyKey, of: dict[str, str] = FILES, **more: Any) -> bytes:
    return json.dumps({**json.loads(signed_payload(of, key.public.key_id)), **more}).encode()


def test_a_signed_bundle_is_believed_and_says_who_signed_it(key: PolicyKey, tmp_path: Path) -> None:
    other = load_or_create(tmp_path / "other.pem")
    found = verify_bundle(sign_bundle(TEXT, key).data, [other.public, key.public])
    assert (found.text, found.key) == (TEXT, key.public)


def test_equal_text_and_key_give_equal_bytes(key: PolicyKey) -> None:
    assert sign_bundle(TEXT, key) == sign_bundle(read_policy(SHIPPED), key)
    assert sign_bundle(TEXT, key).revision == TEXT.digest


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_not_wholly_what_was_signed_is_refused(tmp_path: Path, what: str) -> None:
    bundle, key = signed(tmp_path)
    spoil, said = SPOILED[what]
    with pytest.raises(PolicyError, match=said):
        verify_bundle(spoil(bundle), [key.public])


def test_a_key_that_is_not_trusted_is_named(tmp_path: Path, key: PolicyKey) -> None:
    bundle, other = signed(tmp_path, "other")
    with pytest.raises(PolicyError, match=rf"signed by the key {other.public.key_id[:16]}, which is none"):
        verify_bundle(bundle, [key.public])
    with pytest.raises(PolicyError, match="which is none"):
        verify_bundle(bundle, [])


def test_a_bundle_that_names_a_trusted_key_which_did_not_sign_it_is_refused(tmp_path: Path, key: PolicyKey) -> None:
    other = load_or_create(tmp_path / "other.pem")
    with pytest.raises(PolicyError, match="is not by the key"):
        verify_bundle(forged(other, payload(key)), [key.public])


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"alg": "none"}, "alg: Input should be 'ES256'"),
        ({"alg": "ES256", "crit": ["b64"]}, "crit: Extra inputs"),
        ({}, "alg: Field required"),
        ([], "Input should be a valid dict"),
    ],
)
def test_a_signature_of_another_kind_is_refused(key: PolicyKey, header: object, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        verify_bundle(forged(key, payload(key), header), [key.public])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"scope": "write"}, "scope: Extra inputs"),
        ({"keyid": ""}, "keyid: String should match"),
        ({"files": []}, "has not been signed"),
        ({"files": [{"name": MANIFEST, "hash": "0" * 32, "algorithm": "MD5"}]}, r"files\.0\.hash: String should"),
        ({"files": [{"name": "a", "hash": "0" * 64, "algorithm": "SHA-256"}] * 2}, "lists a file twice"),
    ],
)
def test_a_signed_list_that_says_something_else_is_refused(key: PolicyKey, more: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        verify_bundle(forged(key, payload(key, **more)), [key.public])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({MANIFEST: '{"revision":"%s","roots":[""],"rego_version":1}' % ("0" * 64)}, "is not the digest of its text"),
        ({MANIFEST: FILES[MANIFEST].replace('[""]', '["countersign"]')}, r"roots\.0: Input should be ''"),
        ({MANIFEST: FILES[MANIFEST].replace("}", ',"wasm":[]}')}, "wasm: Extra inputs"),
        ({"notes.txt": "hello"}, "holds more than modules"),
        ({"countersign_config/data.json": "[]"}, "holds more than modules"),
        ({"countersign_config/data.json": '{"a":1,"a":2}'}, "member 'a' stands twice"),
    ],
)
def test_what_is_signed_and_no_policy_of_ours_is_refused(key: PolicyKey, change: dict[str, str], said: str) -> None:
    files = {**FILES, **change}
    try:
        told = payload(key, files)
    except ValueError:  # such a file has no hash
        told = payload(key)
    with pytest.raises(PolicyError, match=said):
        verify_bundle(forged(key, told, files=files), [key.public])


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("a.b", "is no JWS"),
        ("a.b.c.d", "is no JWS"),
        ("é.é.é", "is no base64url"),
        ("e30=.e30.", "in another than its one spelling|is no base64url"),
        ("e31.e30.e30", "in another than its one spelling"),
    ],
)
def test_a_signature_in_another_spelling_is_refused(key: PolicyKey, token: str, said: str) -> None:
    bundle = archive({**FILES, SIGNATURES: json.dumps({"signatures": [token]})})
    with pytest.raises(PolicyError, match=said):
        verify_bundle(bundle, [key.public])


def test_a_link_in_the_place_of_a_file_is_refused(key: PolicyKey) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        link = tarfile.TarInfo("countersign/tiers.rego")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(PolicyError, match=r"holds countersign/tiers\.rego, which is no file"):
        verify_bundle(stream.getvalue(), [key.public])


def test_more_files_or_bytes_than_a_policy_has_are_refused_before_they_are_read(key: PolicyKey) -> None:
    with pytest.raises(PolicyError, match="or one too many"):
        verify_bundle(packed((f"a{number}.rego", b"") for number in range(2001)), [key.public])
    with pytest.raises(PolicyError, match="too large"):
        verify_bundle(gzip.compress(bytes(LARGEST + 1)), [key.public])


def test_what_follows_the_bundle_is_refused(tmp_path: Path) -> None:
    bundle, key = signed(tmp_path)
    for more in (b"\0", gzip.compress(b"more")):
        with pytest.raises(PolicyError, match="goes on behind its end"):
            verify_bundle(bundle + more, [key.public])


def test_data_is_hashed_by_what_it_says_and_rules_by_their_bytes() -> None:
    assert file_hash("a/data.json", '{"b":1.0,"a":[true]}') == file_hash("a/data.json", '{ "a": [true],\n"b": 1.0 }')
    assert file_hash("a/data.json", '{"b":1.0}') != file_hash("a/data.json", '{"b":1}')
    assert file_hash("a.rego", "package a\n") != file_hash("a.rego", "package  a\n")


def test_the_signature_comes_first_so_that_a_bundle_can_be_refused_early(tmp_path: Path) -> None:
    assert [name for name, _ in members(signed(tmp_path)[0])][:2] == [MANIFEST, SIGNATURES]


def test_the_key_is_made_once_for_its_owner_alone_with_its_public_half_beside(tmp_path: Path) -> None:
    path = tmp_path / "keys/policy.pem"
    made = load_or_create(path)
    assert load_or_create(path).public == made.public == load_verification_key(public_path(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    public_path(path).unlink()
    assert load_or_create(path).public == load_verification_key(public_path(path))


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_or_create(tmp_path / "policy.pem")
    (tmp_path / "policy.pem").chmod(0o640)
    with pytest.raises(KeyFileError, match="can be used by others"):
        load_or_create(tmp_path / "policy.pem")


def test_the_public_half_of_another_key_is_refused(tmp_path: Path) -> None:
    for name in ("policy", "other"):
        load_or_create(tmp_path / f"{name}.pem")
    public_path(tmp_path / "other.pem").replace(public_path(tmp_path / "policy.pem"))
    with pytest.raises(KeyFileError, match="is not the public half of"):
        load_or_create(tmp_path / "policy.pem")


@pytest.mark.parametrize("key", [ed25519.Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP384R1())])
def test_a_key_of_another_kind_is_refused(tmp_path: Path, key: Any) -> None:
    path = tmp_path / "policy.pem"
    path.write_bytes(private_pem(key))
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="is not a private key on P-256"):
        load_or_create(path)
    other = PolicyKey(key).public
    public_path(path).write_bytes(other.pem())
    with pytest.raises(KeyFileError, match="is not a public key on P-256"):
        load_verification_key(public_path(path))


def test_author_and_comment_are_signed_with_a_version(key: PolicyKey) -> None:
    said = {"author": "rita", "comment": "more writes → fewer waits"}
    found = verify_bundle(sign_bundle(TEXT, key, said).data, [key.public])
    assert (found.author, found.comment, found.text) == ("rita", said["comment"], TEXT)
    assert verify_bundle(sign_bundle(TEXT, key).data, [key.public]).author is None
    with pytest.raises(PolicyError, match="metadata"):
        verify_bundle(sign_bundle(TEXT, key, {"author": "rita"}).data, [key.public])

"""Signed bundles, and what somebody may have made of one: each is to be refused, by OPA and by our own verification."""

import io
import json
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from policy.bundle import MANIFEST, archive, build_bundle, read_policy
from policy.keys import PolicyKey, load_or_create
from policy.signing import SIGNATURES, sign_bundle
from tests.opa_server import SHIPPED

RULES = "countersign/limits.rego"
Members = list[tuple[str, bytes]]


def signed(folder: Path, name: str = "policy") -> tuple[bytes, PolicyKey]:
    """Return the shipped policy's bundle, signed by a key of this name in a folder, and the key."""
    key = load_or_create(folder / f"{name}.pem")
    return sign_bundle(read_policy(SHIPPED), key).data, key


def members(bundle: bytes) -> Members:
    """Return the files of a bundle in their order."""
    with tarfile.open(fileobj=io.BytesIO(bundle), mode="r:gz") as tar:
        return [(item.name, (tar.extractfile(item) or io.BytesIO()).read()) for item in tar]


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return files as a bundle, also those of one name."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files:
            item = tarfile.TarInfo(name)
            item.size = len(content)
            tar.addfile(item, io.BytesIO(content))
    return stream.getvalue()


def replaced(bundle: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """Return a bundle in one of whose files something else stands."""
    assert old in dict(members(bundle))[name]
    return packed((one, content.replace(old, new) if one == name else content) for one, content in members(bundle))


def _unsigned(bundle: bytes) -> bytes:
    return packed(one for one in members(bundle) if one[0] != SIGNATURES)


def _by_another_key(_: bytes) -> bytes:
    return sign_bundle(read_policy(SHIPPED), PolicyKey(ec.generate_private_key(ec.SECP256R1()))).data


def _built_without_a_key(_: bytes) -> bytes:
    return build_bundle(SHIPPED).data


def _with_another_policys_signature(bundle: bytes) -> bytes:
    files = {name: content.decode() for name, content in members(replaced(bundle, RULES, b"permitted", b"forbidden"))}
    return archive(files)


def _added(name: str, content: bytes = b"{}") -> Callable[[bytes], bytes]:
    return lambda bundle: packed([*members(bundle), (name, content)])


def _signed_twice(bundle: bytes) -> bytes:
    files = dict(members(bundle))
    token = json.loads(files[SIGNATURES])["signatures"][0]
    return packed({**files, SIGNATURES: json.dumps({"signatures": [token, token]}).encode()}.items())


SPOILED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "unsigned": (_unsigned, "is not signed"),
    "by another key": (_by_another_key, "is none that is trusted"),
    "built without a key": (_built_without_a_key, "is not signed"),
    "a rule changed": (lambda one: replaced(one, RULES, b"permitted if {", b"permitted if {\n\ttrue"), "not what was"),
    "data changed": (
        lambda one: replaced(one, "countersign_config/data.json", b'"quorum":2', b'"quorum":1'),
        "not what was",
    ),
    "roots changed": (lambda one: replaced(one, MANIFEST, b'[""]', b'["countersign"]'), "not what was"),
    "another signature": (_with_another_policys_signature, "not what was"),
    "a rule added": (_added("countersign/added.rego", b"package countersign.added\n"), "has not been signed"),
    "data added": (_added("other/data.json"), "has not been signed"),
    "a patch added": (_added("patch.json", b'{"data": []}'), "has not been signed"),
    "a page added": (_added("README.md"), "has not been signed"),
    "a rule twice": (_added(RULES, b"package countersign.limits\n"), "twice"),
    "a rule removed": (lambda one: packed(each for each in members(one) if each[0] != RULES), "is missing"),
    "signed twice": (_signed_twice, "at most 1 item"),
    "cut off": (lambda one: one[: len(one) // 2], "cut off"),
    "empty": (lambda _: b"", "cut off"),
    "no archive": (lambda _: b"hello", "no gzip stream"),
}
"""By what was done: how, and what our own verification says of it."""

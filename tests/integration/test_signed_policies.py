"""Bundles are signed as `opa sign` signs them, the real OPA takes no other, and keys rotate without a gap.

An OPA that refuses a bundle keeps the one before, or does not start.
"""

import asyncio
import base64
import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from countersign.embedded.ports import free_port
from edge.policy_bundle import ROUTE
from policy.bundle import MANIFEST, PolicyFolders, bundle_files, policy_text, read_policy, write_files
from policy.client import OpaEngine
from policy.contract import PolicyText, PolicyUnavailableError
from policy.keys import ALGORITHM, load_or_create, load_verification_key
from policy.opa_config import BundleSource, opa_config
from policy.signing import SIGNATURES, sign_bundle, signed_payload
from policy.verifying import verify_bundle
from receipts.signing import public_path
from tests.opa_server import PACKS, SHIPPED, copy_policies, opa_program, question
from tests.patience import MINUTE, until
from tests.spoiled_bundles import SPOILED, members, packed, replaced, signed

TEXT = read_policy(SHIPPED)
NASTY = ["</a>&", "\u2028\u2029", "\x00\x08\x0c\x1f\x7f", "ﬁ\U0001f600\ud7ff", '"\\/', "é", ""]


def opa_sign(folder: Path, text: PolicyText, key_id: str) -> str:
    """Return the token that the real `opa sign` makes for a policy."""
    files = folder / "bundle"
    write_files(files, text.files)
    (files / MANIFEST).write_text(bundle_files(text)[MANIFEST], encoding="utf-8")
    (folder / "claims.json").write_text(json.dumps({"keyid": key_id}), encoding="utf-8")
    arguments = ("--signing-alg", "ES256", "--signing-key", folder / "policy.pem", "--claims-file", "../claims.json")
    subprocess.run([opa_program(), "sign", *arguments, "--bundle", ".", "-o", ".."], cwd=files, check=True)
    (token,) = json.loads((folder / SIGNATURES).read_text(encoding="utf-8"))["signatures"]
    return str(token)


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        policy_text(
            {"countersign/a.rego": "package a\r\n", "countersign_pack/a.rego": "package b # é\n"},
            {
                "nasty": dict.fromkeys(NASTY, NASTY),
                "\uffff": 1,
                "\U00010000": 2,
                "numbers": [0, -7, 1e21, 1e-7, 0.5],
            },
        ),
    ],
    ids=["shipped", "nasty"],
)
def test_header_and_payload_are_those_of_opa_sign_to_the_byte(tmp_path: Path, text: PolicyText) -> None:
    key = load_or_create(tmp_path / "policy.pem")
    theirs = opa_sign(tmp_path, text, key.public.key_id).split(".")
    (ours,) = json.loads(dict(members(sign_bundle(text, key).data))[SIGNATURES])["signatures"]
    assert ours.split(".")[:2] == theirs[:2]
    assert decoded(theirs[1]) == signed_payload(bundle_files(text), key.public.key_id)
    assert key.public.has_signed(
        decoded(theirs[2]), ".".join(theirs[:2]).encode()
    )  # ECDSA: theirs is another each time


def test_a_bundle_that_opa_sign_signed_is_verified(tmp_path: Path) -> None:
    key = load_or_create(tmp_path / "policy.pem")
    token = opa_sign(tmp_path, TEXT, key.public.key_id)
    files = {name: text.encode() for name, text in bundle_files(TEXT).items()}
    bundle = packed({**files, SIGNATURES: json.dumps({"signatures": [token]}, indent=1).encode()}.items())
    assert verify_bundle(bundle, [key.public]).text == TEXT


@dataclass(frozen=True)
class Served:
    """An OPA, its log, and its address."""

    log: Path
    url: str
    process: asyncio.subprocess.Process


def put(folder: Path, bundle: bytes) -> None:
    """Replace the bundle in a folder, as a release does."""
    folder.mkdir(exist_ok=True)
    draft = folder.parent / "next.tar.gz"
    draft.write_bytes(bundle)
    draft.replace(folder / "bundle.tar.gz")


@asynccontextmanager
async def opa(folder: Path, *arguments: str, **env: str) -> AsyncIterator[Served]:
    """Run OPA in a folder."""
    port = free_port()
    address, log = f"127.0.0.1:{port}", folder.parent / f"opa-{port}.log"
    words = ("run", "--server", "--addr", address, "--log-level", "error", "--skip-version-check")
    logging = () if "--config-file" in arguments else ("--set=decision_logs.console=true",)
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            opa_program(), *words, *logging, *arguments, cwd=folder, env=env, stdout=out, stderr=out
        )
    try:
        yield Served(log, f"http://{address}", process)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def verifying(key: Path) -> Sequence[str]:
    """Return the arguments by which an OPA starts only with a bundle that a key has signed."""
    return ("--verification-key", str(public_path(key)), "--signing-alg", ALGORITHM, "--bundle", "bundle.tar.gz")


async def digest_of(served: Served) -> str:
    """Return the digest of the policy that answers, as soon as one does."""
    found: list[str] = []

    async def answers() -> bool:
        assert served.process.returncode is None, served.log.read_text(encoding="utf-8")
        async with OpaEngine(served.url, timeout=MINUTE, fresh=0) as engine:
            with suppress(PolicyUnavailableError):
                found.append((await engine.ask(question())).policy_digest)
        return bool(found)

    await until(answers)
    return found[-1]


@pytest.fixture
def old(tmp_path: Path) -> tuple[Path, bytes]:
    """A key, and the shipped policy signed by it."""
    bundle, _ = signed(tmp_path, "old")
    return tmp_path / "old.pem", bundle


def changed_policy(tmp_path: Path) -> PolicyText:
    """Return a policy with another digest."""
    policies = copy_policies(tmp_path / "rego")
    file = policies / "countersign_config/acme/data.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"quorum": 2', '"quorum": 3'), encoding="utf-8")
    return read_policy(PolicyFolders(policies, PACKS))


@pytest.mark.parametrize("what", SPOILED)
async def test_opa_does_not_start_with_what_is_not_wholly_what_was_signed(
    tmp_path: Path, old: tuple[Path, bytes], what: str
) -> None:
    key, bundle = old
    put(tmp_path / "served", SPOILED[what][0](bundle))
    async with opa(tmp_path / "served", *verifying(key)) as served, asyncio.timeout(MINUTE):
        assert await served.process.wait() == 1
        assert "load error: bundle bundle.tar.gz: " in served.log.read_text(encoding="utf-8")


async def test_a_key_is_changed_without_a_moment_in_which_nothing_is_served(
    tmp_path: Path, old: tuple[Path, bytes]
) -> None:
    folder, text = tmp_path / "served", changed_policy(tmp_path)
    put(folder, old[1])
    async with opa(folder, *verifying(old[0])) as before:
        assert await digest_of(before) == TEXT.digest
        put(folder, sign_bundle(text, load_or_create(tmp_path / "new.pem")).data)
        assert await digest_of(before) == TEXT.digest
        async with opa(folder, *verifying(tmp_path / "new.pem")) as after:
            assert await digest_of(after) == text.digest
            assert await digest_of(before) == TEXT.digest
    async with opa(folder, *verifying(old[0])) as refusing, asyncio.timeout(MINUTE):
        assert await refusing.process.wait() == 1  # who still trusts the old key alone


@dataclass
class Door:
    """Serves a bundle over HTTP, as a release does, and counts how often each was fetched."""

    bundle: bytes = b""
    fetched: Counter[bytes] = field(default_factory=Counter)

    async def give(self, request: web.Request) -> web.Response:
        tag = f'"{hashlib.sha256(self.bundle).hexdigest()}"'
        self.fetched[self.bundle] += 1
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        return web.Response(body=self.bundle, headers={"ETag": tag}, content_type="application/gzip")


@asynccontextmanager
async def downloading(folder: Path, door: Door, keys: Sequence[Path]) -> AsyncIterator[Served]:
    """Run an OPA that downloads its bundle and trusts several keys, by the configuration of `policy opa-config`."""
    folder.mkdir(exist_ok=True)
    app = web.Application()
    app.router.add_get(ROUTE, door.give)
    async with TestServer(app) as server:
        source = BundleSource(str(server.make_url("/")), ROUTE, "COUNTERSIGN_POLICY_TOKEN")
        file = folder.parent / "opa.yaml"
        trusted = [load_verification_key(public_path(key)) for key in keys]
        file.write_text(opa_config(source, trusted), encoding="utf-8")
        async with opa(folder, "--config-file", str(file)) as served:
            yield served


async def offered(door: Door, bundle: bytes) -> None:
    """Offer a bundle, and wait until it was fetched and what came of that is over: it is asked for again then."""
    door.bundle = bundle
    before = door.fetched[bundle]

    async def is_fetched_twice() -> bool:
        return door.fetched[bundle] >= before + 2

    await until(is_fetched_twice)


async def test_an_opa_that_downloads_takes_bundles_of_both_keys_while_they_rotate(
    tmp_path: Path, old: tuple[Path, bytes]
) -> None:
    door, text, new = Door(old[1]), changed_policy(tmp_path), tmp_path / "new.pem"
    renewed = sign_bundle(text, load_or_create(new)).data
    async with downloading(tmp_path / "work", door, [old[0], new]) as served:
        assert await digest_of(served) == TEXT.digest
        await offered(door, renewed)
        assert await digest_of(served) == text.digest
        await offered(door, old[1])  # OPA has no memory of what is older
        assert await digest_of(served) == TEXT.digest


@pytest.mark.parametrize(
    "what", ["by another key", "unsigned", "a rule changed", "a rule added", "a rule removed", "cut off"]
)
async def test_an_opa_that_downloads_keeps_the_policy_that_it_has(
    tmp_path: Path, old: tuple[Path, bytes], what: str
) -> None:
    door = Door(old[1])
    changed = sign_bundle(changed_policy(tmp_path), load_or_create(old[0])).data
    async with downloading(tmp_path / "work", door, [old[0]]) as served:
        assert await digest_of(served) == TEXT.digest
        await offered(door, SPOILED[what][0](changed))
        assert await digest_of(served) == TEXT.digest
        assert "Bundle load failed" in served.log.read_text(encoding="utf-8")
        await offered(door, changed)
        assert await digest_of(served) != TEXT.digest


async def test_an_opa_that_reloads_a_watched_file_verifies_nothing_and_its_lies_are_found_out(
    tmp_path: Path, old: tuple[Path, bytes]
) -> None:
    """Why no OPA of ours is told to watch: it verifies at its start alone."""
    folder = tmp_path / "served"
    put(folder, old[1])
    async with opa(folder, *verifying(old[0]), "--watch") as served:
        assert await digest_of(served) == TEXT.digest
        lenient = b"count(approvers) >= requirement.quorum", b"count(approvers) >= 0"
        put(folder, replaced(old[1], "countersign/approvals.rego", *lenient))
        outcomes = set()
        async with asyncio.timeout(MINUTE), OpaEngine(served.url, timeout=MINUTE, fresh=0) as engine:
            while "found out" not in outcomes:
                try:
                    outcomes.add(str((await engine.ask(question())).answer.outcome))
                except PolicyUnavailableError as error:
                    outcomes.add("found out" if "is not the digest" in str(error) else "reloading")
        assert "allow" not in outcomes

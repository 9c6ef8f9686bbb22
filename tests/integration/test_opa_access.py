"""An OPA that wants a token, has a certificate of one's own authority, or asks for ours, and an S3 likewise."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from countersign.bucket import BucketError, make_bucket
from countersign.doctor.database import policy_text
from countersign.doctor.doctor import examine
from countersign.embedded.ports import free_port
from countersign.engine import make_policy
from countersign.parts import Role
from countersign.settings import ConfigError, Settings
from policy.bundle import PolicyFolders, build_bundle
from policy.client import OpaEngine
from policy.contract import PolicyUnavailableError
from policy.transport import Access, connect
from runtime.clock import utc_now
from tests.certificates import Authority, Pair
from tests.integration.minio_server import PASSWORD, USER, minio_server
from tests.opa_server import PACKS, copy_policies, opa_program, question
from tests.patience import MINUTE

TOKEN = "a-token-that-only-we-know"
# What a policy says stands in the evidence: it knows the token's digest, and not the token.
AUTHZ = f"""# METADATA
# title: Who may ask
# description: Whoever shows the token, or a certificate of our authority. Health is everybody's.
package system.authz

import rego.v1

default allow := false

allow if input.path == ["health"]

allow if crypto.sha256(input.identity) == "{hashlib.sha256(TOKEN.encode()).hexdigest()}"

allow if count(input.client_certificates) > 0
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def server(ours: Authority) -> Pair:
    return ours.vouch_for("server")


@asynccontextmanager
async def secured(work: Path, server: Pair, access: Access, *arguments: str) -> AsyncIterator[str]:
    """Serve the repository's policies, and who may ask, over TLS; yield the address."""
    work.mkdir()
    rego = copy_policies(work / "rego")
    (rego / "system/authz.rego").write_text(AUTHZ, encoding="utf-8")
    (work / "bundle.tar.gz").write_bytes(build_bundle(PolicyFolders(rego, PACKS)).data)
    url = f"https://127.0.0.1:{free_port()}"
    tls = (f"--tls-cert-file={server.certificate}", f"--tls-private-key-file={server.key}")
    command = ("run", "--server", "--addr", url, "--set=decision_logs.console=true", "--authorization=basic")
    with (work / "opa.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            opa_program(),
            *(*command, *tls, *arguments, "--bundle", "bundle.tar.gz"),
            cwd=work,
            env={},
            stdout=log,
            stderr=log,
        )
    try:
        async with asyncio.timeout(MINUTE), connect(url, 5.0, access) as client:
            while not await client.check_health():
                assert process.returncode is None, (work / "opa.log").read_text()
                await asyncio.sleep(0.02)
        yield url
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture(scope="module")
async def wants_token(ours: Authority, server: Pair, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    work = tmp_path_factory.mktemp("token") / "work"
    async with secured(work, server, Access(authority=ours.certificate), "--authentication=token") as url:
        yield url


async def refusal(url: str, access: Access) -> str:
    """Ask, and return why there is no answer."""
    async with OpaEngine(url, timeout=MINUTE, access=access) as engine:
        with pytest.raises(PolicyUnavailableError) as caught:
            await engine.ask(question())
    assert TOKEN not in str(caught.value)
    return str(caught.value)


async def test_an_opa_that_wants_a_token_answers_whoever_shows_it(wants_token: str, ours: Authority) -> None:
    async with OpaEngine(wants_token, timeout=MINUTE, access=Access(TOKEN, ours.certificate)) as engine:
        verdict = await engine.ask(question())
        assert engine.text(verdict.policy_digest).digest == verdict.policy_digest
    for token in (None, "another"):
        assert "401: it wants a token, or another one" in await refusal(wants_token, Access(token, ours.certificate))


async def test_an_opa_that_nobody_vouches_for_is_not_asked(wants_token: str, tmp_path: Path) -> None:
    others = Authority(tmp_path, "others").certificate
    for authority in (None, others):
        assert "certificate verify failed" in await refusal(wants_token, Access(TOKEN, authority))


async def test_an_opa_that_asks_for_a_certificate_gets_ours(ours: Authority, server: Pair, tmp_path: Path) -> None:
    client = ours.vouch_for("client")
    access = Access(authority=ours.certificate, certificate=client.certificate, key=client.key)
    arguments = ("--authentication=tls", f"--tls-ca-cert-file={ours.certificate}")
    async with secured(tmp_path / "work", server, access, *arguments) as url:
        async with OpaEngine(url, timeout=MINUTE, access=access) as engine:
            assert (await engine.ask(question())).policy_digest
        assert "policy unavailable" in await refusal(url, Access(authority=ours.certificate))


async def test_the_settings_say_how_it_is_reached(wants_token: str, ours: Authority) -> None:
    settings = Settings(opa_url=wants_token, opa_token=TOKEN, opa_ca=ours.certificate, opa_timeout=MINUTE)
    assert TOKEN not in repr(settings)
    assert (await policy_text(settings, utc_now)).files["system/authz.rego"] == AUTHZ


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"opa_token": "another-token"}, "Set COUNTERSIGN_OPA_TOKEN"),
        ({"opa_ca": None}, "Set COUNTERSIGN_OPA_CA"),
        ({"opa_url": "https://127.0.0.1:1"}, "Start OPA, or set COUNTERSIGN_OPA_URL"),
    ],
)
async def test_doctors_hint_is_that_of_the_cause(
    wants_token: str, ours: Authority, given: dict[str, Any], names: str
) -> None:
    right: dict[str, Any] = {
        "opa_url": wants_token,
        "opa_token": TOKEN,
        "opa_ca": ours.certificate,
        "opa_timeout": MINUTE,
    }
    facts = await examine(Settings(**right | given), utc_now, frozenset({Role.SWEEPS}))
    policy = next(fact for fact in facts if fact.name == "policy")
    assert not policy.ok
    assert policy.remedy.startswith(names)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"opa_ca": "/nowhere.pem"}, r"^COUNTERSIGN_OPA_CA: cannot be read .*No such file"),
        ({"opa_certificate": __file__}, r"^COUNTERSIGN_OPA_CERTIFICATE: cannot be read .*PEM"),
    ],
)
def test_a_certificate_that_cannot_be_read_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_policy(Settings(opa_url="https://127.0.0.1:1", **given))


def test_a_key_without_its_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="COUNTERSIGN_OPA_KEY: there is no COUNTERSIGN_OPA_CERTIFICATE"):
        Settings(opa_key="/keys/client.pem")


def test_an_s3_of_ones_own_authority_is_believed_where_the_settings_name_it(
    ours: Authority, server: Pair, tmp_path: Path
) -> None:
    with minio_server(tmp_path, server, ours.certificate) as minio:
        keys: dict[str, Any] = {"s3_endpoint": minio.endpoint, "s3_access_key": USER, "s3_secret_key": PASSWORD}
        with pytest.raises(BucketError, match="certificate verify failed"):
            make_bucket(Settings(**keys, s3_bucket="evidence"), utc_now)
        believed = Settings(**keys, s3_bucket="evidence", s3_ca=ours.certificate)
        assert "the bucket evidence has Object Lock" in " ".join(make_bucket(believed, utc_now))

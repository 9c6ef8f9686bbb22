"""The edge's door for OPA: the signed bundle in force, for the bearer token alone, and not again to who has it."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from pydantic import SecretStr

from countersign.embedded.opa import OpaChild
from edge.policy_bundle import ROUTE
from policy.bundle import read_policy
from policy.keys import PolicyKey, load_or_create
from policy.verifying import verify_bundle
from runtime.services.policy_bundles import PolicyBundles
from runtime.store.database.pool import Pool
from tests.databases import program_pool
from tests.integration.door_stage import TOKEN, activate, door, install, next_policy
from tests.integration.program_stage import Answer, composed, edge_of, is_problem, settings_of
from tests.opa_server import SHIPPED
from tests.patience import POLICY

ADMITTED = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Stage:
    """A door, the connections behind it, and the key that signs."""

    url: str
    pool: Pool
    key: PolicyKey
    http: aiohttp.ClientSession

    async def get(self, headers: Mapping[str, str] = ADMITTED, method: str = "GET") -> Answer:
        """Knock; a problem is read as JSON, anything else as bytes."""
        async with self.http.request(method, f"{self.url}{ROUTE}", headers=headers) as response:
            is_json = response.content_type.endswith("json")
            return Answer(
                response.status,
                response.headers,
                await (response.json(content_type=None) if is_json else response.read()),
            )

    async def install(self) -> bytes:
        return await install(self.pool, SHIPPED, self.key)


@pytest.fixture
async def stage(dsn: str, tmp_path: Path) -> AsyncIterator[Stage]:
    key = load_or_create(tmp_path / "policy.pem")
    async with program_pool(dsn) as pool, door(PolicyBundles(pool)) as url, aiohttp.ClientSession() as http:
        yield Stage(url, pool, key, http)


def tag_of(bundle: bytes) -> str:
    return f'"{hashlib.sha256(bundle).hexdigest()}"'


async def test_the_bundle_in_force_is_served_as_it_was_signed(stage: Stage) -> None:
    bundle = await stage.install()
    answer = await stage.get()
    assert (answer.status, answer.body, answer.headers["ETag"]) == (200, bundle, tag_of(bundle))
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert verify_bundle(answer.body, [stage.key.public]).text == read_policy(SHIPPED)


@pytest.mark.parametrize("listed", ["{}", "W/{}", '"other", {}', "*"])
async def test_who_has_the_bundle_gets_no_bytes(stage: Stage, listed: str) -> None:
    tag = tag_of(await stage.install())
    answer = await stage.get({**ADMITTED, "If-None-Match": listed.format(tag)})
    assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", tag)


async def test_the_next_download_has_what_came_into_force_meanwhile(stage: Stage, tmp_path: Path) -> None:
    old = await stage.install()
    new = await activate(stage.pool, next_policy(tmp_path / "rego"), stage.key)
    answer = await stage.get({**ADMITTED, "If-None-Match": tag_of(old)})
    assert (answer.status, answer.body, answer.headers["ETag"]) == (200, new, tag_of(new))


@dataclass(frozen=True)
class Counting(PolicyBundles):
    """The bundles, and the versions that were read."""

    reads: list[int] = field(default_factory=list)

    async def read(self, version: int) -> bytes:
        self.reads.append(version)
        return await super().read(version)


async def test_a_bundle_that_is_known_is_not_read(stage: Stage) -> None:
    tag, bundles = tag_of(await stage.install()), Counting(stage.pool)
    async with door(bundles) as url:
        there = Stage(url, stage.pool, stage.key, stage.http)
        assert (await there.get({**ADMITTED, "If-None-Match": tag})).status == 304
        assert bundles.reads == []
        assert (await there.get({**ADMITTED, "If-None-Match": '"other"'})).status == 200
        assert bundles.reads == [1]


@pytest.mark.parametrize("versions", [0, 1])
@pytest.mark.parametrize(
    "shown",
    [None, "", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer \xe9"],
)
async def test_without_the_token_nobody_learns_anything(stage: Stage, shown: str | None, versions: int) -> None:
    if versions:
        await stage.install()
    answer = await stage.get({} if shown is None else {"Authorization": shown, "If-None-Match": "*"})
    assert is_problem(answer, 401, "the bearer token is missing or wrong")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "ETag" not in answer.headers


async def test_without_a_version_there_is_nothing_to_download(stage: Stage) -> None:
    answer = await stage.get({**ADMITTED, "If-None-Match": "*"})
    assert is_problem(answer, 404, "no policy version is in force: run `countersign policy install`")


async def test_the_door_gives_and_takes_nothing(stage: Stage) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert is_problem(await stage.get(method=method), 405)


async def test_while_the_database_is_away_the_door_says_so(stage: Stage) -> None:
    async with program_pool("postgresql://nobody@127.0.0.1:1/none") as away, door(PolicyBundles(away)) as url:
        away.timeout = POLICY
        answer = await Stage(url, away, stage.key, stage.http).get()
        assert is_problem(answer, 503, "the database cannot be reached")
        assert int(answer.headers["Retry-After"]) > 0


async def test_the_door_of_an_edge_is_open_where_the_token_is_set(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    settings = settings_of(dsn, opa.url, tmp_path)
    async with composed(settings) as system, edge_of(system) as edge:
        assert is_problem(await edge.send("GET", ROUTE, signed=ADMITTED), 404, "Not Found")
    token = settings.model_copy(update={"policy_token": SecretStr(TOKEN)})
    async with composed(token) as system, edge_of(system) as edge:
        assert is_problem(await edge.send("GET", ROUTE, signed=ADMITTED), 404, "no policy version is in force")
        assert is_problem(await edge.send("GET", ROUTE), 401, "the bearer token is missing or wrong")

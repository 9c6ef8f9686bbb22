"""What each release has left is upgraded and goes on: runs that are parked, votes that were given, evidence."""

import gzip
import subprocess
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree

import psycopg
import pytest
from playwright.async_api import Page

from evidence.local import LocalArchive
from evidence.verify.verify import VerificationError, verify
from policy.answer import parse_answer
from policy.client import OpaEngine
from policy.explain import explain
from runtime.store.database.migration import migrate
from runtime.store.database.schema_state import NEWEST
from tests.bench import Bench, open_bench
from tests.browser import report_of, verify_page
from tests.databases import empty_database
from tests.integration.conftest import PACK, Targets
from tests.leaves import make_view
from tests.opa_server import opa_program, question
from tests.released import Kept, database_tool, releases
from tests.sealing import sealer_of
from tests.unit.evidence_bends import members_of


@pytest.fixture(params=releases(), ids=lambda kept: kept.folder.name)
def kept(request: pytest.FixtureRequest) -> Kept:
    found: Kept = request.param
    return found


@pytest.fixture
def left(postgres: str, kept: Kept) -> Iterator[str]:
    """Give a database as the release has left it."""
    with empty_database(postgres) as dsn:
        psql: list[str | Path] = [database_tool("psql"), "--quiet", "--set", "ON_ERROR_STOP=1", dsn]
        subprocess.run(psql, input=gzip.decompress(kept.database.read_bytes()), check=True, stdout=subprocess.DEVNULL)
        yield dsn


@pytest.fixture
def upgraded(left: str) -> str:
    """Give a database that the release has left, and this program has migrated."""
    migrate(left)
    return left


@pytest.fixture
async def later(upgraded: str, policy: OpaEngine, targets: Targets) -> AsyncIterator[Bench]:
    """Give a runtime on that database."""
    async with open_bench(upgraded, policy, [PACK], targets.handlers()) as found:
        yield found


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


def test_there_is_a_release_to_upgrade_from() -> None:
    assert releases()


def test_a_database_of_a_release_is_migrated_to_the_newest_step(upgraded: str) -> None:
    with psycopg.connect(upgraded) as conn:
        assert conn.execute("SELECT version_num FROM alembic_version").fetchone() == (NEWEST,)


_LEAVES = "SELECT run_id, seq, encode(hash, 'hex'), leaf::text FROM audit_leaves ORDER BY run_id, seq"
before_0003 = pytest.mark.parametrize("kept", [one for one in releases() if one.folder.name == "0.2.0"], indirect=True)
"""Each of whose leaves has a row of its own."""


@before_0003
def test_the_leaves_of_a_release_stand_as_they_were_written(left: str) -> None:
    with psycopg.connect(left, autocommit=True) as conn:
        before = conn.execute(_LEAVES).fetchall()
        migrate(left)
        make_view(left)
        assert conn.execute(_LEAVES).fetchall() == before != []
        (rows,) = conn.execute("SELECT count(*) FROM leaf_sets").fetchone() or (0,)
    assert rows < len(before), "those of a transaction stand together"


@before_0003
def test_a_leaf_that_is_written_while_leaves_are_moved_is_moved_with_them(left: str) -> None:
    with psycopg.connect(left, options="-c session_replication_role=replica") as old, ThreadPoolExecutor(1) as threads:
        written = old.execute(
            "INSERT INTO audit_leaves SELECT 'run_late', seq, hash, replace(leaf::text, run_id, 'run_late')::json"
            " FROM audit_leaves WHERE seq = 1 LIMIT 1 RETURNING seq, leaf::text"
        ).fetchone()
        migrating = threads.submit(migrate, left)
        with psycopg.connect(left, autocommit=True) as conn:
            while not conn.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                assert not migrating.done()
        old.commit()
        migrating.result()
    make_view(left)
    with psycopg.connect(left) as conn:
        moved = conn.execute("SELECT seq, leaf::text FROM audit_leaves WHERE run_id = 'run_late'").fetchall()
    assert moved == [written]


@before_0003
def test_a_leaf_that_no_program_wrote_so_is_named_and_nothing_is_moved(left: str) -> None:
    with psycopg.connect(left, autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE audit_leaves SET leaf = (leaf::text || ' ')::json WHERE seq = 2")
        before = conn.execute(_LEAVES).fetchall()
        with pytest.raises(Exception, match=r"leaf 2 of run_\w+ is not as the program writes leaves"):
            migrate(left)
        assert conn.execute(_LEAVES).fetchall() == before
        assert conn.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)


async def test_a_request_that_one_had_signed_before_is_carried_out_once_another_signs(
    later: Bench, kept: Kept, targets: Targets, tmp_path: Path
) -> None:
    approval = await later.approval_id()
    assert (await later.click("ann", approval, nonce="again")).refusal, "who has signed before signs no second time"
    assert (await later.click("ben", approval)).counted
    await later.settle()
    assert targets.file.calls
    keys, archive = copytree(kept.folder, tmp_path / "keys"), LocalArchive(tmp_path / "evidence")
    for key in keys.glob("*.pem"):
        key.chmod(0o600)
    assert await sealer_of(later.engine, archive, keys / kept.key.name)()
    (bundle,) = (tmp_path / "evidence").glob("*.zip")
    assert verify(bundle, keys / "evidence.pub.pem")


async def test_the_policy_of_a_release_answers_and_the_first_ones_names_no_rules(kept: Kept) -> None:
    texts = {name: text.decode() for name, text in members_of(kept.bundle).items() if name.startswith("policies/")}
    files = {name.split("/", 2)[2]: text for name, text in texts.items()}
    found = await explain(opa_program(), files, question().model_dump(mode="json"))
    answer = parse_answer(found.answer, "answer")
    assert [reason.code for reason in answer.reasons] == ["writes.high_tier"]
    assert ("rules" in answer.model_dump()) == (kept.folder.name != "0.2.0")


async def test_a_run_that_was_parked_before_goes_on_with_its_answer(later: Bench) -> None:
    assert (await later.complete("acme:await_answer:C1", {"answer": "yes"}))["status"] == "applied"
    await later.settle()
    (run,) = await later.rows("SELECT status FROM runs WHERE trigger_ref = 'parked'")
    assert run["status"] == "succeeded"


async def test_both_verifiers_take_a_bundle_of_a_release_and_refuse_it_changed(kept: Kept, page: Page) -> None:
    public, data = kept.folder / "evidence.pub.pem", kept.bundle.read_bytes()
    assert verify(kept.bundle, public)
    assert (await report_of(page, data, public.read_text(encoding="utf-8")))["failure"] is None
    place = len(data) // 2
    bent = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    assert (await report_of(page, bent, public.read_text(encoding="utf-8")))["failure"] is not None


def test_a_bundle_of_a_release_does_not_hold_with_another_byte(kept: Kept, tmp_path: Path) -> None:
    data = bytearray(kept.bundle.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bent.zip").write_bytes(data)
    with pytest.raises(VerificationError):
        verify(tmp_path / "bent.zip", kept.folder / "evidence.pub.pem")

"""The command line as its users have it: what it prints, and one sentence where something is wrong."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from countersign.archive import make_jobs
from countersign.cli import acts, operate
from countersign.cli.app import app
from countersign.embedded.children import Supervisor
from countersign.embedded.home import announced, locked_home, write_private
from countersign.embedded.opa import OpaChild
from countersign.embedded.system import EmbeddedError, Ports, embedded
from countersign.settings import ROOT, Settings
from countersign.system import System
from receipts.signing import public_path
from runtime.inbox import inbox
from runtime.store import notifications
from runtime.worker import Worker
from tests.integration.program_stage import (
    CASE,
    Edge,
    Finished,
    command,
    composed,
    database,
    edge_of,
    environment,
    imported,
    rows,
    settings_of,
)

CANARY = "canary-91ae"


@dataclass
class Office:
    """A system with its edge, and the settings that commands find in their environment."""

    system: System
    edge: Edge
    env: dict[str, str]

    async def run_that_is_canceled(self, ref: str) -> tuple[str, Finished]:
        """Cancel an agent's own run: it has nobody to tell, and there is no Slack here."""
        body = json.dumps({"ref": ref, "payload": {"sys_id": "0" * 32, "number": "INC0010042", "priority": 3}})
        answer = await self.edge.send("POST", "/v1/triggers/servicenow.incident", body.encode(), by="servicenow")
        run_id = answer.body["run_id"]
        return run_id, await self.cancel(run_id)

    async def cancel(self, run_id: str) -> Finished:
        """Cancel a run; what the command puts on record is applied here, as a worker would."""
        return await self.act("cancel", run_id, "--reason", "not needed", "--as", "omar")

    async def act(self, *words: str, after: Callable[[], Awaitable[None]] | None = None) -> Finished:
        """Run a command that puts an act on record, and apply it here, as a worker would; do what comes `after`."""
        acting = asyncio.create_task(command(*words, env=self.env))
        received: list[str] = []
        now = self.system.engine.clock() + timedelta(minutes=1)
        while not received and not acting.done():
            await asyncio.sleep(0.05)
            async with self.system.engine.pool.connection() as conn:
                received = await notifications.claim(conn, "acme", now, now + timedelta(minutes=1), 1)
        for notification_id in received:
            await inbox.apply(self.system.engine, notification_id)
        if after is not None:
            await after()
        return await acting

    async def work(self) -> None:
        await Worker(self.system.engine, jobs=make_jobs(self.system.settings, self.system.engine)[:1]).drain()


@pytest.fixture
async def office(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Office]:
    settings = settings_of(dsn, opa.url, tmp_path)
    async with composed(settings) as system, edge_of(system) as edge:
        yield Office(system, edge, environment(settings))


def is_one_sentence(finished: Finished, says: str) -> bool:
    """Return whether a command failed with one line that says why, and no traceback."""
    lines = finished.err.splitlines()
    return finished.code == 1 and len(lines) == 1 and lines[0].startswith("countersign: ") and says in lines[0]


async def test_an_operator_cancels_and_an_auditor_lists_fetches_and_verifies(office: Office, tmp_path: Path) -> None:
    run_id, canceled = await office.run_that_is_canceled("1")
    assert (canceled.code, canceled.out) == (0, f"{run_id} is canceled\n")
    await office.work()
    listed = await command("evidence", "list", env=office.env)
    first, *_, digest, last = listed.out.splitlines()
    assert (first.endswith("  canceled, sealed"), last) == (True, f"  {run_id}")
    sha256 = digest.removeprefix("  sha256 ")
    bundle = tmp_path / "fetched.zip"
    beside = tmp_path / "fetched.json"
    words = ("evidence", "get", run_id, "-o", str(bundle), "--sigstore", str(beside), "--as", "omar")
    fetched = await command(*words, env=office.env)
    assert (fetched.code, fetched.out) == (0, f"sha256: {sha256}\nbundle: {bundle}\nsigstore: {beside}\n")
    assert sha256 in base64.b64decode(json.loads(beside.read_bytes())["dsseEnvelope"]["payload"]).decode()
    key = public_path(office.system.settings.key_path)
    verified = await command("evidence", "verify", str(bundle), "--key", str(key), env={})
    assert verified.code == 0
    assert "The log's key was not given (--log-key)" in verified.out.splitlines()[0]
    assert verified.out.endswith(f"sha256: {sha256}\nrun:    {run_id} of acme\nEverything holds.\n")
    bundle.write_bytes(bundle.read_bytes()[:-1] + b"x")
    assert is_one_sentence(
        await command("evidence", "verify", str(bundle), "--key", str(key), env={}), "step 1, archive.form: "
    )


async def test_canceling_needs_the_database_and_nothing_else(office: Office) -> None:
    run_id, _ = await office.run_that_is_canceled("1")
    dsn = office.env["COUNTERSIGN_DATABASE_URL"]
    office.env = {"COUNTERSIGN_DATABASE_URL": dsn, "COUNTERSIGN_PACKS": '["/nowhere"]'}
    assert is_one_sentence(await office.cancel(run_id), "nothing was done: the run has ended: canceled")


async def test_a_cancellation_is_on_record_even_where_no_worker_runs(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = office.system.settings.model_copy(update={"opa_url": ""})
    monkeypatch.setattr(operate, "APPLY_SECONDS", 0.0)
    monkeypatch.setattr(acts, "shared_settings", lambda *_needed: settings)
    words = ["cancel", "run_0", "--as", "omar", "--reason", "x"]
    await asyncio.to_thread(app, words, standalone_mode=False)
    assert capsys.readouterr().out.startswith("on record as ntf_")


async def test_verifying_imports_nothing_that_needs_a_server_or_a_network(office: Office) -> None:
    run_id, _ = await office.run_that_is_canceled("1")
    await office.work()
    home = office.system.settings.home
    arguments = [
        "evidence",
        "verify",
        str(home / f"evidence/{run_id}.zip"),
        "--key",
        str(home / "keys/evidence.pub.pem"),
    ]
    assert await imported(arguments) == "[]"


async def test_a_run_that_is_not_there_is_one_sentence(office: Office) -> None:
    assert is_one_sentence(await office.cancel("run_0"), "nothing was done: there is no run run_0")
    assert is_one_sentence(
        await command("evidence", "get", "run_0", "--as", "omar", env=office.env), "no stored bundle of run run_0"
    )


async def test_a_trigger_is_sent_signed_and_its_answer_printed(office: Office, tmp_path: Path) -> None:
    payload = tmp_path / "case.json"
    payload.write_text(json.dumps(CASE), encoding="utf-8")
    words = ["trigger", "kyc.onboarding", str(payload), "--ref", "1", "--edge", office.edge.url]
    words += ["--caller", "onboarding-portal"]
    sent = await command(*words, "--as", "rita", "--json", env=office.env)
    assert sent.code == 0
    answer = json.loads(sent.out)
    again = await command("runs", *words, "--as", "rita", env=office.env)
    assert (again.code, again.out) == (0, f"{answer['run_id']} was started before by this reference\n")
    assert answer["is_new"]
    assert (await office.edge.run(answer["run_id"])).body["requested_by"] == "rita"


@pytest.mark.parametrize(
    ("payload", "more", "says"),
    [
        ("{}", [], "answered 422: on_behalf_of: missing; onboarding-portal speaks for people"),
        ("{}", ["--as", "rita"], "answered 422: payload: /: "),
        ("{", [], "case.json is not JSON: "),
        ('{"a": 1, "a": 2}', [], "case.json is not JSON: member 'a' stands twice"),
        (None, [], "case.json cannot be read: No such file or directory"),
        ("{}", ["--caller", "servicenow"], "answered 403: servicenow may not send triggers of type kyc.onboarding"),
        ("{}", ["--edge", "http://127.0.0.1:1"], "http://127.0.0.1:1: "),
    ],
)
async def test_a_trigger_that_fails_is_one_sentence(
    office: Office, tmp_path: Path, payload: str | None, more: list[str], says: str
) -> None:
    file = tmp_path / "case.json"
    if payload is not None:
        file.write_text(payload, encoding="utf-8")
    words = ["trigger", "kyc.onboarding", str(file), "--ref", "1", "--edge", office.edge.url]
    words += ["--caller", "onboarding-portal", *more]
    assert is_one_sentence(await command(*words, env=office.env), says)


async def test_a_trigger_by_a_caller_without_secret_is_a_wrong_use(office: Office, tmp_path: Path) -> None:
    words = ["trigger", "kyc.onboarding", str(tmp_path / "x"), "--ref", "1", "--caller", "nobody"]
    finished = await command(*words, env=office.env)
    assert finished.code == 2
    assert "COUNTERSIGN_CALLERS has no secret for nobody" in finished.err


async def test_definitions_are_listed_and_problems_have_their_place(tmp_path: Path) -> None:
    listed = await command("definitions", "check", env={})
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == [
        "access-request",
        "incident-triage",
        "kyc-escalated",
        "kyc-onboarding",
        "kyc-subsidiary",
    ]
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks/wrong.yaml").write_text("name: wrong\n", encoding="utf-8")
    packs = json.dumps([*map(str, Settings().packs), str(tmp_path)])
    broken = await command("definitions", "check", env={"COUNTERSIGN_PACKS": packs})
    assert broken.code == 1
    assert "wrong.yaml:1: " in broken.out


async def test_a_database_is_migrated_once_and_not_by_an_older_program(postgres: str) -> None:
    with database(postgres, "cli_empty", template="template0") as dsn:
        env = {"COUNTERSIGN_DATABASE_URL": dsn}
        first, again = await command("migrate", env=env), await command("migrate", "--json", env=env)
        assert (first.code, again.code) == (0, 0)
        assert first.out == f"at migration {json.loads(again.out)['migration']}\n"
        rows(dsn, "UPDATE alembic_version SET version_num = '9999' RETURNING version_num")
        assert is_one_sentence(await command("migrate", env=env), "the database belongs to a newer program")


@pytest.mark.parametrize(
    "words", [["migrate"], ["evidence", "list"], ["cancel", "run_0", "--reason", "x", "--as", "omar"]]
)
async def test_a_database_that_is_away_is_one_sentence(office: Office, words: list[str]) -> None:
    env = {**office.env, "COUNTERSIGN_DATABASE_URL": f"postgresql://u:{CANARY}@127.0.0.1:1/x"}
    finished = await command(*words, env=env)
    assert is_one_sentence(finished, "the database cannot be used: connection failed")
    assert CANARY not in finished.err


@pytest.mark.parametrize("words", [["evidence", "list"], ["evidence", "get", "run_0", "--as", "omar"]])
async def test_a_database_that_was_not_migrated_is_one_sentence(postgres: str, words: list[str]) -> None:
    with database(postgres, "cli_not_migrated", template="template0") as dsn:
        finished = await command(*words, env={"COUNTERSIGN_DATABASE_URL": dsn})
    assert is_one_sentence(finished, "the database is not at the migration that this program needs")
    assert finished.err.endswith("run `countersign migrate`\n")


async def test_wrong_settings_are_one_sentence_and_show_no_secret() -> None:
    env = {"COUNTERSIGN_CALLERS": json.dumps({"portal": CANARY}), "COUNTERSIGN_SLACK_TOKEN": CANARY}
    for words in (["config"], ["serve"], ["doctor"]):
        finished = await command(*words, env=env)
        assert is_one_sentence(finished, "COUNTERSIGN_SLACK_TOKEN: there is no such setting")
        assert CANARY not in finished.err + finished.out


async def test_a_database_whose_password_is_not_encoded_is_one_sentence_and_shows_no_part_of_it() -> None:
    env = {"COUNTERSIGN_DATABASE_URL": f"postgresql://u:{CANARY} {CANARY}@127.0.0.1:1/x"}
    for words in (["doctor"], ["serve"], ["migrate"]):
        finished = await command(*words, env=env)
        assert is_one_sentence(finished, "COUNTERSIGN_DATABASE_URL: holds a space")
        assert CANARY not in finished.err + finished.out


async def test_config_says_what_holds_and_where_from_without_secrets(office: Office) -> None:
    finished = await command("config", env={**office.env, "COUNTERSIGN_SLACK_APP_TOKEN": CANARY})
    assert finished.code == 0
    assert "COUNTERSIGN_SLACK_APP_TOKEN = ********\n    xapp-…, for Socket Mode; from the environment\n" in finished.out
    assert "COUNTERSIGN_TENANT = acme\n    the tenant that this process serves; from its default\n" in finished.out
    assert CANARY not in finished.out


async def test_commands_use_the_system_that_runs_in_their_home_unless_told_otherwise(
    office: Office, tmp_path: Path
) -> None:
    home = {"COUNTERSIGN_HOME": str(tmp_path)}
    with locked_home(tmp_path), announced(tmp_path, office.env, {}):
        assert (await command("evidence", "list", env=home)).code == 0
        other = {**home, "COUNTERSIGN_DATABASE_URL": "postgresql://127.0.0.1:1/x"}
        assert is_one_sentence(await command("evidence", "list", env=other), "the database cannot be used")
    assert is_one_sentence(await command("evidence", "list", env=home), "nothing runs here")


async def test_what_a_killed_up_left_behind_is_not_followed(office: Office, tmp_path: Path) -> None:
    write_private(tmp_path / "running.json", json.dumps({"env": office.env, "standins": {}}))
    listed = await command("evidence", "list", env={"COUNTERSIGN_HOME": str(tmp_path)})
    assert is_one_sentence(listed, f"nothing runs here, in {tmp_path}: start `countersign up`, or set COUNTERSIGN_DA")


async def test_a_role_that_is_not_there_is_a_wrong_use() -> None:
    finished = await command("serve", "--role", "boss", env={})
    assert finished.code == 2
    assert "no role boss; there are edge, bot, worker, sweeps" in finished.err


async def test_embedded_mode_refuses_parts_that_it_would_leave_unused(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url="postgresql://127.0.0.1:1/x", s3_bucket="evidence")
    with pytest.raises(EmbeddedError, match="COUNTERSIGN_DATABASE_URL, COUNTERSIGN_S3_BUCKET: set, but"):
        async with embedded(settings, Ports.tried("127.0.0.1", 0, 0), Supervisor()):
            raise AssertionError("it started")
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_others_can_read_or_that_sets_more_than_settings_is_not_followed(
    office: Office, tmp_path: Path
) -> None:
    file, home = tmp_path / "running.json", {"COUNTERSIGN_HOME": str(tmp_path)}
    with locked_home(tmp_path):
        file.write_text(json.dumps({"env": office.env, "standins": {}}), encoding="utf-8")
        file.chmod(0o644)
        refused = await command("evidence", "list", env=home)
        assert is_one_sentence(refused, f"{file} is not a file that its owner, you, alone can read")
        more = {**office.env, "PYTHONPATH": "/nowhere", "LD_PRELOAD": "evil.so"}
        write_private(file, json.dumps({"env": more, "standins": {}}))
        assert (await command("evidence", "list", env=home)).code == 0


@pytest.mark.parametrize("words", [("config",), ("serve", "--role", "boss")])
async def test_a_forked_program_ends_and_speaks_as_one_that_was_started_anew(words: tuple[str, ...]) -> None:
    env = {"COUNTERSIGN_SLACK_APP_TOKEN": CANARY}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "countersign", *words),
        env={**inherited, **env},
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    assert await command(*words, env=env) == Finished(process.returncode, out.decode(), err.decode())

"""The directory has a version: what a newer one took away, an older file does not give back."""

from pathlib import Path
from typing import Any

import pytest
from psycopg import connect
from psycopg.rows import dict_row

from countersign.directory import DirectoryError
from countersign.doctor.database import file as check_file
from countersign.embedded.opa import OpaChild
from countersign.loaded_files import load_people
from countersign.settings import Settings
from receipts.canonical import digest
from runtime.store.audit import tenant_rows
from tests.integration.program_stage import command, environment, program, rows, serving, settings_of
from tests.logins import as_directory, as_program


class Files:
    """Directory files, of an officer who is in a group or no longer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, version: int | None, groups: str) -> Path:
        """Write a file; without a version if it is None."""
        path = self._folder / f"{version}-{groups or 'nothing'}.yaml"
        line = "" if version is None else f"version: {version}\n"
        path.write_text(f"{line}people:\n- {{id: anna, name: Anna, groups: [{groups}]}}\n", encoding="utf-8")
        return path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def groups(dsn: str, tenant: str = "acme") -> list[Any]:
    """Return the groups that Anna is in."""
    return [row["groups"] for row in rows(dsn, "SELECT groups FROM actors WHERE tenant = %s", tenant)]


async def load(dsn: str, file: Path, tenant: str = "acme") -> str:
    """Load a file as `countersign people load` does; return why it is refused, or nothing."""
    try:
        await load_people(Settings(directory_database_url=as_directory(dsn), tenant=tenant), file)
    except DirectoryError as error:
        return str(error)
    return ""


async def test_an_older_directory_does_not_give_back_what_a_newer_one_took_away(dsn: str, files: Files) -> None:
    old, new = files.write(4, "compliance"), files.write(5, "")
    assert (await load(dsn, old), await load(dsn, new)) == ("", "")
    assert await load(dsn, old) == f"{old} is not loaded: it is version 4, and version 5 is loaded"
    assert groups(dsn) == [[]]


async def test_the_command_says_what_it_loaded_or_why_not(dsn: str, files: Files) -> None:
    env = {"COUNTERSIGN_DIRECTORY_DATABASE_URL": as_directory(dsn)}
    done = await command("people", "load", str(files.write(2, "compliance")), env=env)
    assert (done.code, done.out) == (0, "version 2: 1 person, 0 agents\n")
    refused = await command("people", "load", str(old := files.write(1, "")), env=env)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"countersign: {old} is not loaded: it is version 1, and version 2 is loaded\n"


async def test_a_version_means_one_thing(dsn: str, files: Files) -> None:
    first, other = files.write(1, "compliance"), files.write(1, "operators")
    assert (await load(dsn, first), await load(dsn, first)) == ("", "")
    refused = await load(dsn, other)
    assert refused.endswith("it is version 1, which is loaded and says something else: give it version 2")
    assert groups(dsn) == [["compliance"]]


async def test_files_without_a_version_go_on_until_one_has_it(dsn: str, files: Files) -> None:
    for name in ("compliance", "operators"):
        assert await load(dsn, files.write(None, name)) == ""
        assert groups(dsn) == [[name]]
    assert await load(dsn, files.write(1, "")) == ""
    assert (await load(dsn, files.write(None, "compliance"))).endswith("it is version 0, and version 1 is loaded")
    assert groups(dsn) == [[]]


async def test_each_tenant_has_a_version_of_its_own(dsn: str, files: Files) -> None:
    assert await load(dsn, files.write(7, "compliance")) == ""
    assert await load(dsn, files.write(1, "operators"), "globex") == ""
    assert (groups(dsn), groups(dsn, "globex")) == ([["compliance"]], [["operators"]])


async def test_only_the_edge_looks_at_the_file_and_refuses_to_start_on_an_old_one(
    dsn: str, files: Files, opa: OpaChild, tmp_path: Path
) -> None:
    old = files.write(1, "compliance")
    assert await load(dsn, files.write(2, "")) == ""
    env = environment(settings_of(dsn, opa.url, tmp_path, port=0, directory=old))
    async with program("serve", "--role=worker", "--role=sweeps", "--role=bot", env=env) as running:
        await running.said("serving: ")
        running.process.terminate()
        assert await running.ended() == 0
    refused = await command("serve", "--role=edge", env=env)
    assert refused.err.endswith(f"countersign: {old} is not loaded: it is version 1, and version 2 is loaded\n")
    assert groups(dsn) == [[]]


async def test_the_edge_starts_on_the_directory_that_is_loaded_alone_and_loads_none(
    dsn: str, files: Files, opa: OpaChild, tmp_path: Path
) -> None:
    async def refused(file: Path) -> str:
        env = environment(settings_of(dsn, opa.url, tmp_path, port=0, directory=file))
        finished = await command("serve", "--role=edge", env=env)
        assert (finished.code, groups(dsn)) in ((1, []), (1, [["operators"]]))
        return finished.err.splitlines()[-1]

    first, other, second = files.write(1, "operators"), files.write(1, "compliance"), files.write(2, "compliance")
    load_it = "; load it: `countersign people load"
    none_yet = f"countersign: {first} is not loaded: it is version 1, and none is loaded{load_it} {first}`"
    assert await refused(first) == none_yet
    assert await load(dsn, first) == ""
    later = f"countersign: {second} is not loaded: it is version 2, and version 1 is loaded{load_it} {second}`"
    assert await refused(second) == later
    assert (await refused(other)).endswith("which is loaded and says something else: give it version 2")
    async with serving(settings_of(dsn, opa.url, tmp_path, port=0, directory=first), "edge") as (running, _):
        running.process.terminate()
        assert await running.ended() == 0


async def test_the_programs_login_loads_no_directory(dsn: str, files: Files) -> None:
    env = {"COUNTERSIGN_DIRECTORY_DATABASE_URL": as_program(dsn)}
    refused = await command("people", "load", str(files.write(1, "compliance")), env=env)
    assert (refused.code, refused.out, groups(dsn)) == (1, "", [])
    assert refused.err == (
        "countersign: COUNTERSIGN_DIRECTORY_DATABASE_URL: its login may not load the directory;"
        " log in as a member of countersign_directory (permission denied for table directories)\n"
    )


async def test_a_tenant_on_mocks_stays_that_when_its_directory_is_loaded_first(
    dsn: str, files: Files, tmp_path: Path
) -> None:
    settings = Settings(directory_database_url=as_directory(dsn), overlay=tmp_path / "overlay.yaml")
    await load_people(settings, files.write(1, "compliance"))
    assert rows(dsn, "SELECT mocked FROM tenants WHERE tenant = 'acme'") == [{"mocked": True}]


async def test_the_doctor_says_where_file_and_database_differ(dsn: str, files: Files) -> None:
    async def said(file: Path | None) -> tuple[bool, str]:
        [fact] = await check_file(Settings(database_url=dsn, directory=file))
        return fact.ok, fact.detail

    first, second = files.write(1, "compliance"), files.write(2, "")
    assert await said(first) == (False, "version 1: 1 person, 0 agents; but none is loaded")
    await load(dsn, second)
    assert await said(first) == (False, "version 1: 1 person, 0 agents; but version 2 is loaded")
    assert await said(second) == (True, "version 2: 1 person, 0 agents")
    ok, detail = await said(files.write(2, "operators"))
    assert (ok, detail.partition("; ")[2]) == (False, "but version 2 is loaded and says something else")
    assert await said(None) == (True, "none here; version 2 is loaded")


async def test_how_people_are_told_is_loaded_with_them_and_part_of_what_is_on_record(dsn: str, files: Files) -> None:
    plain = files.write(1, "compliance")
    said = plain.read_text(encoding="utf-8").replace("version: 1", "version: 2")
    hours = "quiet_hours: [{days: [sat, sun]}]"
    notices = f"notices: {{timezone: Europe/Zurich, per_hour: 9, {hours}, remind: {{first: PT4H, at_most: 3}}}}\n"
    told = plain.with_name("told.yaml")
    told.write_text(said + "- {id: ben, name: Ben, timezone: Asia/Tokyo}\n" + notices, encoding="utf-8")
    assert (await load(dsn, plain), await load(dsn, told)) == ("", "")
    found = rows(dsn, "SELECT actor_id, notices FROM actors WHERE tenant = 'acme' ORDER BY actor_id")
    quiet = [{"days": ["sat", "sun"], "from": "00:00", "until": "24:00"}]
    both = {"quiet_hours": quiet, "passes": [], "per_hour": 9}
    assert [row["notices"] for row in found] == [{"timezone": zone, **both} for zone in ("Europe/Zurich", "Asia/Tokyo")]
    [settings] = rows(dsn, "SELECT remind FROM directories WHERE tenant = 'acme'")
    assert settings["remind"] == {"first": 14400, "factor": 1, "at_most": 3}
    leaves = rows(dsn, "SELECT leaf->'data' AS said FROM tenant_leaves WHERE leaf->>'event' = 'directory.loaded'")
    with connect(dsn, row_factory=dict_row) as conn, conn.transaction():
        records = tenant_rows(conn, "acme").records
        assert records["directory"] == digest(leaves[-1]["said"])
        conn.execute("""UPDATE actors SET notices = '{}' WHERE actor_id = 'ben'""")
        assert tenant_rows(conn, "acme").records["directory"] != records["directory"], "an audit finds what was changed"

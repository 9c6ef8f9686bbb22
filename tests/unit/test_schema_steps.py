"""The lock file of the steps: a step may change with its line until its release is out, and never from then on."""

import re
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from runtime.store.database.schema_state import NEWEST, UNRELEASED
from runtime.store.schema import steps
from tools.schema import LOCK, FrozenError, Step, digests, is_frozen, lock, project_version, read_lock

KNOWN = {"0001": Step("0.2.0", "a" * 64)}


def test_every_step_is_the_one_in_the_lock_file() -> None:
    known = read_lock(LOCK.read_text(encoding="utf-8"))
    assert lock(known, digests(), project_version()) == known, "a step changed: run `python -m tools.schema`"


def test_a_step_may_change_before_its_release() -> None:
    assert lock(KNOWN, {"0001": "b" * 64}, "0.1.0") == {"0001": Step("0.2.0", "b" * 64)}


@pytest.mark.parametrize("version", ["0.2.0", "0.2.1", "0.10.0", "1.0.0"])
@pytest.mark.parametrize("found", [{"0001": "b" * 64}, {}])
def test_a_step_never_changes_from_its_release_on(version: str, found: dict[str, str]) -> None:
    with pytest.raises(FrozenError, match=r"step 0001 was released with 0\.2\.0 and never changes: add a new step"):
        lock(KNOWN, found, version)


def test_a_new_step_is_frozen_by_the_next_release() -> None:
    found = {"0001": "a" * 64, "0003": "c" * 64}
    assert lock(KNOWN, found, "0.2.0") == {**KNOWN, "0003": Step("0.3.0", "c" * 64)}
    assert not is_frozen(Step("0.3.0", "c" * 64), "0.2.9")


def test_the_digest_is_of_names_order_and_texts_of_all_sql_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "VERSIONS", tmp_path)
    seen: set[str] = set()
    for files in (
        {"1.sql": "ab"},
        {"1.sql": "abc"},
        {"2.sql": "ab"},
        {"1.sql": "a", "2.sql": "b"},
        {"1.sql": "b", "2.sql": "a"},
    ):
        folder = tmp_path / str(len(seen))
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "README").write_text("no part of it", encoding="utf-8")
        seen.add(digests()[folder.name])
    assert len(seen) == 5


def test_steps_follow_each_other_and_the_last_is_what_the_program_needs() -> None:
    config = Config()
    config.set_main_option("script_location", str(steps.VERSIONS.parent))
    config.set_main_option("path_separator", "os")
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert found[::-1] == [*digests()]
    assert found[0] == NEWEST


def test_no_step_has_a_number_that_an_unreleased_version_used() -> None:
    assert not UNRELEASED & digests().keys()


def test_the_first_step_makes_everything_directly() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in steps.files("0001"))
    statements = set(re.findall(r"^([A-Z]+)\b", text, re.MULTILINE)) - {"DECLARE", "BEGIN", "END"}
    # where a function looks for tables and who may call it is said behind CREATE
    assert statements == {"CREATE", "DO", "REVOKE"}

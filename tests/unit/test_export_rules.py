"""Each rule of an export has its sentence in docs/evidence-format.md, and something that breaks it here."""

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from os import mkfifo
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from evidence.export.index import csv_of
from evidence.export.refused_table import REFUSED_COLUMNS
from evidence.export.verify import FIRST_RULES, RULES, ExportFault, ExportReport, verify_export
from evidence.statement import PAYLOAD_TYPE
from evidence.verify.judgement import Standing
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.checkpoint import LogKeys
from receipts.note import VerifierKey
from receipts.register import Register, entry, revoked, succeeded
from receipts.signing import sign_envelope
from tests.unit.export_sample import HEAD, LOG, MADE_AT, OPEN, Sample, refused, run, sealed, votes
from tests.unit.log_sample import key_of, signer, vkey, witness_key

FORMAT = Path(__file__).parents[2] / "docs/evidence-format.md"
SENTENCES = {**FIRST_RULES, **{rule.name: rule.sentence for rule in RULES}}
KEY = key_of(1)
TRUST = Trust(KEY.public)


def verified(
    tmp_path: Path, sample: Sample, trust: Trust = TRUST, meddle: Callable[[Path], object] | None = None
) -> Any:
    folder = tmp_path / "export"
    sample.write(folder)
    if meddle:
        meddle(folder)
    return verify_export(folder, trust)


def log_key(*keys: VerifierKey) -> Trust:
    return Trust(KEY.public, log=LogKeys(keys))


def test_a_genuine_export_holds_by_every_rule(tmp_path: Path) -> None:
    report = verified(tmp_path, Sample(refused=[refused(5), refused(17)]), log_key(vkey(LOG)))
    assert isinstance(report, ExportReport)
    assert {passed.rule for passed in report.rules} == set(SENTENCES) - {"export.read"}
    assert {passed.rule: passed.found for passed in report.rules}["export.sealed"] == "1 bundle, 2 runs without"
    assert (report.index.counts.votes, report.index.counts.refused) == (2, 2)


def test_an_export_without_bundles_and_without_a_log_holds(tmp_path: Path) -> None:
    sample = Sample(index={"has_bundles": False}, checkpoint=None)
    report = verified(tmp_path, sample, meddle=lambda folder: rmtree(folder / "bundles"))
    assert isinstance(report, ExportReport)


def test_an_export_as_release_0_2_0_made_them_holds_and_tells_of_no_refused_attempts(tmp_path: Path) -> None:
    report = verified(tmp_path, Sample(refused=None))
    assert isinstance(report, ExportReport)
    told = (tmp_path / "export/index.json").read_text(), (tmp_path / "export/statement.dsse.json").read_bytes()
    assert ("refused" in told[0], b"period-evidence:v1" in base64.b64decode(canonical.loads(told[1])["payload"])) == (
        *(False, True),
    )
    found = {passed.rule: passed.found for passed in report.rules}["export.refused"]
    assert found == "not part of an export of format 1, as release 0.2.0 made them"


def test_an_export_from_before_the_release_is_refused_by_name(tmp_path: Path) -> None:
    def earlier(folder: Path) -> None:
        file = folder / "statement.dsse.json"
        statement = canonical.loads(base64.b64decode(canonical.loads(file.read_bytes())["payload"]))
        statement["predicateType"] = "urn:countersign:evidence-export:v1"
        file.write_bytes(sign_envelope(PAYLOAD_TYPE, canonical.dumps(statement), KEY))

    fault = verified(tmp_path, Sample(), meddle=earlier)
    assert isinstance(fault, ExportFault)
    what = "this export was written before release 0.2.0 (format 1); this program does not read it"
    assert (fault.rule, fault.file, fault.what) == ("export.signed", "", what)


def test_an_export_with_bundles_has_their_exceptions(tmp_path: Path) -> None:
    sample = Sample()
    assert isinstance(verified(tmp_path, sample), ExportReport)
    table = (tmp_path / "export/exceptions.csv").read_text()
    assert "Opening was not recorded for 2 of 2 votes, so quick voting is not checked there." in table


def test_an_export_without_bundles_claims_no_exceptions(tmp_path: Path) -> None:
    sample = Sample(index={"has_bundles": False}, checkpoint=None, signed={"exceptions.csv": b"at\r\n"})
    found = verified(tmp_path, sample, meddle=lambda folder: rmtree(folder / "bundles"))
    assert (found.rule, found.what) == ("export.exceptions", "is there, without bundles")


def write(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).rename(folder.parent / "gone")


def swap_for_folder(folder: Path) -> None:
    remove("statement.dsse.json")(folder)
    (folder / "statement.dsse.json").mkdir()


def swap_for_pipe(name: str) -> Callable[[Path], object]:
    def swap(folder: Path) -> None:
        remove(name)(folder)
        mkfifo(folder / name)

    return swap


CHANGED: dict[str, tuple[Callable[[Path], object], str, str, Standing]] = {
    "no statement": (remove("statement.dsse.json"), "export.read", "statement.dsse.json", Standing.UNREAD),
    "a statement that is a folder": (swap_for_folder, "export.read", "statement.dsse.json", Standing.UNREAD),
    "no envelope": (write("statement.dsse.json", b"{}"), "export.signed", "statement.dsse.json", Standing.UNSIGNED),
    "an endless statement": (
        *(write("statement.dsse.json", b"x" * 2_000_000), "export.signed", "statement.dsse.json", Standing.UNSIGNED),
    ),
    "a payload of another type": (
        write("statement.dsse.json", sign_envelope("text/plain", b"{}", KEY)),
        *("export.signed", "statement.dsse.json", Standing.BROKEN),
    ),
    "no statement inside": (
        write("statement.dsse.json", sign_envelope(PAYLOAD_TYPE, b"{}", KEY)),
        *("export.signed", "statement.dsse.json", Standing.BROKEN),
    ),
    "a changed index": (write("index.json", b"{}"), "export.files", "index.json", Standing.BROKEN),
    "a changed table": (write("approvals.csv", b"at\r\n"), "export.files", "approvals.csv", Standing.BROKEN),
    "no table": (remove("runs.csv"), "export.files", "runs.csv", Standing.BROKEN),
    "a table without an end": (swap_for_pipe("runs.csv"), "export.read", "runs.csv", Standing.UNREAD),
    "a bundle without an end": (
        swap_for_pipe("bundles/run-1.zip"),
        "export.read",
        "bundles/run-1.zip",
        Standing.UNREAD,
    ),
    "a file too many": (write("notes.txt", b""), "export.files", "notes.txt", Standing.BROKEN),
    "a missing bundle": (remove("bundles/run-1.zip"), "export.bundles", "bundles/run-1.zip", Standing.BROKEN),
    "another bundle": (write("bundles/run-1.zip", b"x"), "export.bundles", "bundles/run-1.zip", Standing.BROKEN),
    "a bundle too many": (write("bundles/run_9.zip", b"x"), "export.bundles", "bundles/run_9.zip", Standing.BROKEN),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_was_changed_after_it_was_signed_is_found(tmp_path: Path, name: str) -> None:
    meddle, rule, file, standing = CHANGED[name]
    found = verified(tmp_path, Sample(), meddle=meddle)
    assert (found.rule, found.file, found.standing) == (rule, file, standing)
    assert found.sentence().startswith(f"{rule}: {file}: ")


BY_STATE = {"sealed": 1, "unsealed": 1, "open": 1}
COUNTS = {"runs": 3, "by_state": BY_STATE, "by_outcome": {"succeeded": 2, "waiting": 1}, "votes": 3, "refused": 0}
FORMULA = csv_of(REFUSED_COLUMNS, [refused()]).replace(b"slack:T1", b"=lack:T1")
OLD = {name: number for name, number in {**COUNTS, "votes": 2}.items() if name != "refused"}
EARLY = {"made_at": "2026-01-31T09:09:59.999999Z"}
EARLIER = {"made_at": "2026-01-31T09:08:59.999999Z"}
ENDED = {"log": {"size": 120, "runs": 4, "until": "2026-01-31T09:00:00.000000Z", "findings": []}}
TOLD: dict[str, tuple[Sample, str]] = {
    "of a tenant that the index does not name": (Sample(predicate={"tenant": "other"}), "export.index"),
    "an index out of its form": (Sample(index={"by": 7}), "export.index"),
    "a day that there is not": (
        *(Sample(index={"last_day": "2026-02-30"}, predicate={"last_day": "2026-02-30"}), "export.runs"),
    ),
    "runs out of order": (Sample([run(2), run(1)]), "export.runs"),
    "a run twice at one moment": (Sample([run(1), run(1)]), "export.runs"),
    "a run twice": (Sample([run(1), run(1, created_at=run(2)["created_at"])]), "export.runs"),
    "a run of another day": (Sample([run(1, created_at="2025-12-31T23:59:59.999999Z")]), "export.runs"),
    "a run after the last day": (Sample([run(1, created_at="2026-04-01T00:00:00.000000Z")]), "export.runs"),
    "sealed without a digest": (Sample([sealed(sha256=None)]), "export.sealed"),
    "open with a digest": (Sample([run(1, **{**OPEN, "sha256": "0" * 64})]), "export.sealed"),
    "open without a reason": (Sample([run(1, **{**OPEN, "why": ""})]), "export.sealed"),
    "counts that do not add up": (
        *(
            Sample(index={"counts": {**COUNTS, "votes": 3}}, predicate={"counts": {**COUNTS, "votes": 3}}),
            "export.counts",
        ),
    ),
    "votes that are no table": (Sample(signed={"approvals.csv": b'a\r\n"x'}), "export.counts"),
    "votes out of order": (Sample(votes=votes()[::-1]), "export.votes"),
    "a vote of another day": (Sample(votes=votes(at="2025-12-31T23:59:59.999999Z")), "export.votes"),
    "a vote of a run that is not listed": (Sample(votes=votes(run_id="run_9")), "export.votes"),
    "a vote that says another reference": (Sample(votes=votes(reference="case-9")), "export.votes"),
    "a run of another day without a vote": (
        *(Sample(index={"voted": [run(9, created_at="2025-12-31T23:59:59.999999Z")]}), "export.votes"),
    ),
    "a run of one of the days as of another": (Sample(index={"voted": [run(9)]}), "export.runs"),
    "made before what it tells": (Sample(index={**EARLIER, **ENDED}, predicate=EARLIER), "export.in-time"),
    "made before the end of a bundle": (Sample(index={**EARLY, **ENDED}, predicate=EARLY), "export.derived"),
    "another outcome than its bundle": (Sample([run(1), run(2, **OPEN), sealed(outcome="done")]), "export.derived"),
    "no more leaves than its bundle": (Sample([run(1), run(2, **OPEN), sealed(leaves=22)]), "export.derived"),
    "another reason than its bundle": (Sample(votes=votes(reason="seen")), "export.derived"),
    "a vote that its bundle does not have": (Sample(votes=votes(person="eve")), "export.derived"),
    "a vote less than its bundle": (Sample(votes=votes()[1:]), "export.derived"),
    "refused attempts of format 2 left out": (
        Sample(index={"counts": OLD}, predicate={"counts": OLD}),
        "export.counts",
    ),
    "refused attempts in format 1": (Sample(refused=None, signed={"refused.csv": b"at\r\n"}), "export.refused"),
    "refused attempts that are no table": (Sample(signed={"refused.csv": b"at\r\n"}), "export.refused"),
    "refused attempts out of order": (Sample(refused=[refused(6), refused(5)]), "export.refused"),
    "a refused attempt twice": (Sample(refused=[refused(5), refused(5)]), "export.refused"),
    "a refused attempt of another day": (
        *(Sample(refused=[refused(at="2025-12-31T23:59:59.999999Z")]), "export.refused"),
    ),
    "a refused attempt of no such kind": (Sample(refused=[refused(event="run.queued")]), "export.refused"),
    "a refused attempt that says nothing": (Sample(refused=[refused(data="{}")]), "export.refused"),
    "a refused attempt in no JSON": (Sample(refused=[refused(data="{")]), "export.refused"),
    "a refused attempt counted twice": (Sample(refused=[refused(count=2)]), "export.refused"),
    "a refused attempt without a leaf": (Sample(refused=[refused() | {"leaf": "first"}]), "export.refused"),
    "a refused attempt of a leaf written otherwise": (Sample(refused=[refused() | {"leaf": "05"}]), "export.refused"),
    "a refused attempt as a formula": (Sample(refused=[refused()], signed={"refused.csv": FORMULA}), "export.refused"),
    "a refused attempt after the export": (
        *(Sample(refused=[refused()], index={**EARLIER, **ENDED}, predicate=EARLIER), "export.in-time"),
    ),
    "a table that says something else": (Sample(signed={"runs.csv": b"run_id\r\n"}), "export.sheet"),
    "bundles that it should not have": (Sample(index={"has_bundles": False}), "export.bundles"),
    "exceptions left out": (Sample(signed={"exceptions.csv": b"at\r\n"}), "export.exceptions"),
    "a log that did not hold": (Sample(log={"findings": ["run.missing: run_4"]}), "export.log"),
    "a checkpoint larger than the log": (Sample(log={"size": HEAD.size - 1}), "export.log"),
    "no checkpoint": (Sample(signed={"checkpoint.txt": b"nothing"}), "export.log"),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_whoever_signs_it_tells_wrong_is_found(tmp_path: Path, name: str) -> None:
    sample, rule = TOLD[name]
    found = verified(tmp_path, sample)
    assert isinstance(found, ExportFault)
    assert (found.rule, found.standing) == (rule, Standing.BROKEN)


def test_another_key_signed_it(tmp_path: Path) -> None:
    found = verified(tmp_path, Sample(key=key_of(2)))
    assert (found.rule, found.standing) == ("export.signed", Standing.UNSIGNED)


def test_a_statement_names_the_key_that_signed(tmp_path: Path) -> None:
    found = verified(tmp_path, Sample(predicate={"key_id": "0" * 64}))
    assert (found.rule, found.standing) == ("export.signed", Standing.BROKEN)


def test_a_folder_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    found = verify_export(tmp_path / "nowhere", TRUST)
    assert isinstance(found, ExportFault)
    assert (found.rule, found.standing) == ("export.read", Standing.UNREAD)


def test_a_key_counts_from_its_first_day_until_it_is_revoked(tmp_path: Path) -> None:
    made, new = datetime.fromisoformat(MADE_AT).astimezone(UTC), key_of(2)
    register = succeeded([entry(KEY.public, made.replace(year=2025))], new, made.replace(month=5))
    trust = Trust(new.public, Register(keys=list(register)))
    assert isinstance(verified(tmp_path, Sample(), trust), ExportReport)
    gone = revoked(register, KEY.public.key_id, new, made.replace(month=3), "stolen")
    found = verify_export(tmp_path / "export", replace(trust, register=Register(keys=list(gone))))
    assert isinstance(found, ExportFault)
    assert (found.rule, "revoked" in found.what) == ("export.key-counted", True)


def test_the_checkpoint_is_signed_by_the_log_whose_key_is_given(tmp_path: Path) -> None:
    other = log_key(vkey(signer("countersign/acme", 8)))
    assert verified(tmp_path, Sample(), other).rule == "export.log"


def test_the_checkpoint_is_there_where_the_logs_key_is_given(tmp_path: Path) -> None:
    assert verified(tmp_path, Sample(checkpoint=None), log_key(vkey(LOG))).rule == "export.log"


def test_as_many_witnesses_cosigned_as_are_asked_for(tmp_path: Path) -> None:
    witness = signer("witness.example/w", 9)
    trust = replace(log_key(vkey(LOG)), witnesses=(witness_key(witness),), witnessed=1)
    assert verified(tmp_path, Sample(), trust).rule == "export.witnessed"
    assert isinstance(verify_export(tmp_path / "export", replace(trust, witnessed=0)), ExportReport)


def test_the_page_has_each_rule_with_its_sentence_and_no_other() -> None:
    section = FORMAT.read_text().split("## Exports")[1].split("\n## ")[0]
    found = re.findall(r"^- `(export\.[a-z-]+)`: (.*(?:\n  .*)*)", section, re.MULTILINE)
    assert {name: " ".join(sentence.split()) for name, sentence in found} == SENTENCES


@pytest.mark.parametrize("name", SENTENCES)
def test_a_bend_breaks_every_rule(name: str) -> None:
    bends = (Path(__file__).with_name(f"test_export_{part}.py") for part in ("rules", "complete", "refused"))
    assert any(f'"{name}"' in path.read_text() for path in bends)

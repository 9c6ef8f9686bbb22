"""Sealing: the same bytes every time, names that data cannot bend, and texts that data cannot break out of."""

import dataclasses
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from evidence.build import Dossier, DossierError, build
from evidence.reading.timeline import first_code
from evidence.verify.verify import verify
from evidence.zipform import unpack
from receipts import canonical
from tests.unit.evidence_sample import POLICY, QUEUED, Office, Story, rewrite, story


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def members_of(office: Office, dossier: Dossier) -> dict[str, bytes]:
    with office.seal(dossier).open("rb") as stream:
        return unpack(stream).members


def test_same_run_sealed_twice_gives_the_same_bytes(office: Office) -> None:
    first, second = build(story().dossier(), office.key), build(story().dossier(), office.key)
    assert first == second
    assert first.sha256 == hashlib.sha256(first.data).hexdigest()


def test_order_in_which_records_are_handed_in_does_not_matter(office: Office) -> None:
    dossier = story().dossier()
    assert dossier.run is not None
    shuffled = dataclasses.replace(
        dossier,
        decisions=random.Random(1).sample(dossier.decisions, len(dossier.decisions)),  # noqa: S311 - no secret
        receipts=list(reversed(dossier.receipts)),
        run=dict(reversed(list(dossier.run.items()))),
    )
    assert build(shuffled, office.key) == build(dossier, office.key)


def test_members_are_those_of_the_format(office: Office) -> None:
    policy = f"policies/{canonical.digest(POLICY)}"
    assert list(members_of(office, story().dossier())) == [
        "README.md",
        "approvals/a-1.json",
        "audit.jsonl",
        "decisions/00001-d-1.json",
        "decisions/00002-d-2.json",
        "decisions/00003-d-3.json",
        "definition.json",
        f"{policy}/data.json",
        f"{policy}/effect/decision.rego",
        "receipts/00001-r-2.json",
        "receipts/00002-r-3.json",
        "run.json",
        "statement.dsse.json",
        "timeline.md",
    ]


def test_sha256sum_of_a_record_is_the_digest_in_the_chain(office: Office) -> None:
    members = members_of(office, story().dossier())
    leaves = [json.loads(line) for line in members["audit.jsonl"].splitlines()]
    named = [leaf["data"]["digest"] for leaf in leaves if leaf["event"] == "receipt.written"]
    files = [data for name, data in members.items() if name.startswith("receipts/")]
    assert named == [hashlib.sha256(data).hexdigest() for data in files]


def test_securesystemslib_and_the_standard_library_alone_confirm_the_bundle(office: Office) -> None:
    members = members_of(office, story().dossier())
    envelope = Envelope.from_dict(json.loads(members.pop("statement.dsse.json")))
    key = office.key.public
    assert list(envelope.verify([SSlibKey.from_crypto(key.key, keyid=key.key_id)], 1)) == [key.key_id]
    assert envelope.payload_type == "application/vnd.in-toto+json"
    statement = json.loads(envelope.payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    signed = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert signed == {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}


def test_record_that_the_chain_does_not_name_is_sealed_too(office: Office) -> None:
    told = story()
    told.receipts["r-9"] = told.receipts["r-2"] | {"receipt_id": "r-9"}
    assert "receipts/00003-r-9.json" in members_of(office, told.dossier())


def with_policy_file(name: str) -> Story:
    told = story()
    told.policies[canonical.digest(POLICY)][name] = "x"
    return told


def with_id(folder: str, record: str, key: str, value: Any) -> Story:
    told = story()
    getattr(told, folder)[record][key] = value
    return told


UNSAFE: list[tuple[str, Story]] = [
    *((f"policy file {name!r}", with_policy_file(name)) for name in ("../x", "/x", "a/../x", "a\\x", "", "x/", ".x")),
    *((f"approval {name!r}", with_id("approvals", "a-1", "id", name)) for name in ("../x", "a/b", "", "a b", 1, None)),
    *((f"decision {name!r}", with_id("decisions", "d-1", "id", name)) for name in ("../x", "x" * 129, "é", "a.b")),
    ("receipt '../x'", with_id("receipts", "r-2", "receipt_id", "../x")),
]


@pytest.mark.parametrize("told", [pytest.param(told, id=name) for name, told in UNSAFE])
def test_name_from_data_never_becomes_a_path(office: Office, told: Story) -> None:
    with pytest.raises(DossierError):
        build(told.dossier(), office.key)


def test_policy_digest_that_is_a_path_is_refused(office: Office) -> None:
    told = story()
    told.policies["../../x"] = {"a": "b"}
    with pytest.raises(DossierError, match="is not an identifier"):
        build(told.dossier(), office.key)


def test_two_records_of_one_name_are_refused(office: Office) -> None:
    dossier = story().dossier()
    with pytest.raises(DossierError, match=r"two records would stand under decisions/00001-d-1\.json"):
        build(dataclasses.replace(dossier, decisions=[*dossier.decisions, dossier.decisions[0]]), office.key)


@pytest.mark.parametrize(
    "change",
    [
        {"run": {}},
        {"run": {**(story().dossier().run or {}), "status": float("nan")}},
        {"leaves": [{"seq": 1}]},
        {"policies": {"0" * 64: {"a.rego": "\ud800"}}},
    ],
)
def test_dossier_that_cannot_be_written_down_is_refused(office: Office, change: dict[str, Any]) -> None:
    with pytest.raises(DossierError, match="cannot be sealed"):
        build(dataclasses.replace(story().dossier(), **change), office.key)


def test_timeline_tells_each_leaf_under_its_day(office: Office) -> None:
    timeline = members_of(office, story().dossier())["timeline.md"].decode()
    assert "# What happened in run `run-1`" in timeline
    assert "## 2026-01-31" in timeline
    assert "6. 09:05:00.000 **Vote counted**, by `worker-1` (system)\n   - step `file`\n" in timeline
    assert "   - `person`: `ben`\n   - `verdict`: `approve`\n" in timeline


HOSTILE = [
    "`\n\n# Approved by everyone\n",
    "</code><script>alert(1)</script>",
    "[ok](https://evil.example)",
    "\u202edevorppa\u202c",
    "zero\u200bwidth",
    "```\nfence",
    "\\` | cell",
    "\r\x1b[2J\x00",
    "\u2028line",
    "",
    "   ",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_data_cannot_write_lines_of_its_own_into_the_timeline(office: Office, text: str) -> None:
    sound = members_of(office, story().dossier())["timeline.md"].decode().splitlines()
    told = story()
    told.events[0] = ("run.queued", QUEUED[1] | {"trigger_type": text})
    bent = members_of(office, told.dossier())["timeline.md"].decode()
    assert [line for line in bent.splitlines() if "trigger" not in line] == [
        line for line in sound if "trigger" not in line and line in bent
    ]
    assert len(bent.split("\n")) == len(sound) + 1


@given(st.text(max_size=700))
@settings(deadline=None)
def test_code_span_holds_nothing_but_itself(text: str) -> None:
    span = first_code(text)
    inner = span.split(" (the first ")[0]
    assert inner.startswith("`")
    assert inner.endswith("`")
    assert "`" not in inner[1:-1]
    assert inner[1:-1].isprintable()


def test_long_value_is_cut_in_the_timeline_and_says_so() -> None:
    assert first_code("x" * 501) == f"`{'x' * 500}` (the first 500 of 501 characters; all are in `audit.jsonl`)"


def test_readme_names_run_key_and_head_and_leaves_no_gap(office: Office) -> None:
    told = story()
    told.run["tenant"] = "@HEAD@ `x`\n# y"
    dossier = told.dossier()
    assert dossier.run is not None
    readme = members_of(office, dossier)["README.md"].decode()
    assert office.key.public.key_id in readme
    assert f"the last hash is {dossier.run['audit_head']}, line 12" in readme
    assert "\n# y" not in readme


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.integers(0, 10**9))
@settings(deadline=None, max_examples=25)
def test_whatever_stands_in_the_data_the_bundle_verifies(
    tmp_path_factory: pytest.TempPathFactory, text: str, number: int
) -> None:
    office = Office.in_folder(tmp_path_factory.mktemp("office"))
    told = story()
    told.events[0] = ("run.queued", {text: [text, number]} | QUEUED[1])
    told.approvals["a-1"]["cards"].append({text: text})
    rewrite(told, fields={text: number, "text": text})
    assert verify(office.seal(told.dossier()), office.public).run_id == "run-1"

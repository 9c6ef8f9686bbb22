"""The offline verifier: sound bundles pass, and the first fault is named at its step.

The offline verifier: sound bundles pass, and the first thing that does not hold is named, at its step.

What a card says in its buttons and menus is found in its bytes as it is by a walk through it.
"""

import base64
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evidence.build import build
from evidence.statement import Predicate, count, make_statement
from evidence.verify.cards import _naming
from evidence.verify.judgement import Standing, judge
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical
from receipts.canonical import Apart
from receipts.signing import KeyFileError
from tests.unit.evidence_sample import DEFINITION, POLICY, Office, Story, chained, story

PAYLOAD_TYPE = "application/vnd.in-toto+json"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def failure(office: Office, path: Path) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(path, office.public)
    return caught.value


def unpacked(office: Office) -> dict[str, bytes]:
    with office.seal(story().dossier()).open("rb") as stream:
        return unpack(stream).members


def test_sound_bundle_passes_every_step(office: Office) -> None:
    sealed = build(story().dossier(), office.key)
    report = verify(office.write(sealed.data), office.public)
    assert report.sha256 == sealed.sha256
    assert (report.run_id, report.tenant, report.key_id) == ("run-1", "acme", office.key.public.key_id)
    assert [passed.step for passed in report.steps] == list(range(1, 13))
    assert all(passed.fact for passed in report.steps)


def test_docstring_numbers_the_steps_of_the_code() -> None:
    assert re.findall(r"^    (\d+)\. ", verify.__doc__ or "", re.MULTILINE) == [str(step) for step in range(1, 14)]


# Whatever is changed after sealing


@given(st.data())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_changed_byte_of_the_file_is_found(office: Office, data: st.DataObject) -> None:
    sealed = bytearray(build(story().dossier(), office.key).data)
    place = data.draw(st.integers(0, len(sealed) - 1))
    sealed[place] ^= data.draw(st.integers(1, 255))
    failure(office, office.write(bytes(sealed)))


def names_of_members() -> list[str]:
    policy = f"policies/{canonical.digest(POLICY)}"
    return [
        *("README.md", "approvals/a-1.json", "audit.jsonl", "decisions/00001-d-1.json", "definition.json"),
        *(f"{policy}/data.json", "receipts/00002-r-3.json", "run.json", "timeline.md", "summary.md", "costs.json"),
    ]


@pytest.mark.parametrize("name", names_of_members())
def test_changed_removed_renamed_or_added_member_is_found_and_named(office: Office, name: str) -> None:
    members = unpacked(office)
    rest = {other: data for other, data in members.items() if other != name}
    for bent, culprit, what in (
        (rest | {name: members[name] + b" "}, name, "its SHA-256 is not the one that was signed"),
        (rest, name, "was signed, and is not in the bundle"),
        (rest | {f"{name}.old": members[name]}, name, "was signed, and is not in the bundle"),
        (members | {f"{name}.new": b""}, f"{name}.new", "is in the bundle, and was not signed"),
    ):
        error = failure(office, office.write(pack(bent)))
        assert (error.rule, error.member) == ("members.signed", culprit)
        assert what in error.what
        assert str(error).startswith(f"step 4, members.signed: {culprit}: ")


def test_exchanged_members_are_found(office: Office) -> None:
    members = unpacked(office)
    first, second = "receipts/00001-r-2.json", "receipts/00002-r-3.json"
    bent = members | {first: members[second], second: members[first]}
    assert failure(office, office.write(pack(bent))).rule == "members.signed"


# Step 1


@pytest.mark.parametrize("data", [b"", b"PK", b"%PDF-1.7", b"PK\x05\x06" + bytes(18) + b"x"])
def test_file_that_is_no_bundle_fails_step_1(office: Office, data: bytes) -> None:
    assert failure(office, office.write(data)).rule == "archive.form"


def test_folder_pipe_and_absent_file_fail_step_1(office: Office, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "absent"):
        assert failure(office, path).rule == "archive.read"


def test_a_file_that_cannot_be_read_to_its_end_counts_as_not_read(office: Office) -> None:
    memory = Path("/proc/self/mem")  # a regular file, whose first bytes nobody can read
    assert failure(office, memory).rule == "archive.read"
    assert judge(memory, trust_of(office.public)).standing is Standing.UNREAD


# Steps 2 and 3


def test_bundle_without_statement_fails_step_2(office: Office) -> None:
    members = unpacked(office)
    del members["statement.dsse.json"]
    error = failure(office, office.write(pack(members)))
    assert (error.rule, error.member, error.what) == ("statement.signed", "statement.dsse.json", "is not in the bundle")


def test_bundle_sealed_with_another_key_fails_step_2(office: Office, tmp_path: Path) -> None:
    error = failure(office, Office.in_folder(tmp_path, 2).seal(story().dossier()))
    assert error.rule == "statement.signed"
    assert "the signature is not by the key" in error.what


def test_private_or_unreadable_key_is_no_key_to_verify_with(office: Office) -> None:
    path = office.seal(story().dossier())
    for key in (office.folder / "keys" / "signing.pem", office.folder / "absent.pem"):
        with pytest.raises(KeyFileError):
            verify(path, key)


def signed(office: Office, change: Callable[[dict[str, Any]], object], kind: str = PAYLOAD_TYPE) -> Path:
    """Return a bundle whose statement was changed and then signed with the right key."""
    members = unpacked(office)
    payload = canonical.loads(base64.b64decode(json.loads(members["statement.dsse.json"])["payload"]))
    change(payload)
    members["statement.dsse.json"] = office.sign(canonical.dumps(payload), kind)
    return office.write(pack(members))


def test_signature_over_another_type_fails_step_2(office: Office) -> None:
    error = failure(office, signed(office, lambda _: None, kind="text/plain"))
    assert (error.rule, error.what) == ("statement.signed", f"carries 'text/plain', not {PAYLOAD_TYPE}")


STATEMENTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another type": lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"),
    "no type": lambda s: s.pop("_type"),
    "another predicate": lambda s: s.update(predicateType="urn:other"),
    "unknown member": lambda s: s.update(more=1),
    "no key": lambda s: s["predicate"].pop("key_id"),
    "another key": lambda s: s["predicate"].update(key_id="0" * 64),
    "subject without digest": lambda s: s["subject"][0].update(digest={}),
    "subject with two digests": lambda s: s["subject"][0]["digest"].update(md5="0"),
    "subject twice": lambda s: s["subject"].insert(0, s["subject"][0]),
    "subjects out of order": lambda s: s["subject"].reverse(),
    "wrong counts": lambda s: s["predicate"]["counts"].update(receipts=3),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_in_another_form_fails_step_3(office: Office, name: str) -> None:
    error = failure(office, signed(office, STATEMENTS[name]))
    assert (error.rule, error.member) == ("statement.form", "statement.dsse.json")


# Steps 5, 6 and 9: what a sealer with the right key may have sealed, and must not get away with


def bent(office: Office, told: Story) -> VerificationError:
    return failure(office, office.seal(told.dossier()))


@pytest.mark.parametrize("member", ["run_id", "tenant", "sealed_seq", "audit_head", "definition.digest"])
def test_statement_about_another_run_fails_step_5(office: Office, member: str) -> None:
    def change(statement: dict[str, Any]) -> None:
        predicate = statement["predicate"]
        name = member.replace(".", "_")
        predicate[name] = 99 if name == "sealed_seq" else "f" * 64

    error = failure(office, signed(office, change))
    assert (error.rule, error.member) == ("run.stated", "run.json")
    assert error.what.startswith(f"{member} is ")


def test_another_definition_fails_step_5(office: Office) -> None:
    dossier = dataclasses.replace(story().dossier(), definition=DEFINITION + b" ")
    error = failure(office, office.seal(dossier))
    assert (error.rule, error.member) == ("definition.digest", "definition.json")


def with_leaves(office: Office, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Path:
    """Return the bundle with other leaves, sealed again: all else speaks of those that there were."""
    members = unpacked(office)
    leaves = change([canonical.loads(line) for line in members["audit.jsonl"].splitlines()])
    lines = b"".join(canonical.dumps(leaf) + b"\n" for leaf in leaves)
    return resealed(office, members | {"audit.jsonl": lines})


CHAINS: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "edited": lambda leaves: [leaves[0] | {"event": "run.resumed"}, *leaves[1:]],
    "cut at the end": lambda leaves: leaves[:-1],
    "cut at the start": lambda leaves: leaves[1:],
    "without the middle": lambda leaves: leaves[:4] + leaves[5:],
    "reordered": lambda leaves: [leaves[1], leaves[0], *leaves[2:]],
    "empty": lambda _: [],
    "written anew": lambda leaves: chained([("run.started", {})] * len(leaves)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain_that_is_not_whole_fails_step_6(office: Office, name: str) -> None:
    error = failure(office, with_leaves(office, CHAINS[name]))
    assert (error.rule, error.member) == ("chain.unbroken", "audit.jsonl")


def test_chain_of_another_run_fails_step_6(office: Office) -> None:
    told = story()
    told.run["run_id"] = "run-2"
    error = bent(office, told)
    assert (error.rule, error.what) == ("chain.unbroken", "is the chain of run run-1")


def test_line_that_is_no_leaf_fails_step_6(office: Office) -> None:
    for bad, what in ((b"{}\n", "run_id: Field required"), (b"{ }\n", "not in canonical form"), (b"{", "is not ended")):
        members = unpacked(office)
        members["audit.jsonl"] += bad
        error = failure(office, resealed(office, members))
        assert error.rule == "chain.unbroken"
        assert what in error.what


def resealed(office: Office, members: dict[str, bytes]) -> Path:
    """Return these members with a statement that names them as they are."""
    rest = {name: data for name, data in members.items() if name != "statement.dsse.json"}
    run = json.loads(rest["run.json"])
    predicate = Predicate(
        run_id=run["run_id"],
        tenant=run["tenant"],
        definition_digest=run["definition"]["digest"],
        sealed_seq=run["sealed_seq"],
        audit_head=run["audit_head"],
        counts=count(rest),
        key_id=office.key.public.key_id,
    )
    statement = office.sign(make_statement(rest, predicate))
    return office.write(pack(rest | {"statement.dsse.json": statement}))


def test_policy_text_that_is_not_utf8_fails_step_9(office: Office) -> None:
    members = unpacked(office)
    name = f"policies/{canonical.digest(POLICY)}/data.json"
    error = failure(office, resealed(office, members | {name: b"\xff"}))
    assert (error.rule, error.member, error.what) == ("policies.digest", name, "is not UTF-8 text")


@pytest.mark.parametrize(
    "name",
    ["policies/stray.rego", "notes.txt", "README.md.old", "receipts/1-r-9.json", "approvals/a/b.json", "run.JSON"],
)
def test_member_of_a_name_that_bundles_do_not_have_fails_step_4(office: Office, name: str) -> None:
    error = failure(office, resealed(office, unpacked(office) | {name: b"{}"}))
    assert (error.rule, error.member, error.what) == ("members.named", name, "is no member of a bundle")


def test_names_that_differ_in_case_alone_fail_step_4(office: Office) -> None:
    first, second = (f"policies/{canonical.digest(POLICY)}/{name}.json" for name in ("DATA", "data"))
    error = failure(office, resealed(office, unpacked(office) | {first: b"{}"}))
    assert (error.rule, error.member, error.what) == ("members.named", second, f"differs from {first} in case alone")


@pytest.mark.parametrize("name", ["timeline.md", "README.md"])
def test_text_that_tells_another_story_fails_step_12(office: Office, name: str) -> None:
    members = unpacked(office)
    error = failure(office, resealed(office, members | {name: members[name].replace(b"a", b"o", 1)}))
    rule = {"timeline.md": "texts.timeline", "README.md": "texts.readme"}[name]
    assert (error.rule, error.member) == (rule, name)
    del members[name]
    assert failure(office, resealed(office, members)).rule == rule


def test_readme_that_names_another_key_fails_step_12(office: Office) -> None:
    members = unpacked(office)
    text = members["README.md"].replace(office.key.public.key_id.encode(), b"0" * 64)
    error = failure(office, resealed(office, members | {"README.md": text}))
    assert (error.rule, error.member) == ("texts.readme", "README.md")


# Offline


OFFLINE = """
import sys
from pathlib import Path

def forbid(event, args):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork")):
        raise RuntimeError(event)

sys.addaudithook(forbid)
from evidence.statement import Predicate, count, make_statement
from evidence.verify.verify import verify
bundle, key = map(Path, sys.argv[1:])
print(verify(bundle, key).sha256)
ours = {"bot", "countersign", "policy", "runtime", "edge", "sandbox", "evidence.archive", "evidence.build"}
ours |= {"evidence.key_ring", "evidence.sealer"}
theirs = {"boto3", "botocore", "psycopg", "sqlalchemy", "aiohttp", "slack_sdk", "slack_bolt", "urllib3", "http.client"}
print(sorted((ours | theirs) & set(sys.modules)))
"""


def offline_prefix() -> list[str]:
    """Return what takes the network away from a command, where the kernel lets users do that."""
    command = ["unshare", "-r", "-n"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return command


def test_verifier_needs_no_network_no_database_and_no_private_key(office: Office, tmp_path: Path) -> None:
    sealed = build(story().dossier(), office.key)
    bundle, key = tmp_path / "bundle.zip", tmp_path / "key.pem"
    bundle.write_bytes(sealed.data)
    key.write_bytes(office.key.public.pem())
    command = [*offline_prefix(), sys.executable, "-c", OFFLINE, str(bundle), str(key)]
    done = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.split("\n")[:2]) == ("", [sealed.sha256, "[]"])


said = st.lists(
    st.sampled_from(['"digest":"ab"', '"digest":""', '"digest":', '{"id":"a-1",', '"', "\\", "\n", "value", "é"]),
    max_size=4,
).map("".join)
cards = st.recursive(
    said | st.sampled_from([None, 1, True]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", 'a"value', "text", "\\", '","value']), inner, max_size=3)
    ),
    max_leaves=12,
)


def walked(card: Any) -> Iterator[str]:
    """Give each text that a member `value` has, and that names a digest."""
    if isinstance(card, list):
        for item in card:
            yield from walked(item)
    if isinstance(card, dict):
        for name, item in card.items():
            if name == "value" and isinstance(item, str) and '"digest":' in item and '"digest":""' not in item:
                yield item
            yield from walked(item)


@given(cards)
def test_each_value_that_names_a_digest_is_found_wherever_it_stands(card: Any) -> None:
    data = canonical.dumps(card)
    for one in (card, Apart(data, 0, len(data))):
        assert sorted(_naming(one)) == sorted(walked(card))

"""The second verifier: the page comes to the program's own judgement, in a real browser, about whatever is bent."""

import base64
import copy
import dataclasses
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from evidence.build import Dossier, DossierError, build
from evidence.names import STATEMENT
from evidence.run_record import run_as_told
from evidence.statement import PAYLOAD_TYPE
from evidence.verify.procedure import STEPS
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical
from receipts.chain import Leaf
from receipts.signing import sign_envelope
from tests.browser import Failure, failure_of, report_of, verify_page
from tests.unit import test_evidence_bundle as hostile
from tests.unit import test_evidence_claims as claims
from tests.unit import test_evidence_forgeries as chosen
from tests.unit import test_evidence_forgeries as forgeries
from tests.unit import test_evidence_reads as governing
from tests.unit import test_evidence_reads as reading
from tests.unit import test_evidence_runs as told
from tests.unit import test_evidence_verify as verifying
from tests.unit.evidence_bends import resealed, told_with
from tests.unit.evidence_sample import DEFINITION, POLICY, Office, Story, chained, story
from tests.unit.evidence_variants import governed, looked
from tests.unit.test_evidence_rules import RULES

LAST = 12
"""The last step that the page takes, as far as it is about costs; what else is in it is about texts."""

PROGRAMS_OWN = {"texts.summary", "texts.timeline", "texts.readme", "log.stamped"}
"""The rules that the page leaves to the program."""


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.fixture(scope="module")
async def members_page() -> AsyncIterator[Page]:
    """Give a page that looks at the rules about members alone, as `broken_by_members` does."""
    async with verify_page() as page:
        await page.evaluate("STEPS.forEach((step) => step.splice(4, 1, []))")
        yield page


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def judged(office: Office, path: Path) -> Failure | None:
    """Return what the program finds by the rules that the page has, too."""
    try:
        verify(path, office.public)
    except VerificationError as error:
        return None if error.rule in PROGRAMS_OWN else (error.step, error.member, error.what)
    return None


def step_of(rule: str) -> int:
    """Return the step whose rule this is; those of the first four stand in the verifier itself."""
    first = {"archive": 1, "statement.signed": 2, "statement.form": 3, "members": 4}
    early = first.get(rule) or first.get(rule.partition(".")[0])
    names = {step.number: {*(each.name for each in step.rules), *(each.name for each in step.bound)} for step in STEPS}
    return early or next(number for number, of_step in names.items() if rule in of_step)


async def seen(page: Page, office: Office, path: Path) -> Failure | None:
    return await failure_of(page, path.read_bytes(), office.public.read_text())


def place_of(failure: Failure | None) -> tuple[int, str] | None:
    return failure and failure[:2]


async def agree(page: Page, office: Office, path: Path) -> Failure:
    """Return what both find, at the same step and member."""
    found, shown = judged(office, path), await seen(page, office, path)
    assert found is not None
    assert shown is not None, f"the page takes it: {found}"
    assert place_of(shown) == place_of(found), (shown, found)
    return shown


def members_of(path: Path) -> dict[str, bytes]:
    with path.open("rb") as stream:
        return dict(unpack(stream).members)


# What holds


@pytest.mark.parametrize("sample", [story, looked, governed, chosen.chosen])
async def test_a_genuine_bundle_holds(page: Page, office: Office, sample: Callable[[], Story]) -> None:
    sealed = build(sample().dossier(), office.key)
    report = await report_of(page, sealed.data, office.public.read_text())
    assert (report["failure"], report["sha256"], report["key"]) == (None, sealed.sha256, office.key.public.key_id)
    assert [step["number"] for step in report["passed"]] == list(range(1, LAST + 1))


@pytest.mark.parametrize("name", claims.SOUND)
async def test_what_holds_is_not_faulted(members_page: Page, office: Office, name: str) -> None:
    assert await seen(members_page, office, office.seal(told_with(*claims.SOUND[name]))) is None


# What a sealer with the right key may have sealed, and must not get away with

BENT = claims.CHANGES | forgeries.CHANGES


@pytest.mark.parametrize("name", BENT)
async def test_what_the_records_contradict_is_named_at_its_step(
    page: Page, members_page: Page, office: Office, name: str
) -> None:
    rule, member, what, make = BENT[name]
    path = office.seal(make())
    await agree(page, office, path)
    failure = await seen(members_page, office, path)
    assert place_of(failure) == (step_of(rule), member)
    assert what.partition("[")[0].replace("None", "null") in str(failure)


@pytest.mark.parametrize("name", told.LIES)
async def test_what_the_chain_binds_cannot_be_told_otherwise(page: Page, office: Office, name: str) -> None:
    (rule, member, what), lie = told.LIES[name]
    if rule in PROGRAMS_OWN:
        assert judged(office, office.seal(lie())) is None
    else:
        assert await seen(page, office, office.seal(lie())) == (step_of(rule), member, what)


@pytest.mark.parametrize("end", [end for end, _ in told.ENDS])
async def test_the_page_tells_the_run_from_its_leaves_as_the_program_does(
    page: Page, end: tuple[str, dict[str, Any]]
) -> None:
    leaves = chained([*story().events[:1], told.OPENED, ("step.failed_retryable", {"step": "docs", "error": "x"}), end])
    expected = canonical.dumps(run_as_told([Leaf.model_validate(leaf) for leaf in leaves])).decode()
    assert await page.evaluate("(leaves) => canonical(runAsTold(leaves))", leaves) == expected


@pytest.mark.parametrize("name", verifying.STATEMENTS)
async def test_statement_in_another_form_fails_step_3(page: Page, office: Office, name: str) -> None:
    await agree(page, office, verifying.signed(office, verifying.STATEMENTS[name]))


@pytest.mark.parametrize("member", ["run_id", "tenant", "sealed_seq", "audit_head", "definition_digest"])
async def test_statement_about_another_run_fails_step_5(page: Page, office: Office, member: str) -> None:
    other = 99 if member == "sealed_seq" else "f" * 64
    path = verifying.signed(office, lambda statement: statement["predicate"].update({member: other}))
    assert (await agree(page, office, path))[:2] == (5, "run.json")


async def test_another_definition_fails_step_5(page: Page, office: Office) -> None:
    path = office.seal(dataclasses.replace(story().dossier(), definition=DEFINITION + b" "))
    assert (await agree(page, office, path))[:2] == (5, "definition.json")


@pytest.mark.parametrize("name", verifying.CHAINS)
async def test_chain_that_is_not_whole_fails_step_6(page: Page, office: Office, name: str) -> None:
    path = verifying.with_leaves(office, verifying.CHAINS[name])
    assert await agree(page, office, path) == judged(office, path)
    assert (await agree(page, office, path))[:2] == (6, "audit.jsonl")


async def test_chain_of_another_run_fails_step_6(page: Page, office: Office) -> None:
    other = story()
    other.run["run_id"] = "run-2"
    assert (await agree(page, office, office.seal(other.dossier())))[2] == "is the chain of run run-1"


@pytest.mark.parametrize("bad", [b"{}\n", b"{ }\n", b"{", b"\xff\n", b"\n"])
async def test_line_that_is_no_leaf_fails_step_6(page: Page, office: Office, bad: bytes) -> None:
    members = members_of(office.seal(story().dossier()))
    members["audit.jsonl"] += bad
    assert (await agree(page, office, verifying.resealed(office, members)))[0] == 6


@pytest.mark.parametrize("claimed", [2, True, "1", None])
async def test_a_chain_is_of_the_format_that_the_statement_names(page: Page, office: Office, claimed: object) -> None:
    told_of = story()
    told_of.events[0][1]["format"] = claimed
    assert (await agree(page, office, office.seal(told_of.dossier())))[:2] == (6, STATEMENT)


async def test_policy_text_that_is_not_utf8_fails_step_9(page: Page, office: Office) -> None:
    members = members_of(office.seal(story().dossier()))
    name = f"policies/{canonical.digest(POLICY)}/data.json"
    path = verifying.resealed(office, members | {name: b"\xff"})
    assert await agree(page, office, path) == (9, name, "is not UTF-8 text")


@pytest.mark.parametrize(
    "name",
    [
        *("policies/stray.rego", "notes.txt", "README.md.old", "receipts/1-r-9.json", "approvals/a/b.json", "run.JSON"),
        f"policies/{canonical.digest(POLICY)}/DATA.json",
    ],
)
async def test_member_of_a_name_that_bundles_do_not_have_fails_step_4(page: Page, office: Office, name: str) -> None:
    members = members_of(office.seal(story().dossier()))
    assert (await agree(page, office, verifying.resealed(office, members | {name: b"{}"})))[0] == 4


def unread(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Dossier:
    """Return the run with reads, of which the records were changed after the chain had named them."""
    dossier = looked().dossier()
    return dataclasses.replace(dossier, reads=change([dict(read) for read in dossier.reads]))


def unnamed() -> Dossier:
    told = looked()
    told.events = [(name, facts) for name, facts in told.events if name != "read.recorded"]
    return told.dossier()


READS: dict[str, tuple[str, Callable[[], Dossier]]] = {
    "a read changed": ("reads/00001-read-1.json", lambda: unread(lambda reads: [reads[0] | {"error": "x"}, reads[1]])),
    "a read left out": ("reads/00002-read-2.json", lambda: unread(lambda reads: reads[:1])),
    "no read named": ("reads/00001-read-1.json", unnamed),
}


@pytest.mark.parametrize("name", READS)
async def test_reads_and_what_was_told_of_calls_are_on_record(page: Page, office: Office, name: str) -> None:
    member, make = READS[name]
    assert (await agree(page, office, office.seal(make())))[:2] == (7, member)


@pytest.mark.parametrize("name", (lies := reading.LIES | governing.GOVERNED_LIES | chosen.LIES))
async def test_what_is_told_of_reads_and_choices_must_agree(page: Page, office: Office, name: str) -> None:
    (rule, member, _), lie = lies[name]
    assert (await agree(page, office, office.seal(lie())))[:2] == (step_of(rule), member)


@pytest.mark.parametrize("costs", [b"[]", b"{}", b"", b"[ ]", None])
async def test_costs_are_the_sums_of_what_reads_and_receipts_tell(
    page: Page, office: Office, costs: bytes | None
) -> None:
    path = resealed(office, office.seal(looked().dossier()), **{"costs.json": costs})
    assert (await agree(page, office, path))[:2] == (12, "costs.json")


async def test_the_statement_counts_the_reads(page: Page, office: Office) -> None:
    members = members_of(office.seal(looked().dossier()))
    statement = canonical.loads(base64.b64decode(canonical.loads(members[STATEMENT])["payload"]))
    for reads in (3, None):
        statement["predicate"]["counts"]["reads"] = reads
        path = office.write(pack(members | {STATEMENT: office.sign(canonical.dumps(statement))}))
        assert (await agree(page, office, path))[:2] == (3, STATEMENT)


# What is changed after sealing


@pytest.mark.parametrize("name", verifying.names_of_members())
async def test_changed_removed_or_added_member_is_found_and_named(page: Page, office: Office, name: str) -> None:
    members = members_of(office.seal(story().dossier()))
    rest = {other: data for other, data in members.items() if other != name}
    for bent, culprit in (
        (rest | {name: members[name] + b" "}, name),
        (rest, name),
        (rest | {f"{name}.old": members[name]}, name),
        (members | {f"{name}.new": b""}, f"{name}.new"),
    ):
        path = office.write(pack(bent))
        assert await agree(page, office, path) == judged(office, path)
        assert (await agree(page, office, path))[:2] == (4, culprit)


async def test_any_changed_byte_of_the_file_is_found_as_the_program_finds_it(page: Page, office: Office) -> None:
    sealed, chance = build(story().dossier(), office.key).data, random.Random(8)  # noqa: S311 - the same on every machine
    for place in chance.sample(range(len(sealed)), 60):
        bent = bytearray(sealed)
        bent[place] ^= chance.randrange(1, 256)
        await agree(page, office, office.write(bytes(bent)))


async def test_a_file_without_statement_or_with_one_that_is_too_large_fails_step_2(page: Page, office: Office) -> None:
    members = members_of(office.seal(story().dossier()))
    large = members | {STATEMENT: b'{"payload":"' + b"A" * 2**20}
    assert "larger than" in (await agree(page, office, office.write(pack(large))))[2]
    del members[STATEMENT]
    assert (await agree(page, office, office.write(pack(members))))[:2] == (2, STATEMENT)


async def test_a_bundle_that_another_key_signed_fails_step_2(page: Page, office: Office, tmp_path: Path) -> None:
    path = Office.in_folder(tmp_path, 2).seal(story().dossier())
    step, member, what = await agree(page, office, path)
    assert (step, member) == (2, STATEMENT)
    assert what == f"the signature is not by the key {office.key.public.key_id}"


ENVELOPES: dict[str, Callable[[bytes], bytes]] = {
    "a space": lambda sound: sound.replace(b'","payloadType"', b'", "payloadType"'),
    "base64 without padding": lambda sound: sound.replace(b'=="}', b'"}'),
    "base64 with a line end": lambda sound: sound.replace(b'"payload":"', b'"payload":"\n'),
    "two signatures": lambda sound: sound.replace(b'"signatures":[', b'"signatures":[{"keyid":"","sig":""},'),
    "no signature": lambda sound: sound.partition(b'"signatures":[')[0] + b'"signatures":[]}',
    "more members": lambda sound: sound[:-1] + b',"x":1}',
    "an empty signature": lambda sound: sound.partition(b'"sig":"')[0] + b'"sig":""}]}',
    "the id of another key": lambda sound: sound.replace(b'"keyid":""', b'"keyid":"%b"' % (b"0" * 64)),
    "another type": lambda sound: sound.replace(b"in-toto+json", b"in-toto+jsom"),
    "bytes that are no text": lambda sound: sound.replace(b"in-toto", b"in\xfftoto"),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("name", ENVELOPES)
async def test_an_envelope_in_another_form_fails_step_2(page: Page, office: Office, name: str) -> None:
    members = members_of(office.seal(story().dossier()))
    bent = ENVELOPES[name](members[STATEMENT])
    assert bent != members[STATEMENT]
    path = office.write(pack(members | {STATEMENT: bent}))
    assert (await agree(page, office, path))[:2] == (2, STATEMENT)


async def test_signature_over_another_type_fails_step_2(page: Page, office: Office) -> None:
    path = verifying.signed(office, lambda _: None, kind="text/plain")
    assert "text/plain" in (await agree(page, office, path))[2]


@pytest.mark.parametrize(
    ("key_id", "what"), [("0" * 64, "its predicate alone must name the key"), (None, "predicate.key_id")]
)
async def test_a_statement_that_does_not_name_the_key_fails_step_3(
    page: Page, office: Office, key_id: str | None, what: str
) -> None:
    members = members_of(office.seal(story().dossier()))
    statement = canonical.loads(base64.b64decode(canonical.loads(members[STATEMENT])["payload"]))
    statement["predicate"]["key_id"] = key_id
    members[STATEMENT] = office.sign(canonical.dumps(statement))
    found = await agree(page, office, office.write(pack(members)))
    assert found[:2] == (3, STATEMENT)
    assert found[2].startswith(what)


async def test_an_envelope_that_names_the_key_fails_step_3(page: Page, office: Office) -> None:
    members = members_of(office.seal(story().dossier()))
    statement = base64.b64decode(canonical.loads(members[STATEMENT])["payload"])
    members[STATEMENT] = sign_envelope(PAYLOAD_TYPE, statement, office.key, keyid=office.key.public.key_id)
    found = await agree(page, office, office.write(pack(members)))
    assert found == (3, STATEMENT, f"its predicate alone must name the key, {office.key.public.key_id}")


# Whatever stands in a bundle that the genuine key signed


def told_otherwise(chance: random.Random) -> Story:
    """Return the sample with a value of another kind somewhere."""
    sample = chance.choice([story, looked])()
    part = chance.choice([part for part in hostile.PARTS if part != "run"])
    records = getattr(sample, part)
    way = chance.choice([way for way in hostile.places(records) if way] or [()])
    setattr(sample, part, hostile.put(records, way, copy.deepcopy(chance.choice(hostile.VALUES))))
    return sample


async def test_a_value_of_another_kind_comes_to_the_programs_judgement(page: Page, office: Office) -> None:
    chance, compared = random.Random(6), 0  # noqa: S311 - the same on every machine
    for _ in range(80):
        try:
            path = office.write(hostile._sealed(office, told_otherwise(chance)))
        except DossierError:
            continue
        found, shown = judged(office, path), await seen(page, office, path)
        assert place_of(shown) == place_of(found), (shown, found)
        compared += found is not None
    assert compared > 20


async def test_the_page_names_the_rules_that_it_looks_at(page: Page) -> None:
    rules = await page.evaluate(
        "STEPS.map(([number, , , rules, bound]) => [number, [...rules, ...bound.map(([rule]) => rule)]])"
    )
    named = {rule: number for number, names in rules for rule in names}
    assert named.keys() == RULES.keys() - PROGRAMS_OWN
    assert [number for number, _ in rules] == list(range(1, LAST + 1))
    assert named == {rule: step_of(rule) for rule in named}
    assert list(named) == [rule for rule in RULES if rule in named]

"""Bundles: the same bytes every time, and a sentence for whatever hostile ones hold.

Sealing: the same bytes every time, names that data cannot bend, and texts that data cannot break out of.

Whatever stands in a bundle, even one that the genuine key signed, is refused with a sentence and not a traceback.
"""

import copy
import dataclasses
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from evidence import names
from evidence.build import Dossier, DossierError, build
from evidence.run_record import run_as_told
from evidence.statement import Statement, count, make_statement
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical
from receipts.chain import Leaf
from receipts.signing import verify_envelope
from tests.unit.evidence_bends import rewrite
from tests.unit.evidence_sample import POLICY, Office, Story, story
from tests.unit.evidence_variants import looked


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
    shuffled = dataclasses.replace(
        dossier,
        decisions=random.Random(1).sample(dossier.decisions, len(dossier.decisions)),  # noqa: S311 - no secret
        receipts=list(reversed(dossier.receipts)),
    )
    assert build(shuffled, office.key) == build(dossier, office.key)


def test_members_are_those_of_the_format(office: Office) -> None:
    policy = f"policies/{canonical.digest(POLICY)}"
    assert list(members_of(office, story().dossier())) == [
        "summary.md",
        "README.md",
        "approvals/a-1.json",
        "audit.jsonl",
        "costs.json",
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
    key = SSlibKey.from_crypto(office.key.public.key)
    unnamed = SSlibKey("", key.keytype, key.scheme, key.keyval)  # the envelope names none
    assert list(envelope.verify([unnamed], 1)) == [""]
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
        {"receipts": [{"receipt_id": "r-2", "attempt": float("nan")}]},
        {"leaves": story().dossier().leaves[:3]},
        {"leaves": [{"seq": 1}]},
        {"policies": {"0" * 64: {"a.rego": "\ud800"}}},
    ],
)
def test_dossier_that_cannot_be_written_down_is_refused(office: Office, change: dict[str, Any]) -> None:
    with pytest.raises(DossierError, match="cannot be sealed"):
        build(dataclasses.replace(story().dossier(), **change), office.key)


def test_readme_names_run_key_and_head_and_leaves_no_gap(office: Office) -> None:
    told = story()
    told.events[0][1]["tenant"] = "@HEAD@ `x`\n# y"
    dossier = told.dossier()
    readme = members_of(office, dossier)["README.md"].decode()
    assert office.key.public.key_id in readme
    assert f"the last hash is {dossier.leaves[-1]['hash']}, line 22" in readme
    assert "\n# y" not in readme


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.integers(0, 10**9))
@settings(deadline=None, max_examples=25)
def test_whatever_stands_in_the_data_the_bundle_verifies(
    tmp_path_factory: pytest.TempPathFactory, text: str, number: int
) -> None:
    office = Office.in_folder(tmp_path_factory.mktemp("office"))
    told = story()
    told.events[0] = ("run.queued", {text: [text, number]} | told.events[0][1])
    told.approvals["a-1"]["cards"].append({text: text} | told.approvals["a-1"]["cards"][0])
    told.events.insert(13, ("card.shown", dict(told.events[12][1], number=1)))
    rewrite(told, fields={text: number, "text": text})
    assert verify(office.seal(told.dossier()), office.public).run_id == "run-1"


LONGEST = 100_000
RAW = [
    *("9" * 310, "-" + "9" * 310, "9" * 5_000, "1e400", "-0", "1E5", "0.10", "NaN", "Infinity"),
    *('"\\ud800"', '"\\u0061"', "[" * 200 + "]" * 200, "{", '{"a":1,"a":2}', "\udcff", ""),
]
"""Spellings of JSON that a careless reader takes, or breaks at."""

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 2**53 - 1, 1.5, 1e-320, "", "\x00", "\u202e", "x" * 70_000, "9" * 400, "-0", "/"),
    *([], {}, [[]], [{}], [None], {"": ""}, {"a-1": {}}, ["ben", "ben"], "9999-12-31T23:59:59.999999Z", "run-1"),
]
"""Canonical values that may stand where another kind is expected."""


@pytest.fixture(scope="module")
def module_office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def is_json(name: str) -> bool:
    """Return whether a member is a record: a policy's files are text."""
    return name.endswith((".json", ".jsonl")) and not name.startswith(names.POLICIES)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part of a value."""
    yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*way, key))


def put(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    """Return the value with another part at the end of the way."""
    if not way:
        return new
    changed = copy.copy(value)
    changed[way[0]] = put(value[way[0]], way[1:], new)
    return changed


def judge(office: Office, data: bytes) -> str:
    """Return what the verifier says; any other exception is a fault of ours."""
    try:
        verify(office.write(data), office.public)
    except VerificationError as error:
        return str(error)
    return "Everything holds."


def signed_again(office: Office, members: dict[str, bytes]) -> bytes:
    """Return a bundle of these members, signed by the genuine key."""
    payload = verify_envelope(members.pop(names.STATEMENT), office.key.public).payload
    old = Statement.model_validate(canonical.loads(payload))
    predicate = old.predicate.model_copy(update={"counts": count(members)})
    statement = make_statement(members, predicate)
    return pack({**members, names.STATEMENT: office.sign(statement)})


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), raw=st.sampled_from(RAW), sample=st.sampled_from([story, looked]))
def test_spelling_that_is_not_canonical_is_refused_wherever_it_stands(
    module_office: Office, data: st.DataObject, raw: str, sample: Callable[[], Story]
) -> None:
    with module_office.seal(sample().dossier()).open("rb") as stream:
        members = dict(unpack(stream).members)
    name = data.draw(st.sampled_from([name for name in sorted(members) if is_json(name)]))
    lines = members[name].split(b"\n")
    number = data.draw(st.sampled_from([place for place, line in enumerate(lines) if line]))
    value = canonical.loads(lines[number])
    way = data.draw(st.sampled_from(list(places(value))))
    spelled = canonical.dumps(put(value, way, "@here@")).replace(b'"@here@"', raw.encode("utf-8", "surrogateescape"))
    members[name] = b"\n".join([*lines[:number], spelled, *lines[number + 1 :]])
    if name == names.STATEMENT:
        assert judge(module_office, pack(members)).startswith("step 2, statement.signed: statement.dsse.json")
        return
    with pytest.raises(VerificationError) as caught:
        verify(module_office.write(signed_again(module_office, members)), module_office.public)
    assert caught.value.member.startswith(name.removesuffix(".jsonl"))
    assert "9999" not in str(caught.value), "a number is not repeated, however long it is"


PARTS = ("decisions", "receipts", "reads", "approvals", "run", "policies")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=st.sampled_from(VALUES), sample=st.sampled_from([story, looked]))
def test_value_of_another_kind_comes_to_a_judgement_wherever_it_stands(
    module_office: Office, data: st.DataObject, value: Any, sample: Callable[[], Story]
) -> None:
    told = sample()
    part = data.draw(st.sampled_from([*PARTS, "events"]))
    records: Any = [facts for _, facts in told.events] if part == "events" else getattr(told, part)
    if part == "run":
        records = run_as_told([Leaf.model_validate(leaf) for leaf in told.dossier().leaves])
    ways = [way for way in places(records) if way]
    assume(ways)  # there are reads in one sample alone
    way = data.draw(st.sampled_from(ways))
    changed = put(records, way, copy.deepcopy(value))
    if part == "events":
        if not all(isinstance(facts, dict) for facts in changed):
            return
        changed = [(event, facts) for (event, _), facts in zip(told.events, changed, strict=True)]
    setattr(told, part, changed)
    try:
        sealed = _sealed(module_office, told)
    except DossierError:
        return
    assert len(judge(module_office, sealed)) < LONGEST


def _sealed(office: Office, told: Story) -> bytes:
    try:
        return office.seal(told.dossier()).read_bytes()
    except DossierError:
        raise
    except Exception as error:  # the sample's own chaining needs its members: not what is tested here
        raise DossierError(str(error)) from error

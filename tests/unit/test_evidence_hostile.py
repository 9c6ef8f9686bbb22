"""Whatever stands in a bundle, even one that the genuine key signed, is refused with a sentence and not a traceback."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evidence import names
from evidence.build import DossierError
from evidence.statement import Statement, count, make_statement
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical
from receipts.signing import verify_envelope
from tests.unit.evidence_bound import bound
from tests.unit.evidence_reads import looked
from tests.unit.evidence_sample import Office, Story, story

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
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
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
    predicate = old.predicate.model_copy(update={"counts": count(members, int(old.predicate.builder_version))})
    statement = make_statement(members, predicate)
    return pack({**members, names.STATEMENT: office.sign(statement)})


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), raw=st.sampled_from(RAW), sample=st.sampled_from([story, bound, looked]))
def test_spelling_that_is_not_canonical_is_refused_wherever_it_stands(
    office: Office, data: st.DataObject, raw: str, sample: Callable[[], Story]
) -> None:
    with office.seal(sample().dossier()).open("rb") as stream:
        members = dict(unpack(stream).members)
    name = data.draw(st.sampled_from([name for name in sorted(members) if is_json(name)]))
    lines = members[name].split(b"\n")
    number = data.draw(st.sampled_from([place for place, line in enumerate(lines) if line]))
    value = canonical.loads(lines[number])
    way = data.draw(st.sampled_from(list(places(value))))
    spelled = canonical.dumps(put(value, way, "@here@")).replace(b'"@here@"', raw.encode("utf-8", "surrogateescape"))
    members[name] = b"\n".join([*lines[:number], spelled, *lines[number + 1 :]])
    if name == names.STATEMENT:
        assert judge(office, pack(members)).startswith("step 2, statement.signed: statement.dsse.json")
        return
    with pytest.raises(VerificationError) as caught:
        verify(office.write(signed_again(office, members)), office.public)
    assert caught.value.member.startswith(name.removesuffix(".jsonl"))
    assert "9999" not in str(caught.value), "a number is not repeated, however long it is"


PARTS = ("decisions", "receipts", "reads", "approvals", "run", "policies")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=st.sampled_from(VALUES), sample=st.sampled_from([story, bound, looked]))
def test_value_of_another_kind_comes_to_a_judgement_wherever_it_stands(
    office: Office, data: st.DataObject, value: Any, sample: Callable[[], Story]
) -> None:
    told = sample()
    part = data.draw(st.sampled_from([*PARTS, "events"]))
    records: Any = [facts for _, facts in told.events] if part == "events" else getattr(told, part)
    if part == "run":
        records = dict(story().dossier().run or {})
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
        sealed = _sealed(office, told)
    except DossierError:
        return
    assert len(judge(office, sealed)) < LONGEST


def _sealed(office: Office, told: Story) -> bytes:
    try:
        return office.seal(told.dossier()).read_bytes()
    except DossierError:
        raise
    except Exception as error:  # the sample's own chaining needs its members: not what is tested here
        raise DossierError(str(error)) from error

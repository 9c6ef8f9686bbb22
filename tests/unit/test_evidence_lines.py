"""The lines of the audit log: given in their order, as often as somebody asks, whoever has read them before."""

from dataclasses import replace

import pytest

from evidence import names
from evidence.reading.lines import Lines
from evidence.reading.material import Material
from evidence.verify.trust import trust_of
from evidence.verify.verify import signed_contents, unpacked
from receipts import canonical
from tests.unit.evidence_sample import Office, story


@pytest.mark.parametrize("count", [1, 16, 17, 40])
def test_lines_about_an_approval_are_given_in_their_order_as_often_as_somebody_asks(count: int) -> None:
    said = [{"data": {"approval_id": "a-1"}, "seq": number} for number in range(count)]
    data = b"".join(canonical.dumps(one) + b"\n" for line in said for one in (line, {"data": {"approval_id": "a-2"}}))
    about = Lines(data).about("a-1")
    assert [list(about), list(about)] == [said, said]


def test_lines_of_an_event_are_given_forwards_and_backwards() -> None:
    said = [{"event": event, "seq": seq} for seq, event in enumerate(["a", "b", "a", "c"])]
    found = Lines(b"".join(canonical.dumps(one) + b"\n" for one in said)).of("a", "c")
    assert (list(found), list(reversed(found)), len(found)) == ([said[0], said[2], said[3]], [*said[:1:-1], said[0]], 3)


@pytest.mark.parametrize("place", ["data", "correlation"])
def test_lines_that_were_read_as_leaves_are_those_that_are_read_of_the_file(office: Office, place: str) -> None:
    sealed = signed_contents(unpacked(office.seal(story().dossier())), trust_of(office.public))
    said = [leaf.model_dump() for leaf in sealed.leaves]
    for one in said:
        one[place].update({name: None for name in one[place] if name == "approval_id"})
    contents = replace(sealed, members={names.AUDIT: b"".join(canonical.dumps(one) + b"\n" for one in said)})
    leaves, plain = contents.leaves, Material(contents.members).leaves
    found = contents.material.leaves
    assert list(found) == list(plain) == [leaf.model_dump() for leaf in leaves]
    for event in {leaf.event for leaf in leaves}:
        assert list(found.of(event)) == list(plain.of(event))
    for approval_id in sealed.leaves_about:
        assert list(found.about(approval_id)) == list(plain.about(approval_id))


@pytest.fixture
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))

"""Contents of a bundle: its members as records, parsed strictly and no earlier than they are asked for.

What records name is built; JSON of whatever shape stands apart as bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from evidence import names
from evidence.errors import EvidenceError
from evidence.reading.lines import ToldLine, any_value, approval_in, lines_in
from evidence.reading.material import Material
from evidence.records import ApprovalRecord, DecisionRecord, DefinitionRecord, RequirementRecord, RunRecord, VoteRecord
from evidence.statement import Predicate
from evidence.verify.forms import ApprovalForm, DecisionForm
from evidence.verify.kept_leaves import Keeper
from evidence.verify.kept_records import Shared
from evidence.verify.trust import Trust
from receipts import canonical, piecewise
from receipts.chain import VOTE_WITHDRAWN, Leaf
from receipts.piecewise import Outline, Part
from receipts.receipt import Receipt
from receipts.usage import ReadRecord


def outline_of(model: type[BaseModel], **more: Outline) -> Outline:
    """Return how a record of a model is read, with `more` of its members; those that neither names stand apart."""
    named = {field.alias or name: _of_type(field.annotation) for name, field in model.model_fields.items()}
    return {**named, **more}


def _of_type(said: Any) -> Outline:
    """Return how a value of a type is read; a leaf as a whole, since it has at most 64 KiB."""
    if said is Any:
        return Part.APART
    if isinstance(said, type) and issubclass(said, BaseModel):
        return Part.BUILT if issubclass(said, Leaf) else outline_of(said)
    origin, inner = get_origin(said), get_args(said)
    if origin is Annotated:
        return _of_type(inner[0])
    if origin in (Union, UnionType):
        return _merged([_of_type(one) for one in inner])
    if origin in (None, Literal) or (items := _of_type(inner[-1])) is Part.BUILT:
        return Part.BUILT
    return {"*": items}


def _merged(outlines: list[Outline]) -> Outline:
    """Return the one outline for values of several types."""
    if Part.APART in outlines:
        return Part.APART
    named = [outline for outline in outlines if isinstance(outline, Mapping)]
    return {name: how for outline in named for name, how in outline.items()} or Part.BUILT


_ITEMS_APART: Outline = {"*": Part.APART}
_OUTLINES = {
    names.DECISIONS: outline_of(DecisionForm),
    names.APPROVALS: outline_of(ApprovalForm, before=_ITEMS_APART),
    names.RECEIPTS: outline_of(Receipt, request=_ITEMS_APART, redacted=Part.APART),
}


def outline(member: str) -> Outline:
    """Return how a member is read."""
    return _OUTLINES.get(member.partition("/")[0], Part.BUILT)


Record = TypeVar("Record", bound=BaseModel)


T = TypeVar("T")
K = TypeVar("K")


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return items by what they have in common, in their order."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


class BrokenError(EvidenceError):
    """Something does not hold: in which member ("" for the whole), and what."""

    def __init__(self, member: str, what: str) -> None:
        super().__init__(f"{member}: {what}" if member else what)
        self.member = member
        self.what = what


def parse(model: type[Record], member: str, data: bytes) -> Record:
    """Return canonical JSON as a record, or say at which of its members it is not one."""
    return _record(model, member, _value(member, data))


def told_by(members: Mapping[str, bytes], known: Mapping[str, Any] | None = None) -> Material:
    """Return the members of a bundle as a reader takes them, whether they hold or not; `known` were read before.

    As a verifier does, it leaves large parts apart. Large JSON that is not canonical is not there: no bundle has it.
    """

    def read(name: str) -> Any:
        if known and name in known:
            return known[name]
        data = members[name]
        if len(data) <= piecewise.AT_ONCE:
            return any_value(data)
        with suppress(canonical.CanonicalError):
            return piecewise.read(data, outline(name))
        return None

    return Material(members, read)


def _value(member: str, data: bytes) -> Any:
    """Return canonical JSON as a value, of which large parts that no record names stand apart."""
    try:
        return piecewise.loads(data, outline(member))
    except canonical.CanonicalError as error:
        raise BrokenError(member, str(error)) from error


def _record(model: type[Record], member: str, value: Any) -> Record:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BrokenError(member, f"{where or 'the record'}: {first['msg']}") from error


@dataclass(frozen=True)
class Contents:
    """The members, whose bytes are those that the statement names, its predicate, the id of the key, and the trust."""

    members: Mapping[str, bytes]
    predicate: Predicate
    key_id: str
    trust: Trust

    def member(self, name: str) -> bytes:
        """Return a member's bytes."""
        if name not in self.members:
            raise BrokenError(name, "is not in the bundle")
        return self.members[name]

    def folder(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        return sorted(name for name in self.members if name.startswith(f"{folder}/"))

    @cached_property
    def _read(self) -> dict[str, Any]:
        return {}

    def value(self, name: str) -> Any:
        """Return what a member holds. A large one is read once: little of it is built."""
        if name in self._read:
            return self._read[name]
        value = _value(name, self.member(name))
        if len(self.members[name]) > piecewise.AT_ONCE:
            self._read[name] = value
        return value

    def read_again(self, name: str) -> Any:
        """Return what a member holds that was a value before: whether it is canonical is not looked at again."""
        return self._read[name] if name in self._read else any_value(self.member(name))

    @cached_property
    def _shared(self) -> Shared:
        return Shared()

    def record(self, model: type[Record], name: str) -> Record:
        """Return what a member holds as a record."""
        return self._shared.keep(_record(model, name, self.value(name)))

    @cached_property
    def run(self) -> RunRecord:
        """Return the run."""
        return self.record(RunRecord, names.RUN)

    @cached_property
    def definition(self) -> DefinitionRecord:
        """Return the definition that ran."""
        return self.record(DefinitionRecord, names.DEFINITION)

    def lines(self) -> Iterator[bytes]:
        """Give the lines of the audit log without their ends."""
        data = self.member(names.AUDIT)
        return (data[line] for line in lines_in(data))

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Return the audit leaves, in the order of their lines; what they say is not built."""
        data, found = self.member(names.AUDIT), list[Leaf]()
        if data[-1:] not in (b"", b"\n"):
            raise BrokenError(names.AUDIT, "the last line is not ended")
        keeper = Keeper(data)
        for number, line in enumerate(lines_in(data), start=1):
            leaf = parse(Leaf, f"{names.AUDIT} line {number}", data[line])
            found.append(keeper.keep(leaf, line.start, data[line]))
        return found

    @cached_property
    def decisions(self) -> dict[str, DecisionRecord]:
        """Return the decisions by member name: as DecisionForm where one is valid, else as DecisionRecord."""
        return {name: self._told(DecisionForm, DecisionRecord, name) for name in self.folder(names.DECISIONS)}

    @cached_property
    def receipts(self) -> dict[str, Receipt]:
        """Return the receipts by member name."""
        return self._records(names.RECEIPTS, Receipt)

    @cached_property
    def reads(self) -> dict[str, ReadRecord]:
        """Return the read records by member name."""
        return self._records(names.READS, ReadRecord)

    @cached_property
    def approvals(self) -> dict[str, ApprovalRecord]:
        """Return the approvals by member name: as ApprovalForm where one is valid, else as ApprovalRecord."""
        return {name: self._told(ApprovalForm, ApprovalRecord, name) for name in self.folder(names.APPROVALS)}

    @cached_property
    def decision_of(self) -> dict[str, DecisionRecord]:
        """Return the decisions by their own identifier."""
        return {decision.id: decision for decision in self.decisions.values()}

    @cached_property
    def decisions_about(self) -> dict[str | None, list[DecisionRecord]]:
        """Return the decisions about each effect, by its identifier."""
        return grouped(self.decisions.values(), lambda decision: decision.effect_id)

    @cached_property
    def approvals_about(self) -> dict[str | None, list[ApprovalRecord]]:
        """Return the approvals about each effect, by its identifier."""
        return grouped(self.approvals.values(), lambda approval: approval.effect_id)

    @cached_property
    def requirements(self) -> dict[tuple[str, str], list[RequirementRecord | None]]:
        """Return what policy required of people for an effect, by the effect's identifier and digest."""
        found: dict[tuple[str, str], list[RequirementRecord | None]] = {}
        for decision in self.decisions.values():
            if decision.outcome == "needs_approval":
                key = (decision.effect_id, decision.input.effect.digest)
                found.setdefault(key, []).append(decision.answer.requirement)
        return found

    @cached_property
    def leaves_about(self) -> dict[str, list[Leaf]]:
        """Return the leaves about each approval, in the chain's order."""
        found: dict[str, list[Leaf]] = {}
        for leaf in self.leaves:
            about = leaf.data.get("approval_id", leaf.correlation.approval_id)
            found.setdefault(str(about), []).append(leaf)
        return found

    def standing(self, approval: ApprovalRecord) -> list[VoteRecord]:
        """Return the votes of an approval that no `vote.withdrawn` names by their digest."""
        about = self.leaves_about.get(approval.id, [])
        withdrawn = Counter(str(leaf.data.get("digest")) for leaf in about if leaf.event == VOTE_WITHDRAWN)
        if not withdrawn:
            return list(approval.votes)
        standing = []
        for vote in approval.votes:
            digest = canonical.digest(vote.model_dump())
            if withdrawn[digest]:
                withdrawn[digest] -= 1
            else:
                standing.append(vote)
        return standing

    @cached_property
    def material(self) -> Material:
        """Return the members as a reader takes them, those that do not hold as well."""
        material = told_by(self.members, self._read)
        is_read = "leaves" in self.__dict__  # of a bundle that does not hold, they may not be leaves
        return replace(material, told=self._told_lines()) if is_read else material

    def _told_lines(self) -> Iterator[ToldLine]:
        for line, leaf in zip(lines_in(self.member(names.AUDIT)), self.leaves, strict=True):
            yield ToldLine(line, leaf.event, approval_in(leaf.data) or leaf.correlation.approval_id or "")

    def leaves_of(self, *events: str) -> list[Leaf]:
        """Return the leaves of these events, in the chain's order."""
        if len(events) == 1:
            return list(self._leaves_by_event.get(events[0], ()))
        return [leaf for leaf in self.leaves if leaf.event in events]

    @cached_property
    def _leaves_by_event(self) -> dict[str, list[Leaf]]:
        return grouped(self.leaves, lambda leaf: leaf.event)

    def form(self, model: type[Record], name: str, known: Mapping[str, BaseModel]) -> Record:
        """Return what a member holds in this form, which is one of those that are known if it may be."""
        found = known.get(name)
        return found if isinstance(found, model) else self.record(model, name)

    def _told(self, form: type[Record], model: type[Record], name: str) -> Record:
        value = self.value(name)
        with suppress(ValidationError):  # the rules of its form say what is wrong
            return self._shared.keep(form.model_validate(value))
        return self._shared.keep(_record(model, name, value))

    def _records(self, folder: str, model: type[Record]) -> dict[str, Record]:
        return {name: self.record(model, name) for name in self.folder(folder)}

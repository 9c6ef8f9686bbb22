"""Step repairs: steps need attention where the definition wants a person for an error, and go on as one said.

Other rules ask here which steps were given their result by somebody, and which were retried.
"""

from evidence.verify.contents import Contents
from evidence.verify.control_flow import TIMEOUTS
from evidence.verify.facts import Facts
from evidence.verify.forms import SettledForm
from evidence.verify.rules import Rule, broken_leaf, counted, data_of, rule
from receipts.chain import REPAIR_DECIDED, Leaf

_ATTENTION, _FAILED, _CANCELED = "step.needs_attention", "step.failed_terminal", "step.canceled"
_FOLLOWS = {"retry": None, "supply": "step.succeeded", "skip": "step.skipped", "end": _FAILED}
_WHILE_WAITING = ("supply", "skip")
_DECIDED = ("rejected", "changes_requested", "denied", "budget")


@rule(
    "steps.attention",
    "A step needs attention (`step.needs_attention`) where the definition says `on_error: needs_attention` of it, by an"
    " error whose `code` is none of `rejected`, `changes_requested`, `denied` and `budget`, and for which it has no"
    " branch; such an error fails it in no other way. It goes on by a `repair.decided`, by a person and of such a step,"
    " or is canceled; one with the `act` `supply` or `skip` may be of a step that waits by itself (`step.parked`),"
    " too. It says the `reason`, and of the `policy` that allowed it `decision_id` and `digest`; a `result` if its"
    " `act` is `supply`, and no other. An `act` of `supply`, `skip` or `end` is followed at that moment by"
    " `step.succeeded` with that `result`, `step.skipped` or `step.failed_terminal`; beside these there is `retry`.",
)
def _steps_attention(facts: Facts) -> str:
    course, times = _Course(facts), 0
    for leaf in facts.leaves:
        if leaf.event == REPAIR_DECIDED:
            course.settle(leaf)
        elif leaf.event.startswith("step."):
            course.move(leaf)
            times += leaf.event == _ATTENTION
    for settled in course.expected.values():
        raise broken_leaf(settled, f"step {settled.correlation.step} did not go on like that")
    return counted(times, "time")


class _Course:
    """Which steps need attention, and which were let go on with something still to follow from that."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.waiting = set[str]()
        self.parked = set[str]()
        self.expected: dict[str, Leaf] = {}

    def settle(self, leaf: Leaf) -> None:
        """Take over what a person says."""
        path, act = str(leaf.correlation.step), leaf.data.get("act")
        is_open = path in self.waiting or (path in self.parked and act in _WHILE_WAITING)
        if not is_open or leaf.actor.kind != "person" or act not in _FOLLOWS:
            raise broken_leaf(leaf, f"step {path} does not need attention, or may not be repaired like this")
        if (data_of(SettledForm, leaf).result is None) == (act == "supply"):
            raise broken_leaf(leaf, f"a result is what somebody supplied, and this is {act}")
        self.waiting.discard(path)
        if _FOLLOWS[act]:
            self.expected[path] = leaf

    def move(self, leaf: Leaf) -> None:
        """Compare word of a step with what was said of it before."""
        path = str(leaf.correlation.step)
        settled = self.expected.pop(path, None)
        if path in self.waiting and leaf.event != _CANCELED:
            raise broken_leaf(leaf, f"{leaf.event} of step {path}, which needs attention, and nobody had decided it")
        if settled is not None and not _follows(settled, leaf):
            raise broken_leaf(leaf, f"{leaf.event} of step {path} is not what line {settled.seq} says")
        if leaf.event == _ATTENTION and not self._may_need_attention(path, leaf):
            raise broken_leaf(leaf, f"step {path} needs attention after an error that does not wait for a person")
        if leaf.event == _FAILED and settled is None and self._may_need_attention(path, leaf):
            raise broken_leaf(leaf, f"step {path} failed, and its errors need attention")
        self.waiting = self.waiting | {path} if leaf.event == _ATTENTION else self.waiting - {path}
        waits = leaf.event == "step.parked" and self.facts.plan.node(path).kind in ("verb", "wait")
        self.parked = self.parked | {path} if waits else self.parked - {path}

    def _may_need_attention(self, path: str, leaf: Leaf) -> bool:
        code, branches = leaf.data.get("code"), self.facts.plan.branches(path)
        has_branch = "failure" in branches or ("timeout" in branches and code in TIMEOUTS)
        return self.facts.plan.node(path).on_error == "needs_attention" and code not in _DECIDED and not has_branch


def _follows(settled: Leaf, leaf: Leaf) -> bool:
    is_same = settled.data.get("act") != "supply" or leaf.data.get("result") == settled.data.get("result")
    return leaf.event == _FOLLOWS[settled.data["act"]] and leaf.at == settled.at and is_same


RULES: tuple[Rule[Facts], ...] = (_steps_attention,)


def supplied_steps(contents: Contents) -> dict[str, Leaf]:
    """Return the steps to which somebody gave their result, each with the leaf that says so."""
    return {str(leaf.correlation.step): leaf for leaf in _repairs(contents, "supply")}


def retried_lines(contents: Contents) -> dict[str, list[int]]:
    """Return for each step the lines that say that somebody had it tried anew."""
    found: dict[str, list[int]] = {}
    for leaf in _repairs(contents, "retry"):
        found.setdefault(str(leaf.correlation.step), []).append(leaf.seq)
    return found


def _repairs(contents: Contents, act: str) -> list[Leaf]:
    return [leaf for leaf in contents.leaves_of(REPAIR_DECIDED) if leaf.data.get("act") == act]

"""Rules about what was said while something was waited for, and ended nothing."""

from evidence.verify.comparing import broken, data
from evidence.verify.facts import Facts
from evidence.verify.forms import Progressed
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.waits import with_open

_PROGRESS = "wait.progress"


@rule(
    "waits.progress",
    "A `wait.progress` is of an open wait of its step, and of no wait for approval; its `count` rises with each about"
    " one wait.",
)
def _progress(facts: Facts) -> str:
    counts, told = dict[str, int](), 0
    for leaf, active in with_open(facts):
        if leaf.event == _PROGRESS:
            word, opened = data(Progressed, leaf), active.get((leaf.correlation.step, False))
            if opened is None or opened[1].wait_id != word.wait_id:
                raise broken(leaf, f"step {leaf.correlation.step} did not wait for this")
            if word.count <= counts.get(word.wait_id, 0):
                raise broken(
                    leaf, f"is the word number {word.count} for {word.wait_id}, and there was a later one before"
                )
            counts[word.wait_id] = word.count
            told += 1
    return counted(told, "word")


RULES: tuple[Rule[Facts], ...] = (_progress,)

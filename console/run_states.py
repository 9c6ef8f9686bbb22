"""States of steps as pictures tell them: a sign and words for each, so that nobody needs its colour."""

from collections.abc import Callable, Mapping

from runtime.services.run_graph import GraphNode

_DONE = ("succeeded", "skipped")
_CHECK, _CROSS = "M3,8 L7,12 L13,4", "M4,4 L12,12 M12,4 L4,12"
_SIGNS: Mapping[str, str] = {
    "succeeded": _CHECK,
    "failed_terminal": _CROSS,
    "failed_handled": _CROSS,
    "needs_attention": "M8,2 L8,9.5 M8,12.5 L8,14",
    "waiting_approval": "M5.5,3 L5.5,13 M10.5,3 L10.5,13",
    "parked": "M4,3 L12,3 L4,13 L12,13 Z",
    "running": "M5,3 L12,8 L5,13 Z",
    "ready": "M5,3 L12,8 L5,13 Z",
    "failed_retryable": "M12.5,8 A4.5,4.5 0 1 1 10,4 M10,1 L10.5,4.5 L7,5",
    "skipped": "M2,8 L13,8 M9,4 L13,8 L9,12",
    "canceled": "M3,8 A5,5 0 1 0 13,8 A5,5 0 1 0 3,8 M4.5,4.5 L11.5,11.5",
}
MARKS: Mapping[str, str] = {
    "asked": "M0,-6 L6,0 L0,6 L-6,0 Z",
    "yes": "M-5,0 A5,5 0 1 0 5,0 A5,5 0 1 0 -5,0 Z",
    "no": "M-4,-4 L4,4 M4,-4 L-4,4",
    "act": "M0,-6 L6,5 L-6,5 Z",
    "failed": "M-5,-5 L5,-5 L5,5 L-5,5 Z M-5,-5 L5,5",
}
"""The paths of moments, around their middle."""
_NONE = "M3,8 L5,8 M7,8 L9,8 M11,8 L13,8"


def sign(status: str) -> str:
    """Return the path of a state's sign, in a square of 16."""
    return _SIGNS.get(status, _NONE)


def words_of(words: Callable[[str], str]) -> Callable[[GraphNode], str]:
    """Return what tells the state of a node, by words for a state; of several steps it says how many."""

    def tell(node: GraphNode) -> str:
        if not node.steps:
            return "not reached"
        if node.rounds is not None:
            return f"{words(node.status)}, {node.rounds} round{'' if node.rounds == 1 else 's'}"
        if node.steps == 1:
            return words(node.status)
        done = sum(node.counts.get(one, 0) for one in _DONE)
        return f"{done} of {node.steps} done" + (
            "" if done == node.steps else f", {node.counts[node.status]} {words(node.status)}"
        )

    return tell

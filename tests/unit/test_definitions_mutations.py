"""However a file is damaged, loading ends in problems and never in another exception."""

import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.definitions.canonical import from_canonical
from runtime.definitions.loading.runbooks import load_runbook
from runtime.definitions.loading.verbs import load_verbs
from runtime.definitions.loading.yaml_source import Source, parse_source
from runtime.handlers import Call, Handler, JsonObject, Reconciled, Untouched

GOOD = Path(__file__).parent / "definitions" / "good"


async def act(call: Call) -> JsonObject:
    return call.params


async def look_back(call: Call) -> Reconciled:
    return Untouched()


HANDLERS = {
    "register::look_up": Handler(act, reconcile=look_back, writes=False),
    **dict.fromkeys(["tasks::open", "tasks::close"], Handler(act, reconcile=look_back)),
}
VERBS = yaml.safe_load((GOOD / "verbs/desk.yaml").read_text(encoding="utf-8"))
RUNBOOK = yaml.safe_load((GOOD / "runbooks/onboard.yaml").read_text(encoding="utf-8"))
WORDS = [
    "",
    "x",
    "lei",
    "type",
    "object",
    "array",
    "string",
    "uuid",
    "#/definitions/Node",
    "look",
    "ask",
    "P1D",
    "${",
    "write",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.floats(-1, 1)
    | st.sampled_from([*WORDS, "${trigger.lei}", "${1}"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from([*WORDS, "$ref", "properties", "items", "required", "anyOf"]), inner, max_size=2
        )
    ),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Source:
    """Draw `document` with one or two of its values replaced by others."""
    copy = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 2))):
        parent = copy
        while True:
            places = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            place = draw(st.sampled_from(places))
            inner = parent[place]
            if not isinstance(inner, (dict, list)) or not inner or draw(st.booleans()):
                break
            parent = inner
        parent[place] = draw(VALUES)
    return parse_source(json.dumps(copy).encode(), "damaged.yaml")


@settings(max_examples=200)
@given(damaged(VERBS))
def test_damaged_verbs_are_whole_or_have_problems(source: Source) -> None:
    loaded, problems = load_verbs(source, HANDLERS)
    for verb in loaded:
        assert verb.verb is not None or verb.problems or problems


@settings(max_examples=200)
@given(damaged(VERBS), damaged(RUNBOOK))
def test_damaged_runbook_is_canonical_or_has_problems(verbs: Source, runbook: Source) -> None:
    known = {verb.name: verb.verb for verb in load_verbs(verbs, HANDLERS)[0]}
    loaded = load_runbook(runbook, known)
    if loaded.definition is None:
        assert loaded.problems or None in known.values()
    else:
        assert from_canonical(loaded.definition.canonical) == loaded.definition

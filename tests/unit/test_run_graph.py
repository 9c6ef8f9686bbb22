"""The picture of a run's graph: every node once, none upon another, each below what it waits for."""

import re
from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from console.run_graph import BOX_HEIGHT, MOST, Picture, draw, shortest
from console.run_states import words_of
from runtime.services.run_graph import GraphNode, RunGraph


def node(address: str, kind: str = "call", status: str = "succeeded", branch: str = "", **more: int) -> GraphNode:
    return GraphNode(address, kind, "look", branch, "", status, more or {status: 1} if status else {})


def drawn(nodes: Sequence[GraphNode], edges: Sequence[tuple[str, str]] = ()) -> Picture:
    found = draw(RunGraph(nodes, edges, {("s", "case_1"): "if a > b", ("s", "else"): "else"}), words_of(str))
    assert found is not None
    return found


@st.composite
def graphs(draw_: st.DrawFn) -> tuple[list[GraphNode], list[tuple[str, str]]]:
    """Return nodes in blocks within blocks, each behind what it needs, as a definition has them."""
    nodes: list[GraphNode] = []
    edges: list[tuple[str, str]] = []

    def block(holder: str, branch: str, depth: int) -> None:
        own: list[str] = []
        for number in range(draw_(st.integers(1, 4))):
            address = f"{holder}.{branch}{number}" if holder else f"n{number}"
            edges.extend((one, address) for one in own if draw_(st.booleans()))
            own.append(address)
            nodes.append(node(address, branch=branch))
            for inner in draw_(st.sampled_from([(), (), ("do",), ("case_1", "else")])) if depth < 2 else ():
                block(address, inner, depth + 1)

    block("", "", 0)
    return nodes, edges


@given(graphs())
def test_every_node_has_one_box_and_none_lies_upon_another(
    graph: tuple[list[GraphNode], list[tuple[str, str]]],
) -> None:
    nodes, edges = graph
    picture = drawn(nodes, edges)
    assert sorted(box.node.address for box in picture.boxes) == sorted(one.address for one in nodes)
    for one, other in combinations(picture.boxes, 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert beside or abs(one.y - other.y) >= BOX_HEIGHT, (one, other)
    for box in picture.boxes:
        assert 0 <= box.x <= picture.width - box.width
        assert 0 <= box.y <= picture.height - BOX_HEIGHT


@given(graphs())
def test_a_node_stands_below_what_it_waits_for(graph: tuple[list[GraphNode], list[tuple[str, str]]]) -> None:
    nodes, edges = graph
    y = {box.node.address: box.y for box in drawn(nodes, edges).boxes}
    assert all(y[one] < y[to] for one, to in edges)


@given(graphs())
def test_every_frame_holds_what_stands_inside_its_node(graph: tuple[list[GraphNode], list[tuple[str, str]]]) -> None:
    nodes, edges = graph
    picture = drawn(nodes, edges)
    boxes = {box.node.address: box for box in picture.boxes}
    frames = [frame for frame in picture.frames if not frame.is_branch]
    for address in {one.block for one in nodes if one.block}:
        own = [frame for frame in frames if frame.y == boxes[address].y + BOX_HEIGHT / 2]
        inner = [boxes[one.address] for one in nodes if one.address.startswith(f"{address}.")]
        assert any(
            all(
                frame.x <= box.x and box.x + box.width <= frame.x + frame.width and box.y < frame.y + frame.height
                for box in inner
            )
            for frame in own
        )


def test_what_a_longer_way_says_has_no_line() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    assert shortest(["a", "b", "c"], edges) == [("a", "b"), ("b", "c")]
    assert len(drawn([node("a"), node("b"), node("c")], edges).lines) == 2


def test_a_line_that_passes_a_layer_goes_around_what_stands_there() -> None:
    nodes = [node(one) for one in ("a", "b", "c", "d")]
    picture = drawn(nodes, [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
    assert len(picture.lines) == 3  # a to d is said
    picture = drawn([*nodes[:3], node("e"), node("f")], [("a", "b"), ("b", "c"), ("e", "f"), ("c", "f")])
    boxes = {box.node.address: box for box in picture.boxes}
    (passing,) = [line for line in picture.lines if line.startswith(f"M {boxes['e'].x + 98:g},")]
    points = [tuple(map(float, point.split(","))) for point in re.findall(r"[\d.]+,[\d.]+", passing)]
    for x, y in points[1:-1]:
        assert not any(box.x < x < box.x + box.width and box.y < y < box.y + BOX_HEIGHT for box in picture.boxes)


def test_a_branch_is_named_with_all_that_its_condition_says() -> None:
    long = "if " + "very " * 40
    nodes = [node("s", "switch"), node("s.yes", branch="case_1"), node("s.no", branch="else")]
    found = draw(RunGraph(nodes, [], {("s", "case_1"): long, ("s", "else"): "else"}), words_of(str))
    assert found is not None
    first, second = [frame for frame in found.frames if frame.is_branch]
    assert (first.label[-1], first.says, second.label) == ("…", long, "else")
    ending = drawn([node("ask"), node("ask.timeout", "branch"), node("ask.timeout.told", branch="do")])
    assert [frame.label for frame in ending.frames if frame.is_branch] == ["on timeout"]
    assert {box.node.address for box in ending.boxes} == {"ask", "ask.timeout.told"}


def test_states_are_told_in_words() -> None:
    tell = words_of(lambda status: f"is {status}")
    assert tell(node("a", status="")) == "not reached"
    assert tell(node("a", status="parked")) == "is parked"
    assert tell(node("a", status="parked", succeeded=2, skipped=1, parked=1)) == "3 of 4 done, 1 is parked"
    assert tell(node("a", succeeded=2)) == "2 of 2 done"
    repeat = GraphNode("r", "repeat", "", "", "", "succeeded", {"succeeded": 1}, (), 1)
    assert tell(repeat) == "is succeeded, 1 round"


def test_a_runbook_that_is_too_large_has_no_picture() -> None:
    nodes = [node(f"n{number}") for number in range(MOST + 1)]
    assert draw(RunGraph(nodes, [], {}), words_of(str)) is None
    assert draw(RunGraph(nodes[1:], [], {}), words_of(str)) is not None


def test_a_runbook_without_steps_is_an_empty_picture() -> None:
    found = drawn([])
    assert (found.width, found.height, *found.boxes, *found.lines) == (0, 0)

"""The picture of a run's graph: where boxes, frames and lines stand, in layers from above to below.

A node stands one layer below the lowest of those that it waits for, in the order of the runbook. What a longer way says
already has no line. Nodes with steps inside are frames around the picture of these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from runtime.services.run_graph import GraphNode, RunGraph

MOST = 300
"""Nodes that are drawn: of a larger runbook the table of steps tells."""

BOX_WIDTH, BOX_HEIGHT = 196, 48
_LANE = 16  # for a line that passes a layer
_BESIDE, _BELOW, _INSIDE, _LABEL = 14, 26, 10, 22
_NAME, _WORDS = 19, 24
_LETTER = 7.5
_ENDING = "branch"
"""The kind of node that holds the steps after one ending of a step; they are its body."""
BODY = "do"


@dataclass(frozen=True)
class Box:
    """A node's box; `title` is its name as far as there is room, `words` its state."""

    x: float
    y: float
    width: float
    node: GraphNode
    title: str
    words: str


@dataclass(frozen=True)
class Frame:
    """A frame around what stands inside a node, or in one branch of it; then it has a label."""

    x: float
    y: float
    width: float
    height: float
    label: str
    says: str
    is_branch: bool


@dataclass(frozen=True)
class Picture:
    """What is drawn, and how large it is; `lines` are paths of SVG."""

    width: float
    height: float
    boxes: Sequence[Box] = ()
    frames: Sequence[Frame] = ()
    lines: Sequence[str] = ()

    def at(self, x: float, y: float) -> "Picture":
        """Return it with everything moved."""
        boxes = [replace(one, x=one.x + x, y=one.y + y) for one in self.boxes]
        frames = [replace(one, x=one.x + x, y=one.y + y) for one in self.frames]
        return replace(self, boxes=boxes, frames=frames, lines=[_moved(line, x, y) for line in self.lines])


def _moved(line: str, x: float, y: float) -> str:
    moved = [one if one.isalpha() else _pair(one, x, y) for one in line.split()]
    return " ".join(moved)


def _pair(point: str, x: float, y: float) -> str:
    left, _, right = point.partition(",")
    return f"{float(left) + x:g},{float(right) + y:g}"


def draw(graph: RunGraph, words: Callable[[GraphNode], str]) -> Picture | None:
    """Return the picture of a graph, None where it is too large; `words` tell a node's state."""
    return None if len(graph.nodes) > MOST else _Drawing(graph, words).block("", "")


def cut(text: str, most: int) -> str:
    """Return a text as far as there is room."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass
class _Drawing:
    graph: RunGraph
    words: Callable[[GraphNode], str]
    inside: dict[str, dict[str, list[GraphNode]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.graph.nodes:
            self.inside.setdefault(node.block, {}).setdefault(node.branch, []).append(node)

    def block(self, holder: str, branch: str) -> Picture:
        """Return the picture of the nodes in one branch of a node, or of the whole runbook."""
        nodes = {node.address: node for node in self.inside.get(holder, {}).get(branch, ())}
        edges = [edge for edge in self.graph.edges if edge[0] in nodes and edge[1] in nodes]
        return _laid({address: self._node(node) for address, node in nodes.items()}, shortest(list(nodes), edges))

    def _node(self, node: GraphNode) -> Picture:
        if node.kind == _ENDING:
            return self._framed(self.block(node.address, BODY), f"on {node.name}")
        parts = [self._branch(node, branch) for branch in self.inside.get(node.address, {})]
        content = sum(part.width for part in parts) + _BESIDE * (len(parts) - 1)
        width = max(BOX_WIDTH, content + 2 * _INSIDE) if parts else BOX_WIDTH
        box = Box((width - BOX_WIDTH) / 2, 0, BOX_WIDTH, node, cut(node.name, _NAME), cut(self.words(node), _WORDS))
        if not parts:
            return Picture(width, BOX_HEIGHT, [box])
        height, x = max(part.height for part in parts), (width - content) / 2
        top = BOX_HEIGHT + _INSIDE
        frame = Frame(0, BOX_HEIGHT / 2, width, BOX_HEIGHT / 2 + height + 2 * _INSIDE, "", "", is_branch=False)
        found = Picture(width, top + height + _INSIDE, [box], [frame])
        for part in parts:
            found, x = _joined(found, part.at(x, top)), x + part.width + _BESIDE
        return found

    def _branch(self, node: GraphNode, branch: str) -> Picture:
        """Return the picture of a branch; it has a frame of its own where it has a name."""
        picture, said = self.block(node.address, branch), self.graph.branches.get((node.address, branch), "")
        return self._framed(picture, said) if said else picture

    def _framed(self, picture: Picture, says: str) -> Picture:
        width = max(picture.width + 2 * _INSIDE, BOX_WIDTH)
        height = picture.height + _LABEL + _INSIDE
        frame = Frame(0, 0, width, height, cut(says, int(width / _LETTER)), says, is_branch=True)
        return _joined(Picture(width, height, (), [frame]), picture.at((width - picture.width) / 2, _LABEL))


def _joined(one: Picture, other: Picture) -> Picture:
    """Return a picture with what another one has in it, as large as before."""
    return replace(
        one,
        boxes=[*one.boxes, *other.boxes],
        frames=[*one.frames, *other.frames],
        lines=[*one.lines, *other.lines],
    )


def shortest(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges without those that a longer way says already; a node stands behind what it waits for."""
    before: dict[str, set[str]] = {node: set() for node in nodes}
    for source, target in edges:
        before[target].add(source)
    above: dict[str, set[str]] = {}
    for node in nodes:
        above[node] = before[node].union(*(above[one] for one in before[node]))
    return [(one, to) for one, to in edges if not any(one in above[other] for other in before[to] if other != one)]


def _laid(parts: Mapping[str, Picture], edges: Sequence[tuple[str, str]]) -> Picture:
    """Return the parts in layers, with lines between them."""
    layers, ways = _layers(list(parts), edges)
    sizes: dict[str, tuple[float, float]] = {lane: (_LANE, 0) for way in ways for lane in way[1:-1]}
    sizes |= {name: (part.width, part.height) for name, part in parts.items()}
    widths = [sum(sizes[name][0] for name in layer) + _BESIDE * (len(layer) - 1) for layer in layers]
    width, above = max(widths, default=0.0), _above(ways)
    middle: dict[str, float] = {}
    found, bands, top = Picture(width, 0.0), dict[str, tuple[float, float]](), 0.0
    for layer, own in zip(layers, widths, strict=True):
        x, height = (width - own) / 2, max(sizes[name][1] for name in layer)
        for name in sorted(layer, key=lambda name: _wanted(above.get(name, ()), middle)):
            middle[name], bands[name] = x + sizes[name][0] / 2, (top, top + height)
            found = _joined(found, parts[name].at(x, top)) if name in parts else found
            x += sizes[name][0] + _BESIDE
        top += height + _BELOW
    lines = [_line([(middle[one], *bands[one]) for one in way], sizes[way[0]][1]) for way in ways]
    return replace(found, height=max(0.0, top - _BELOW), lines=[*found.lines, *lines])


def _above(ways: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Return what stands above each part of a way."""
    found: dict[str, list[str]] = {}
    for way in ways:
        for one, to in pairwise(way):
            found.setdefault(to, []).append(one)
    return found


def _wanted(above: Sequence[str], middle: Mapping[str, float]) -> float:
    """Return where a part would stand by what is above it; where nothing is, the order of the runbook holds."""
    return sum(middle[one] for one in above) / len(above) if above else 0.0


def _layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the layers, and the way of each edge through them: in each layer that it passes it has a lane."""
    depth = dict.fromkeys(names, 0)
    for name in names:
        depth[name] = max((depth[one] + 1 for one, to in edges if to == name), default=0)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        layers[depth[name]].append(name)
    ways = []
    for source, target in edges:
        lanes = {f"{source} to {target} {number}": number for number in range(depth[source] + 1, depth[target])}
        for lane, number in lanes.items():
            layers[number].append(lane)
        ways.append([source, *lanes, target])
    return layers, ways


def _line(way: Sequence[tuple[float, float, float]], height: float) -> str:
    """Return a line through points of (middle, top of the layer, its end); it begins below what is so high."""
    x, top, end = way[0]
    said = [f"M {x:g},{top + height:g} L {x:g},{end:g}"]
    for number, (to, below, last) in enumerate(way[1:], 2):
        half = (end + below) / 2
        said.append(f"C {x:g},{half:g} {to:g},{half:g} {to:g},{below:g}")
        if number < len(way):
            said.append(f"L {to:g},{last:g}")
        x, end = to, last
    return " ".join(said)

"""The rules of the house that can be read from the text alone: where SQL and the clock are, and sizes.

Who may import what is import-linter's to say. A rule takes one source file and yields what breaks it;
`tests/unit/test_tools.py` aims them at the whole tree.
"""

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CODE = (
    *("countersign", "bot", "console", "edge", "sandbox", "evidence", "runtime", "policy", "receipts", "witness"),
    *("packs", "rego", "benchmarks", "tools", "tests"),
)

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

CLOCK = "runtime/clock.py"
CLOCK_READINGS = {
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "time.time",
    "time.time_ns",
}

_SQL = re.compile(
    r"\b(SELECT\s.*\sFROM|INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|TRUNCATE\s|(CREATE|ALTER|DROP)\s+(TABLE|INDEX))\b"
    r"|^\s*(select\s.*\sfrom|insert\s+into|update\s+\S+\s+set|delete\s+from)\b",
    re.DOTALL,
)

# Somebody's home, and where packages come from: set-up works with any index.
_FOREIGN = re.compile(r"/(?:home|Users)/\w+/|/roo[t]/|(?:index[-_]url|--registry|GOPROXY|\s-i)[ =]+http")

# In JavaScript: where a function, a method or an arrow function with a body begins, alone in its line.
_BEGINS = re.compile(
    r"^(?P<indent> *)(?:export )?(?:const |let |static |async |get |set |function\*? )*"
    r"(?!(?:if|for|while|switch|catch|else|return) )#?(?P<name>[\w$]+)[ =(].*(?:\)|=>) \{$"
)


@dataclass(frozen=True)
class Source:
    """A file of the tree; `path` is relative, with slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the parsed module."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return every node of the module: each rule looks at them all."""
        return list(ast.walk(self.tree))

    @property
    def is_outside(self) -> bool:
        """Return whether the file drives the program from outside, as tests and benchmarks do."""
        return self.path.startswith(("tests/", "benchmarks/"))

    @cached_property
    def names(self) -> dict[str, str]:
        """Return what each imported name stands for."""
        names = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                names.update({alias.asname or alias.name: alias.name for alias in node.names})
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        return names

    @cached_property
    def functions(self) -> list[tuple[str, int, int]]:
        """Return name, first line and number of lines of each function."""
        if self.path.endswith(".js"):
            return list(_functions_of_script(self.text.splitlines()))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in self.nodes if isinstance(node, kinds)]
        return [(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1) for node in found]

    @property
    def lines(self) -> int:
        """Return the number of lines."""
        return len(self.text.splitlines())


def python_sources(root: Path) -> list[Source]:
    """Return our Python files."""
    files = (file for folder in CODE for file in sorted((root / folder).rglob("*.py")))
    return [Source(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files]


def scripts(root: Path) -> list[Source]:
    """Return our files of JavaScript, but for what is generated."""
    named = (source for source in text_files(root) if source.path.endswith(".js"))
    return [source for source in named if not source.path.endswith(".generated.js")]


def table_of(tree: Iterable[Source]) -> str:
    """Return the folders of the tree as a table in Markdown, each with the first line of its package's docstring."""
    packages = {
        source.path.removesuffix("/__init__.py"): source for source in tree if source.path.endswith("__init__.py")
    }
    told = (
        f"| `{folder}` | {(ast.get_docstring(source.tree) or '').splitlines()[0].rstrip('.')} |"
        for folder, source in packages.items()
        if not source.path.startswith("tests/")
    )
    return "\n".join(["| folder | what is in it |", "| --- | --- |", *told])


def text_files(root: Path) -> Iterator[Source]:
    """Return every file that is text, outside hidden and generated folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not re.search(r"^\.(?!ci$)|^build$|\.egg-info$|^__pycache__$", name)]
        for name in names:
            file = Path(folder) / name
            try:
                yield Source(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
            except UnicodeDecodeError:
                continue  # a picture


def sql_only_in_store(source: Source) -> Iterator[str]:
    """Find SQL outside runtime/store/."""
    if source.is_outside or source.path.startswith("runtime/store/"):
        return
    documentation = {id(node.value) for node in source.nodes if isinstance(node, ast.Expr)}
    constants = (node for node in source.nodes if isinstance(node, ast.Constant))
    for node in constants:
        if isinstance(node.value, str) and id(node) not in documentation and _SQL.search(node.value):
            yield f"{source.path}:{node.lineno} holds SQL"


def clock_read_in_one_place(source: Source) -> Iterator[str]:
    """Find readings of the wall clock outside runtime/clock.py."""
    if source.is_outside or source.path == CLOCK:
        return
    names = source.names
    for node in source.nodes:
        if isinstance(node, ast.Attribute | ast.Name) and _dotted(node, names) in CLOCK_READINGS:
            yield f"{source.path}:{node.lineno} reads the clock"


def clock_is_handed_in(source: Source) -> Iterator[str]:
    """Find parameters that fall back on the machine's clock, where nobody would notice that another was forgotten."""
    if source.is_outside:
        return
    names = source.names
    for node in source.nodes:
        if isinstance(node, ast.arguments):
            for default in (*node.defaults, *node.kw_defaults):
                if default is not None and _dotted(default, names) == "runtime.clock.utc_now":
                    yield f"{source.path}:{default.lineno} has a clock by default"


def sizes_within_limits(source: Source) -> Iterator[str]:
    """Find files and functions that are longer than their limit."""
    if source.lines > MAX_FILE_LINES:
        yield f"{source.path} has {source.lines} lines"
    for name, line, length in source.functions:
        if length > MAX_FUNCTION_LINES:
            yield f"{source.path}:{line} {name} has {length} lines"


def names_no_machine(source: Source) -> Iterator[str]:
    """Find home folders, and addresses that packages are to be taken from."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if _FOREIGN.search(line):
            yield f"{source.path}:{number} names a home folder or a package index"


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """Return the dotted name of an expression with imports resolved, or "" where it has none."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, names)
        return base and f"{base}.{node.attr}"
    return ""


def _functions_of_script(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """Give name, first line and number of lines of each function: it ends with a brace that is indented as it is."""
    for number, line in enumerate(lines):
        if begins := _BEGINS.match(line):
            end = begins["indent"] + "}"
            length = next(count for count, later in enumerate(lines[number:], 1) if later.startswith(end))
            yield begins["name"], number + 1, length

"""Write docs/states.md, docs/tables.md and the folders in docs/architecture.md. Run as `python -m tools.pages`.

What a state means is said under it in runtime/model/states.py, what a table holds in the comment above it in
runtime/store/schema/*_tables.py, and what is in a folder in the docstring of its package.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sqlalchemy import CheckConstraint, PrimaryKeyConstraint, Table, UniqueConstraint

from runtime.model.states import MACHINES
from runtime.model.states import Table as Moves
from runtime.store.schema.base import rights_of
from runtime.store.schema.role_names import PROGRAM
from runtime.store.schema.tables import INSERT_ONLY, metadata
from tools import layout

ROOT = Path(__file__).parents[1]
STATES = "runtime/model/states.py"
SCHEMA = "runtime/store/schema"

_STATES_HEAD = f"""\
# States

<!-- `python -m tools.pages` writes this page from {STATES}. -->
"""
_TABLES_HEAD = f"""\
# Tables

<!-- `python -m tools.pages` writes this page from {SCHEMA}/*_tables.py. -->

`{SCHEMA}/` declares the tables and the rights of the program, and creates them in steps of plain
SQL that Alembic runs and that never change once they are released. Every invariant that the database can
enforce, it enforces: keys, checks, and references between tables. A column of statuses or kinds takes those of
the program and no others. *Insert only* is a trigger that refuses UPDATE and DELETE to everybody, the program's
own role included. Where rows are *never deleted*, a trigger also refuses changes of the columns that the
declaration does not list. Columns have their comments in the files named below. `migrate` and `doctor` compare
a database with `{SCHEMA}/schema.txt`, the declared schema in the words of PostgreSQL's catalog;
tests compare that file with the declarations and with the result of the steps. The program speaks psycopg;
SQLAlchemy only declares the tables and drives migrations and roles.
"""
_ONE_OF = re.compile(r"\w+ IN \([^()]*\)")


class PageError(Exception):
    """A page cannot be made: a state or table has no explanation, or the folders no place; the message names it."""


def meanings(text: str) -> dict[tuple[str, str], str]:
    """Return what the text of a module says below each member of its classes, by class and member."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            for member, said in zip(node.body, node.body[1:], strict=False):
                if isinstance(member, ast.Assign) and (words := _string_of(said)):
                    found[node.name, ast.unparse(member.targets[0])] = words
    return found


def states_page(text: str) -> str:
    """Return docs/states.md, made from the text of the module of states; raise PageError."""
    module, said = ast.parse(text), meanings(text)
    about = {node.name: ast.get_docstring(node) or "" for node in module.body if isinstance(node, ast.ClassDef)}
    parts = [_STATES_HEAD, (ast.get_docstring(module) or "").partition("\n\n")[2] + "\n"]
    for name, moves in MACHINES.items():
        kind = type(next(iter(moves))).__name__
        parts.append(f"## {name.capitalize()}\n\n{about[kind]}\n\n{_moves_table(kind, moves, said)}\n")
    return "\n".join(parts)


def comments(text: str) -> dict[str, str]:
    """Return the comment above each table that the text of a module declares, by the table's variable."""
    found = re.findall(r"((?:^# .*\n)*)^(\w+) = Table\($", text, re.MULTILINE)
    return {name: " ".join(line.removeprefix("# ") for line in above.splitlines()) for above, name in found}


def tables_page(texts: Mapping[str, str]) -> str:
    """Return docs/tables.md, made from the modules that declare tables, text by path; raise PageError."""
    parts = [_TABLES_HEAD]
    for path, text in texts.items():
        title = Path(path).stem.replace("_", " ").capitalize()
        rows = (_table_row(path, name, said) for name, said in comments(text).items())
        table = "\n".join(["| table | holds | the database enforces |", "| --- | --- | --- |", *rows])
        parts.append(f"## {title}\n\n{ast.get_docstring(ast.parse(text))}\n\nDeclared in `{path}`.\n\n{table}\n")
    return "\n".join(parts)


def with_folders(page: str) -> str:
    """Return docs/architecture.md with the folders as their packages' docstrings describe them; raise PageError."""
    before, head, after = page.partition("| folder | what is in it |\n")
    if not head:
        raise PageError("docs/architecture.md has no table of folders")
    _, end, rest = after.partition("\n\n")
    return before + layout.table_of(layout.python_sources(ROOT)) + end + rest


def table_modules() -> dict[str, str]:
    """Return the texts of the modules that declare tables, by path."""
    files = sorted((ROOT / SCHEMA).glob("*_tables.py"))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def pages() -> dict[Path, str]:
    """Return each generated page as it has to be."""
    architecture = ROOT / "docs/architecture.md"
    return {
        ROOT / "docs/states.md": states_page((ROOT / STATES).read_text(encoding="utf-8")),
        ROOT / "docs/tables.md": tables_page(table_modules()),
        architecture: with_folders(architecture.read_text(encoding="utf-8")),
    }


def main() -> None:
    """Write the pages."""
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")


def _string_of(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


def _moves_table(kind: str, moves: Moves, said: Mapping[tuple[str, str], str]) -> str:
    rows = ["| state | what it means, who moves it on, how long it lasts | next |", "| --- | --- | --- |"]
    for state in type(next(iter(moves))):
        if (kind, state.name) not in said:
            raise PageError(f"{STATES}: {kind}.{state.name} has no explanation below it")
        following = ", ".join(f"`{one}`" for one in type(state) if one in moves[state]) or "none"
        rows.append(f"| `{state}` | {said[kind, state.name]} | {following} |")
    return "\n".join(rows)


def _table_row(path: str, name: str, said: str) -> str:
    if not said:
        raise PageError(f"{path}: the table {name} has no comment above it")
    return f"| `{name}` | {said} | {'; '.join(_enforced(metadata.tables[name]))} |"


def _enforced(table: Table) -> Iterator[str]:
    constraints = sorted(table.constraints, key=lambda one: str(one.name))
    for one in constraints:
        if isinstance(one, PrimaryKeyConstraint | UniqueConstraint) and one.columns:
            yield f"one per {_named([column.name for column in one.columns])}"
    for index in sorted(table.indexes, key=lambda one: str(one.name)):
        if index.unique:
            where = index.dialect_options["postgresql"]["where"]
            yield f"one per {_named([column.name for column in index.columns])} where `{where}`"
    for one in constraints:
        if isinstance(one, CheckConstraint) and not _ONE_OF.fullmatch(str(one.sqltext)):
            yield f"`{one.sqltext}`"
    if table.name in INSERT_ONLY:
        yield "insert only"
    elif not any(rights.deletes for rights in rights_of(table).values()):
        yield "never deleted"
    if PROGRAM not in rights_of(table):
        yield f"written by {_named(list(rights_of(table)))} alone"


def _named(columns: list[str]) -> str:
    names = ", ".join(f"`{column}`" for column in columns)
    return names if len(columns) == 1 else f"({names})"


if __name__ == "__main__":
    main()

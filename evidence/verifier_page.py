"""The verifier for browsers as one page, joined from the modules in `browser`.

The page works from a file, so it may load nothing: the modules become one script, each behind those that it imports.
What they import and export is told by lines of one form, and names at the top of modules are unique. So joining is
leaving out those lines. The same modules give the same bytes, and so the same SHA-256.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

FIRST = "page"
"""The module that begins, and needs all others."""

_IMPORT = re.compile(r'^import \{([\w$,\s]+)\} from "\./([\w.]+)\.js";\n', re.MULTILINE)
_TOP = re.compile(r"^(export )?(?:async function|function|class|const|let) ([\w$]+)", re.MULTILINE)
_OTHER = re.compile(
    r"^(?:import\b|export\b(?! (?:async function|function|class|const|let) )).*|</?script|<!--", re.MULTILINE
)

_SCRIPT = """\

"use strict";

// Verifies a bundle as docs/evidence-format.md says, with nothing but the browser: no library, no network, no storage.
// What comes from a bundle is shown as text, never as markup. Joined of the modules in evidence/browser.
"""


class JoinError(Exception):
    """The modules cannot be one script; the message says which, and why."""


@dataclass(frozen=True)
class Module:
    """A module: what it imports, by module, what it declares, what of that it exports, and its text without both."""

    imports: Mapping[str, frozenset[str]]
    declared: tuple[str, ...]
    exported: frozenset[str]
    text: str


def page() -> str:
    """Return the page: the shell with the style and the script in it, and their hashes in its policy."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in files(__package__).joinpath("browser").iterdir()}
    shell, style = texts["shell.html"], f"\n{texts['verifier.css']}"
    sources = {name.removesuffix(".js"): texts[name] for name in sorted(texts) if name.endswith(".js")}
    parts = {"style": style, "script": script({name: read(name, text) for name, text in sources.items()})}
    parts |= {f"{name}-hash": _hash(text) for name, text in parts.items()}
    return re.sub(r"\{(style|script|style-hash|script-hash)\}", lambda found: parts[found[1]], shell)


def read(name: str, text: str) -> Module:
    """Return a module of its text, or raise JoinError at what a script cannot have or we cannot read."""
    imports: dict[str, frozenset[str]] = {}
    for names, of in _IMPORT.findall(text):
        imports[of] = imports.get(of, frozenset()) | set(re.findall(r"[\w$]+", names))
    body = _IMPORT.sub("", text)
    if other := _OTHER.search(body):
        raise JoinError(f"{name}.js has a line that cannot be joined: {other[0]}")
    top = _TOP.findall(body)
    return Module(
        imports=imports,
        declared=tuple(each for _, each in top),
        exported=frozenset(each for export, each in top if export),
        text=re.sub(r"\n{3,}", "\n\n", re.sub(r"^export ", "", body, flags=re.MULTILINE)).strip("\n"),
    )


def script(modules: Mapping[str, Module]) -> str:
    """Return the modules as one script, or raise JoinError where they do not fit together."""
    _demand_exports(modules)
    _demand_unique(modules)
    order = _ordered(modules)
    if idle := sorted(modules.keys() - set(order)):
        raise JoinError(f"nothing imports {', '.join(f'{name}.js' for name in idle)}")
    return "\n".join([_SCRIPT, *(f"{modules[name].text}\n" for name in order)])


def _demand_exports(modules: Mapping[str, Module]) -> None:
    """Raise unless whatever is imported is exported."""
    for name, module in modules.items():
        for of, names in module.imports.items():
            missing = sorted(names - (modules[of].exported if of in modules else frozenset()))
            if missing:
                raise JoinError(f"{name}.js imports {', '.join(missing)}, which {of}.js does not export")


def _demand_unique(modules: Mapping[str, Module]) -> None:
    """Raise unless each name is declared at the top once: in a script, the later would take the earlier's place."""
    owners: dict[str, str] = {}
    for name, module in modules.items():
        for declared in module.declared:
            if other := owners.get(declared):
                raise JoinError(f"{name}.js and {other}.js both declare {declared}")
            owners[declared] = name


def _ordered(modules: Mapping[str, Module]) -> list[str]:
    """Return the names of the modules that the first one needs, each behind what it imports."""
    order: list[str] = []

    def add(name: str, needing: tuple[str, ...]) -> None:
        if name in needing:
            raise JoinError(f"modules import each other in a circle: {' > '.join((*needing, name))}")
        if name not in order:
            for other in sorted(modules[name].imports):
                add(other, (*needing, name))
            order.append(name)

    add(FIRST, ())
    return order


def _hash(text: str) -> str:
    """Return how the policy names a text: browsers take it as it stands between its tags."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

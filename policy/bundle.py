"""The OPA bundle of a policy: the same bytes for the same text, with the text's digest as its revision.

The exact text of a policy is read from its folders, or from OPA, and named by its digest.
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import rfc8785

from policy.contract import PolicyText
from policy.errors import PolicyError

# What is served: the core, and what OPA itself asks of your own, as `system/authz.rego`. Tests, schemas and the
# meta-policy stay at home.
ROOTS = ("countersign", "system")
CONFIG = "countersign_config"
CONFIG_FILE = f"{CONFIG}/data.json"
MANIFEST = ".manifest"
PACKS = "countersign_pack"
"""The package under which each pack has a package of its own, and none outside it."""

_PACKAGE = re.compile(r"(?:[ \t]*(?:#.*)?\n)*package[ \t]+([a-z0-9_.]+)[ \t]*(?:#.*)?(?:\n|$)")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")  # what evidence can store
_LONGEST_NAME = 160


@dataclass(frozen=True)
class PolicyFolders:
    """Where a policy stands: `core` is the policy folder; a pack's rules are in `rego` in the pack's folder."""

    core: Path
    packs: tuple[Path, ...]

    @property
    def schemas(self) -> Path:
        """Return the folder of the schemas by which the compiler knows the input."""
        return self.core / "schemas"

    def rules_of_packs(self) -> dict[str, Path]:
        """Return the folders of packs' rules by the name of the pack's package, or raise PolicyError."""
        found: dict[str, Path] = {}
        for pack in (pack for pack in self.packs if (pack / "rego").is_dir()):
            name = pack.name.replace("-", "_")
            if found.setdefault(name, pack / "rego") != pack / "rego":
                raise PolicyError(f"{pack / 'rego'}: {PACKS}.{name} is the package of {found[name]} already")
        return found


def strict_json(text: str | bytes, *, number: Callable[[str], Any] | None = None) -> Any:
    """Parse JSON, numbers with a function if given; refuse duplicate members, NaN and infinities."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_int=number, parse_float=number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"member {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return members


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def policy_text(modules: Mapping[str, str], config: Mapping[str, Any]) -> PolicyText:
    """Return the text of these modules and this configuration, with its digest."""
    files = {**modules, CONFIG_FILE: rfc8785.dumps(dict(config)).decode()}
    return PolicyText(digest=hashlib.sha256(rfc8785.dumps(dict(files))).hexdigest(), files=files)


def read_policy(folders: PolicyFolders) -> PolicyText:
    """Read what the folders serve, or raise PolicyError."""
    core = folders.core
    modules = {file.relative_to(core).as_posix(): _read(file) for root in ROOTS for file in _modules(core / root)}
    if not modules:
        raise PolicyError(f"{core}: no policies under {' or '.join(ROOTS)}")
    for name, folder in folders.rules_of_packs().items():
        modules.update(_pack(name, folder))
    for name in modules:
        _check_name(name)
    try:
        return policy_text(modules, _config(core / CONFIG))
    except ValueError as error:
        raise PolicyError(f"{core / CONFIG}: {error}") from error


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise PolicyError(f"{name}: this name cannot be stored; use letters, digits, '.', '_' and '-'")


def check_names(names: Collection[str]) -> None:
    """Raise PolicyError unless files with these names can stand in one folder, and none outside it."""
    for name in names:
        _check_name(name)
        if folder := next((str(one) for one in PurePosixPath(name).parents if str(one) in names), None):
            raise PolicyError(f"{name}: {folder} is a file, and cannot be its folder")


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write a policy's files into a folder; raise PolicyError, and write none, if one cannot stand in it."""
    check_names(files)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _pack(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield a pack's modules; each stays in the pack's own package, so that no pack can change what core decides."""
    own = f"{PACKS}.{name}"
    for file in _modules(folder):
        text = _read(file)
        found = _PACKAGE.match(text)
        if found is None or not f"{found[1]}.".startswith(f"{own}."):
            raise PolicyError(f"{file}: a rule of this pack begins with `package {own}` or a package in it")
        yield f"{PACKS}/{name}/{file.relative_to(folder).as_posix()}", text


def _modules(folder: Path) -> list[Path]:
    # Names with a dot in front are an editor's, and gone in a moment.
    return sorted(file for file in folder.rglob("[!.]*.rego") if not file.name.endswith("_test.rego"))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{file}: {error}") from error


def _config(folder: Path) -> dict[str, Any]:
    files = sorted(file for file in folder.rglob("[!.]*") if file.suffix in (".json", ".yaml", ".yml"))
    stray = [file for file in files if file.name != "data.json" or file.parent.parent != folder]
    if stray:
        raise PolicyError(f"{stray[0]}: a tenant's configuration stands in {folder.name}/TENANT/data.json")
    return {file.parent.name: _tenant(file) for file in files}


def _tenant(file: Path) -> Any:
    try:
        return strict_json(_read(file))
    except ValueError as error:
        raise PolicyError(f"{file}: {error}") from error


@dataclass(frozen=True)
class Bundle:
    """A bundle as OPA loads it, and the text that it holds. `revision` can be computed from the text.

    Only `policy.signing.sign_bundle` signs it; an unsigned bundle is for checks, and is never served.
    """

    text: PolicyText
    data: bytes

    @property
    def revision(self) -> str:
        """Return the text's digest."""
        return self.text.digest


def build_bundle(folders: PolicyFolders) -> Bundle:
    """Build the bundle of core policies and packs' rules, unsigned, or raise PolicyError."""
    text = read_policy(folders)
    return Bundle(text, archive(bundle_files(text)))


def bundle_files(text: PolicyText, said: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the files of a policy's bundle, all but its signature; `said` is the manifest's metadata."""
    # The root "" owns all of OPA: nothing that is not in the digest can be pushed beside the bundle.
    metadata = {"metadata": dict(said)} if said else {}
    manifest: dict[str, Any] = {"revision": text.digest, "roots": [""], "rego_version": 1, **metadata}
    return {MANIFEST: rfc8785.dumps(manifest).decode(), **text.files}


def archive(files: Mapping[str, str]) -> bytes:
    """Return files as the archive that OPA loads: equal files give equal bytes."""
    packed = io.BytesIO()
    # TarInfo's own defaults (no owner, time zero) and gzip without compression: no machine leaves a trace.
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=0, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, text in sorted(files.items()):
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()

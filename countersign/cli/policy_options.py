"""Options of the commands on policies: the folders of a policy and of its packs, and the `opa` that answers for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import own_settings

if TYPE_CHECKING:
    from policy.bundle import PolicyFolders

Core = Annotated[
    Path | None, typer.Argument(metavar="FOLDER", help="The policy folder. Default: COUNTERSIGN_POLICIES.")
]
Packs = Annotated[
    list[Path] | None,
    typer.Option("--pack", metavar="FOLDER", help="A pack whose rules belong to it. Default: COUNTERSIGN_PACKS."),
]
SigningKey = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="The key that signs, in PEM; made if it is not there. Default: keys/policy.pem in COUNTERSIGN_HOME.",
    ),
]


def folders_of(core: Path | None, packs: list[Path] | None) -> "PolicyFolders":
    """Return the folders of a policy, those of the settings where none are named; raise OperateError."""
    from countersign.foreseen_errors import OperateError
    from policy.bundle import PolicyFolders

    settings = own_settings()
    found = PolicyFolders(core or settings.policies, tuple(packs or settings.packs))
    if missing := [folder for folder in (found.core, *found.packs) if not folder.is_dir()]:
        raise OperateError(f"{missing[0]} is not a folder")
    return found


def opa_program() -> Path:
    """Return the `opa` that the settings name, else the pinned one, installed where it is missing."""
    from countersign.embedded.programs import opa_program as program

    return program(own_settings())

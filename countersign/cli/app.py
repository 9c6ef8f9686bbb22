"""The command line. Parts are imported where they are used: verifying a bundle needs no server's libraries."""

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from countersign.cli.command import out, own_settings, run, shared_settings
from countersign.cli.evidence import evidence
from countersign.cli.people import people

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Countersign.")
app.add_typer(evidence, name="evidence")
app.add_typer(people, name="people")


def main() -> None:
    """Run the command line; a foreseen error is a sentence, not a traceback."""
    from countersign.config.errors import CountersignError
    from countersign.embedded.setup_work import SetUpError
    from edge.errors import EdgeError
    from evidence.errors import EvidenceError
    from policy.text import PolicyError
    from receipts.errors import ReceiptsError
    from runtime.definitions.problems import DefinitionError

    try:
        app()
    except (
        CountersignError,
        EvidenceError,
        ReceiptsError,
        PolicyError,
        SetUpError,
        DefinitionError,
        EdgeError,
    ) as error:
        sys.stderr.write(f"countersign: {error}\n")
        raise SystemExit(1) from None


@app.command()
def up(
    port: Annotated[int, typer.Option(help="of the edge")] = 8080,
    sandbox_port: Annotated[int, typer.Option(help="of the sandbox workspace")] = 8081,
    *,
    with_case: Annotated[bool, typer.Option(help="run the KYC stand-ins and bring a case to its cards")] = False,
) -> None:
    """Run everything on this machine: PostgreSQL, OPA, a sandbox workspace to click in. Ctrl-C ends it."""
    from countersign.embedded.up import up as run_up

    run(run_up(own_settings(), port, sandbox_port, with_case=with_case))


@app.command()
def demo() -> None:
    """Play the KYC case from trigger to verified evidence, with people who click; non-zero if anything differs."""
    from countersign.embedded.demo import demo as run_demo

    run(run_demo(own_settings()))


@app.command()
def serve(
    role: Annotated[list[str] | None, typer.Option(help="edge, bot, worker, sweeps; all if none is given")] = None,
) -> None:
    """Run the given roles with the parts that the settings point to."""
    from countersign.compose.system import Role
    from countersign.serve import serve as run_serve

    unknown = sorted(set(role or ()) - set(Role))
    if unknown:
        raise typer.BadParameter(f"no role {', '.join(unknown)}; there are {', '.join(Role)}")
    run(run_serve(own_settings(json_log=True), [Role(one) for one in role or Role]))


@app.command()
def migrate() -> None:
    """Bring the database to the newest migration."""
    from countersign.compose.storage import await_database, database_versions, migrate_database
    from countersign.config.settings import required

    settings = own_settings()
    dsn = required(settings, "database_url")
    await_database(settings)
    migrate_database(dsn)
    out.print(f"at migration {database_versions(dsn)[0]}")


@app.command()
def bucket() -> None:
    """Make the bucket of evidence, with Object Lock, if it is not there."""
    from countersign.compose.bucket import make_bucket
    from runtime.clock import utc_now

    for fact in make_bucket(own_settings(), utc_now):
        out.print(fact)


@app.command()
def config() -> None:
    """Print every setting, secrets masked, and where its value comes from."""
    from countersign.config.settings import explain
    from countersign.embedded.attach import attach

    attached = attach()
    for name, value, source, meaning in explain(own_settings()):
        origin = "the running `countersign up`" if name in attached else source
        out.print(f"{name} = {value or '(not set)'}\n    {meaning}; from {origin}")


@app.command()
def doctor() -> None:
    """Check every part, and say what is wrong and what to do."""
    from countersign.checks.doctor import examine
    from runtime.clock import utc_now

    facts = run(examine(shared_settings(), utc_now))
    for fact in facts:
        out.print(f"{'ok  ' if fact.ok else 'FAIL'}  {fact.name}: {fact.detail}")
        if not fact.ok:
            out.print(f"      {fact.remedy}")
    raise typer.Exit(0 if all(fact.ok for fact in facts) else 1)


@app.command()
def definitions() -> None:
    """Validate the packs' verbs and runbooks; list what is available, and every problem with its place."""
    from countersign.compose.engine import validated_catalog

    catalog = validated_catalog(shared_settings())
    for (name, version), definition in sorted(catalog.definitions.items()):
        out.print(f"{name} v{version}  {definition.digest[:12]}  {len(definition.steps)} steps")
    for problem in catalog.problems:
        out.print(str(problem))
    raise typer.Exit(1 if catalog.problems else 0)


@app.command()
def trigger(
    type_: Annotated[str, typer.Argument(metavar="TYPE")],
    payload: Annotated[Path, typer.Argument(metavar="FILE", help="JSON payload")],
    ref: Annotated[str, typer.Option(help="the event's own name: the same ref starts no second run")],
    caller: Annotated[str, typer.Option(help="the agent that signs")] = "onboarding-portal",
    on_behalf_of: Annotated[str | None, typer.Option(help="the person whose wish it is")] = None,
    edge: Annotated[str | None, typer.Option(help="base URL of the edge; this machine's, if not given")] = None,
) -> None:
    """Start a run through the edge, signed as one of the settings' callers."""
    from countersign.cli.operate import read_json
    from edge.client import post

    settings = shared_settings()
    if caller not in settings.callers:
        raise typer.BadParameter(f"COUNTERSIGN_CALLERS has no secret for {caller}")
    body = {"ref": ref, "payload": read_json(payload), "on_behalf_of": on_behalf_of}
    secret = settings.callers[caller].get_secret_value()
    path = f"/v1/triggers/{quote(type_, safe='')}"
    out.print_json(data=run(post(edge or f"http://127.0.0.1:{settings.port}", path, body, caller, secret)))


@app.command()
def cancel(run_id: str, reason: Annotated[str, typer.Option(help="goes on record")]) -> None:
    """Stop a run: what has not been done will not be."""
    from countersign.cli.operate import cancel_run

    out.print(run(cancel_run(shared_settings(), run_id, reason)))

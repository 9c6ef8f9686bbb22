"""The command line: `serve`, `migrate`, `bucket`, `config` and `doctor`; and every group of commands.

What is done daily to runs has a short form: `trigger`, `cancel`, `undo` and `retry` are the commands of `runs`.

A group is imported when it is asked for, and commands import what they need when they run: verifying a bundle needs no
server's libraries. A foreseen error, and wrong use of a command, is one sentence that says where help is, not a
traceback.
"""

import atexit
import gc
import sys
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_group

from countersign.cli.acts import cancel, retry, undo
from countersign.cli.approval_queries import metrics
from countersign.cli.command import (
    LOOKED_FOR_AFTER,
    attached_settings,
    importing,
    out,
    own_settings,
    roles_of,
    run,
    show_facts,
)
from countersign.cli.embedded import case, demo, up
from countersign.cli.log import witness
from countersign.cli.options import AsJson
from countersign.cli.run_commands import trigger

GROUPS = {
    "evidence": (
        "evidence",
        "List, fetch, verify, report, export and hold evidence; list approvals and exceptions; retry a bundle.",
    ),
    "runs": ("run_commands", "List, show, start, cancel, undo, retry, signal and replay runs."),
    "waits": ("run_commands", "List and show waits."),
    "effects": ("run_commands", "List and show effects: proposed, attempted and done."),
    "definitions": ("definitions", "Check, list, show and compare runbooks; activate and retire their versions."),
    "policy": ("policy", "Check, test and format policies; explain why a decision fell as it did."),
    "steps": ("steps", "List, show, retry, supply, skip and end steps that need attention."),
    "dead-letters": ("dead_letters", "List, show, requeue and drop dead letters."),
    "subscriptions": ("subscriptions", "Check and list subscriptions: webhooks that get run events."),
    "tasks": ("tasks", "List, show, answer, claim and release reviews that wait for people."),
    "people": ("people", "List, show, load and change the directory; delegations; passkeys."),
    "slack": ("slack", "Install the Slack app and list where; print its manifest; change its keys."),
    "keys": ("keys", "List, rotate, revoke and export the keys that sign evidence."),
    "log": ("log", "Verify the audit log; show and rotate its key; print its newest checkpoint; write a time stamp."),
}
"""Their names, each with the module of its commands and its help."""


class _Group(TyperGroup):
    """A group whose commands are imported when one of them, or its help, is asked for."""

    def __init__(self, name: str) -> None:
        self._module, said = GROUPS[name]
        super().__init__(name=name, help=said, no_args_is_help=True)
        del self.commands  # which hid the property

    @cached_property
    def commands(self) -> Any:  # type: ignore[override]
        """Return the commands by name."""
        module = import_module(f"{__package__}.{self._module}")
        return get_group(getattr(module, str(self.name).replace("-", "_"))).commands


class Groups(TyperGroup):
    """All commands, and then the groups."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {**self.commands, **{name: _Group(name) for name in GROUPS}}


def usage_message(error: TyperException) -> str:
    """Return what is to be said of wrong use, and nothing of a group without a command: its help was printed."""
    context: Any = getattr(error, "ctx", None)
    said = _one_sentence(error.format_message())
    more = f" (`{context.command_path} --help` tells more)" if context else ""
    return f"countersign: {said}{more}\n" if said else ""


def _one_sentence(said: str) -> str:
    """Return the library's words as ours: on one line, without its own prefixes, and begun as we begin."""
    one = " ".join(said.split()).removeprefix("Invalid value: ").replace("Value error, ", "").rstrip(".")
    return one[:1].lower() + one[1:] if one[1:2].islower() else one


app = typer.Typer(cls=Groups, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (up, demo, case, metrics, witness):
    app.command()(command)
for daily in (trigger, cancel, undo, retry):
    app.command(
        help=f"{daily.__doc__}\n\nShort for `runs {daily.__name__}`.",
        rich_help_panel="Done daily to runs: short forms of commands of `runs`",
    )(daily)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - the library's signature
    if wanted:
        from importlib.metadata import version

        out.print(f"countersign {version('countersign')}")
        raise typer.Exit


@app.callback()
def countersign(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Let agents change things in the world, under policy, with people's signatures, and with evidence."""
    del version  # the callback has printed it


def main() -> None:
    """Run the command line; a foreseen error is a sentence, not a traceback, and so is wrong use of a command."""
    gc.set_threshold(LOOKED_FOR_AFTER)
    atexit.register(gc.freeze)  # as Python ends it would look for garbage in all that was imported
    from countersign.embedded.work import SetUpError
    from countersign.foreseen_errors import CountersignError
    from edge.errors import EdgeError
    from evidence.errors import EvidenceError
    from policy.errors import PolicyError
    from receipts.errors import ReceiptsError
    from runtime.definitions.problems import DefinitionError
    from witness.errors import WitnessError

    try:
        status = app(prog_name="countersign", standalone_mode=False)
    except TyperException as error:
        sys.stderr.write(usage_message(error))
        raise SystemExit(error.exit_code) from None
    except (
        CountersignError,
        EvidenceError,
        ReceiptsError,
        PolicyError,
        SetUpError,
        DefinitionError,
        EdgeError,
        WitnessError,
    ) as error:
        sys.stderr.write(f"countersign: {error}\n")
        raise SystemExit(1) from None
    raise SystemExit(status)


@app.command()
def serve(
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE",
            help="A role to run: edge, bot, worker, sweeps or console; may be repeated, and all run if none is given.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            metavar="NUMBER",
            help="Processes that run worker and sweeps: as many as cores, memory and database allow if not given;"
            " one with edge or bot.",
        ),
    ] = None,
) -> None:
    """Run the given roles with the database, policy, Slack and archive of the settings."""
    from countersign.processes import count_for, serve_in, this_machine

    roles, settings = roles_of(role), own_settings(serving=True)
    count = count_for(roles, processes, this_machine(settings.cgroup))
    if count > 1:
        run(serve_in(settings, roles, count))
        return
    with importing():
        from uvloop import new_event_loop

        from countersign.serve import serve as run_serve
    run(run_serve(settings, roles), new_event_loop)


@app.command()
def migrate(*, as_json: AsJson = False) -> None:
    """Migrate the database of COUNTERSIGN_DATABASE_URL to the newest version."""
    from countersign.migration import migrate_database
    from countersign.settings import required
    from countersign.storage import await_database, database_versions

    settings = own_settings()
    dsn = required(settings, "database_url")
    await_database(settings)
    migrate_database(dsn)
    version = database_versions(dsn)[0]
    show_facts({"migration": version}, f"at migration {version}", as_json=as_json)


@app.command()
def bucket(*, as_json: AsJson = False) -> None:
    """Create the evidence bucket, with Object Lock, if it is missing."""
    from countersign.bucket import make_bucket
    from runtime.clock import utc_now

    facts = make_bucket(own_settings(), utc_now)
    show_facts({"facts": facts}, *facts, as_json=as_json)


@app.command()
def config(*, as_json: AsJson = False) -> None:
    """Print every setting, secrets masked, and where its value comes from."""
    from countersign.embedded.home import attach
    from countersign.settings import explain

    attached = attach()
    rows = [
        {
            "name": name,
            "value": value,
            "meaning": meaning,
            "source": "the running `countersign up`" if attached and name in attached.settings else source,
        }
        for name, value, source, meaning in explain(own_settings())
    ]
    lines = (
        f"{row['name']} = {row['value'] or '(not set)'}\n    {row['meaning']}; from {row['source']}" for row in rows
    )
    show_facts({"settings": rows}, *lines, as_json=as_json)


@app.command()
def doctor(
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE",
            help="A role whose parts to check: edge, bot, worker, sweeps or console; may be repeated, else all.",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check every part; say what is wrong and what to do."""
    from bot.doctor import Fact
    from countersign.doctor.diagnosis import diagnosis
    from countersign.doctor.doctor import examine
    from countersign.embedded.system import PARTS
    from runtime.clock import utc_now

    settings, attached = attached_settings()
    is_idle = attached is None and not any(getattr(settings, part) for part in PARTS)
    remedy = "Start `countersign up`, or set what is missing."
    idle = Fact("system", ok=False, detail=f"nothing runs here, in {settings.home}", remedy=remedy) if is_idle else None
    facts = run(examine(settings, utc_now, roles_of(role)))
    findings, is_well = list(diagnosis(facts, idle)), all(fact.ok for fact in facts)
    told = {"ok": is_well, "checks": [vars(one) for one in findings]}
    show_facts(told, *(one.line() for one in findings), as_json=as_json)
    raise typer.Exit(0 if is_well else 1)

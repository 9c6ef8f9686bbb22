"""The commands of embedded mode: everything on this machine, the demo, and cases to bring in."""

from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import attached_settings, importing, out, own_settings, run, show_facts
from countersign.cli.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from countersign.embedded.home import Attached
    from countersign.settings import Settings
    from runtime.handlers import Demo


def up(
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Port of the edge; COUNTERSIGN_PORT if not given, and 0 takes a free one.",
        ),
    ] = None,
    sandbox_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Port of the sandbox workspace; 0 takes a free one.")
    ] = 8081,
    *,
    with_case: Annotated[bool, typer.Option(help="Start one case of each pack, as `countersign case` does.")] = False,
) -> None:
    """Run everything on this machine: PostgreSQL, OPA, a sandbox workspace to click in, stand-ins. Ctrl-C ends it."""
    with importing():
        from countersign.embedded.system import up as run_up

    settings = own_settings()
    run(run_up(settings, settings.port if port is None else port, sandbox_port, with_case=with_case))


def demo() -> None:
    """Play a case from trigger to verified evidence, with people who click; the status is 1 if anything differs."""
    with importing():
        from countersign.embedded.demo import demo as run_demo

    run(run_demo(own_settings()))


def case(
    pack: Annotated[
        str | None,
        typer.Argument(metavar="PACK", help="The pack whose case to start; without it, list the cases."),
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="CASE", help="The case; default: the pack's first.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Bring an example case into the running `countersign up`, as often as you like, or list what there is."""
    from countersign.embedded.packs import demos

    if pack is None:
        settings, _ = attached_settings()
        rows = [
            {"pack": known, "case": one.name, "title": one.title, "then": one.then}
            for known, offered in demos(settings).items()
            for one in offered.examples
        ]
        lines = (f"{row['pack']} {row['case']}: {row['title']}; {row['then']}" for row in rows)
        show_facts({"cases": rows}, *lines, as_json=as_json)
        return
    settings, attached = attached_settings("callers")
    run(_bring_in(settings, attached, demos(settings), pack, name, as_json=as_json))


async def _bring_in(
    settings: "Settings",
    attached: "Attached | None",
    offered: "Mapping[str, Demo]",
    pack: str,
    name: str | None,
    *,
    as_json: bool,
) -> None:
    from countersign.embedded.case import Outside
    from countersign.embedded.packs import example_of

    example = example_of(offered, pack, name)
    secrets = {caller: secret.get_secret_value() for caller, secret in settings.callers.items()}
    standins = attached.standins if attached else {}
    outside = Outside(f"http://127.0.0.1:{settings.port}", secrets, standins, settings.home / "logs")
    brought = await outside.bring_in(pack, example)
    begun = f"{example.caller} brings in run {brought.run_id}: {example.title}"
    if not as_json:  # before it is answered, which takes its time
        out.print(begun)
    await brought.replied()
    reply, workspace = example.reply, settings.slack_api_url.removesuffix("api/")
    facts = {"run_id": brought.run_id, "pack": pack, "case": example.name, "then": example.then, "workspace": workspace}
    lines = [*([f"The {reply.who} {reply.does}."] if reply else []), f"Then {example.then}: {workspace}"]
    show_facts(facts, *lines, as_json=as_json)

"""``countersign up``: everything on this machine, until Ctrl-C."""

import asyncio

from rich.console import Console

from countersign.embedded.children import Supervisor
from countersign.embedded.packs import example_of
from countersign.embedded.system import Embedded, Ports, embedded, refuse_other_parts
from countersign.settings import Settings

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


async def up(settings: Settings, port: int, sandbox_port: int, *, with_case: bool) -> None:
    """Run embedded mode until told to stop; with a case, bring in one of each pack."""
    refuse_other_parts(settings)
    ports = Ports.tried(settings.host, port, sandbox_port)
    supervisor = Supervisor()
    out.print("Starting PostgreSQL, OPA, the sandbox workspace, the stand-ins and Countersign …")
    await supervisor.until_told(_run(settings, ports, supervisor, with_case=with_case))


async def _run(settings: Settings, ports: Ports, supervisor: Supervisor, *, with_case: bool) -> None:
    async with embedded(settings, ports, supervisor) as system:
        program = system.serve("countersign")
        async with supervisor.running(program):
            await supervisor.until_answers(program)
            await _greet(system, with_case=with_case)
            try:
                await supervisor.guard(asyncio.Event().wait())
            finally:
                out.print("Stopping …")


async def _greet(system: Embedded, *, with_case: bool) -> None:
    for pack in system.outside.standins if with_case else ():
        example = example_of(system.demos, pack, None)
        case = await system.outside.bring_in(pack, example)
        await case.replied()
        out.print(f"Case:       {pack} {example.name}, run {case.run_id}: {example.then}")
    out.print(f"Workspace:  {system.sandbox}/?user=U0ANNA&channel=C0COMPLIANCE")
    out.print(f"Edge:       {system.edge}   (secret of its callers: {system.home}/keys/callers)")
    out.print(f"Evidence:   {system.home}/evidence   Public key: {system.home}/keys/evidence.pub.pem")
    out.print("Cases:      `countersign case` lists what can be brought in, as often as you like")
    out.print(f"Logs:       {system.logs}   Ctrl-C stops everything.")

"""``countersign up``: everything on this machine, until Ctrl-C."""

import asyncio
import contextlib
import signal
import uuid
from contextlib import AsyncExitStack

from rich.console import Console

from countersign.config.settings import Settings
from countersign.embedded.case import bring_in
from countersign.embedded.children import Child, running
from countersign.embedded.opa import free_port
from countersign.embedded.standins import Standins, standins
from countersign.embedded.system import Embedded, embedded, until_answers

out = Console(highlight=False, markup=False, soft_wrap=True)


async def up(settings: Settings, port: int, sandbox_port: int, *, with_case: bool) -> None:
    """Run embedded mode until told to stop; with a case, bring one to where people are asked."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    out.print("Starting PostgreSQL, OPA, the sandbox workspace and Countersign …")
    port = port or free_port()
    async with AsyncExitStack() as stack:
        others = await stack.enter_async_context(standins(settings.home.resolve() / "logs")) if with_case else None
        pack = {**settings.pack, **(others.pack(f"http://127.0.0.1:{port}") if others else {})}
        system = await stack.enter_async_context(embedded(settings, port=port, sandbox_port=sandbox_port, pack=pack))
        program = await stack.enter_async_context(running(system.serve("countersign")))
        await until_answers(f"{system.edge}/readyz", program)
        await _greet(system, others)
        await _watch(program, stop)
        out.print("Stopping …")


async def _greet(system: Embedded, others: Standins | None) -> None:
    if others is not None:
        case = await bring_in(system, others, f"up-{uuid.uuid4()}")
        await case.upload()
        out.print(f"A case is waiting for Anna or Boris in #compliance: run {case.run_id}")
    out.print(f"Workspace:  {system.sandbox}/?user=U0ANNA&channel=C0COMPLIANCE")
    out.print(f"Edge:       {system.edge}   (secret of its callers: {system.home}/keys/callers)")
    out.print(f"Evidence:   {system.home}/evidence   Public key: {system.home}/keys/evidence.pub.pem")
    out.print(f"Logs:       {system.logs}   Ctrl-C stops everything.")


async def _watch(program: Child, stop: asyncio.Event) -> None:
    keeper = asyncio.create_task(program.keep_running())
    await stop.wait()
    keeper.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeper

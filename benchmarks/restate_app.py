"""Restate's service under measurement, in an environment of its own: `python restate_app.py SERVICE_PORT TELL_PORT`.

Chains of ten steps, and waits for an answer from outside. It tells of each wait, and of its end, in a datagram.
Nothing here imports Countersign.
"""

import asyncio
import json
import socket
import sys
import time

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config

STEPS = 10
bench = restate.Service("bench")
teller = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


async def note() -> dict[str, bool]:
    """Answer at once."""
    return {"ok": True}


def tell(case: str, step: str, token: str = "") -> None:
    """Tell that something has come to pass, and when."""
    said = (case, step, time.time(), "", token)
    teller.sendto(json.dumps(said).encode(), ("127.0.0.1", int(sys.argv[2])))


@bench.handler()
async def chain(ctx: restate.Context, case: str) -> str:
    """Do ten steps, one after the other."""
    for number in range(STEPS):
        await ctx.run_typed(f"note_{number}", note)
    return case


@bench.handler()
async def waiter(ctx: restate.Context, case: str) -> str:
    """Wait for an answer; tell when it is there."""
    token, answer = ctx.awakeable()
    tell(case, "ask", token)
    await answer
    tell(case, "note")
    await ctx.run_typed("note", note)
    tell(case, "end")
    return case


async def main() -> None:
    """Serve the service until ended."""
    config = Config()
    config.bind = [f"127.0.0.1:{sys.argv[1]}"]
    await serve(restate.app([bench]), config)


if __name__ == "__main__":
    asyncio.run(main())

"""Run a workspace: ``python -m sandbox --port 8765 --workspace FILE.yaml``."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from aiohttp import web

from runtime.clock import utc_now
from sandbox.server import create_app
from sandbox.slack_errors import WorkspaceError
from sandbox.workspace import load_workspace


def main() -> None:
    """Read the command line and serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description="A stand-in Slack workspace.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one; the first line printed names it")
    parser.add_argument("--workspace", type=Path, required=True, help="YAML file: team, users, channels, app")
    parser.add_argument("--state", type=Path, help="JSON file that keeps what happened across restarts")
    options = parser.parse_args()
    try:
        app = create_app(load_workspace(options.workspace), clock=utc_now, sleep=asyncio.sleep, state=options.state)
    except WorkspaceError as error:
        sys.exit(str(error))
    asyncio.run(_serve(app, options.host, options.port))


async def _serve(app: web.Application, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app.on_response_prepare.append(_show_start)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        sys.stdout.write(f"sandbox workspace on http://{host}:{runner.addresses[0][1]}\n")
        sys.stdout.flush()
        await stop.wait()
    finally:
        await runner.cleanup()


async def _show_start(request: web.Request, response: web.StreamResponse) -> None:
    """Show whose start this is, so that whoever started it knows its answers from those of others."""
    del request
    response.headers["Countersign-Start"] = os.environ.get("COUNTERSIGN_START", "")


if __name__ == "__main__":
    main()

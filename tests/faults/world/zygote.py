"""A process that has imported our program and is forked for each start: a start after a kill costs little.

It reads orders as lines of JSON, and writes `{"name", "pid"}` for each start and `{"name", "pid", "status"}` for each
end. It ends with whoever started it, and its children with it.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
from typing import Any

from tests.faults.world.program import become, order_of, skew_clocks

_LOOK = 0.05
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def main() -> None:
    """Fork on order until there are no more orders."""
    skew_clocks()
    _import_all()
    names: dict[int, str] = {}
    rest = b""
    try:
        while True:
            if select.select([0], [], [], _LOOK)[0]:
                data = os.read(0, 1 << 16)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    _fork(json.loads(line), names)
            _reap(names)
    finally:
        for pid in names:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _import_all() -> None:
    """Import what a process of ours comes to import, so that it need not."""
    import boto3  # noqa: F401, PLC0415

    import countersign.archive  # noqa: PLC0415
    import countersign.cli.app  # noqa: PLC0415
    import countersign.serve  # noqa: F401, PLC0415
    import evidence.s3  # noqa: F401, PLC0415
    from countersign.settings import read_settings  # noqa: F401, PLC0415
    from runtime.store.database import migration  # noqa: F401, PLC0415


def _fork(told: dict[str, Any], names: dict[int, str]) -> None:
    order = order_of(told)
    pid = os.fork()
    if pid == 0:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        code = 1
        try:
            become(order)
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:  # noqa: BLE001 - a forked process never returns into its parent's code
            import traceback  # noqa: PLC0415

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    names[pid] = order.name
    _say(name=order.name, pid=pid)


def _reap(names: dict[int, str]) -> None:
    while names:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _say(name=names.pop(pid), pid=pid, status=os.waitstatus_to_exitcode(status))


def _say(**facts: Any) -> None:
    os.write(1, f"{json.dumps(facts)}\n".encode())


if __name__ == "__main__":
    main()

"""The process that evaluates one costly expression, within limits of memory: `python -m runtime.evaluating BYTES`."""

import json
import resource
import sys
from dataclasses import asdict

from runtime.definitions.cel.expressions import evaluate_costly, install
from runtime.definitions.cel.outcomes import Costly
from runtime.definitions.registry import discover_functions


def main() -> None:
    """Evaluate the expression that is on standard input within the bytes that are named; write what it gives."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wanted = json.load(sys.stdin)
    costly = Costly(**wanted["costly"])
    install(discover_functions(wanted["packs"]))
    json.dump(asdict(evaluate_costly(costly)), sys.stdout)


if __name__ == "__main__":
    main()

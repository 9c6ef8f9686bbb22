"""Run the pinned OPA with the given arguments: `python -m tools.opa test rego`."""

import os
import sys

from countersign.embedded.servers import OPA, ensure
from countersign.embedded.work import SetUpError, to_stderr


def main() -> None:
    """Become the opa process."""
    try:
        program = ensure(OPA, to_stderr)
    except SetUpError as error:
        sys.exit(str(error))
    os.execv(program, [OPA.name, *sys.argv[1:]])  # noqa: S606 - the caller's own arguments, no shell


if __name__ == "__main__":
    main()

"""Make this checkout ready: `python -m tools.bootstrap run|check|test`. Needs nothing but Python 3.11.

This file keeps to what older Pythons can read, so that they can say what is wrong.
"""

import sys

PURPOSES = ("run", "check", "test")


def main() -> int:
    """Set up for the purpose on the command line; return the exit status."""
    if len(sys.argv) != 2 or sys.argv[1] not in PURPOSES:  # noqa: PLR2004 - the program and one purpose
        sys.stderr.write(f"usage: python -m tools.bootstrap {'|'.join(PURPOSES)}\n")
        return 2
    if sys.version_info < (3, 11):  # noqa: UP036 - this is where the older ones are told
        version = ".".join(str(part) for part in sys.version_info[:2])
        sys.stderr.write(
            f"Countersign needs Python 3.11 or newer and {sys.executable} is {version}:"
            " name another one, such as `make demo PYTHON=python3.12`.\n"
        )
        return 1
    from tools import environment  # noqa: PLC0415 - only now is it certain that this Python can read it

    return environment.main(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())

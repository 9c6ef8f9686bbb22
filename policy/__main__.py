"""Write the bundle of a policy, for an OPA of your own: ``python -m policy FOLDER FILE [PACK ...]``."""

import sys
from pathlib import Path

from policy.bundle import PolicyFolders, build_bundle
from policy.errors import PolicyError


def main(arguments: list[str]) -> str | None:
    """Write the bundle and say its revision; return what went wrong."""
    match arguments:
        case [folder, file, *packs]:
            try:
                bundle = build_bundle(PolicyFolders(Path(folder), tuple(map(Path, packs))))
                Path(file).write_bytes(bundle.data)
            except (PolicyError, OSError) as error:
                return str(error)
            sys.stdout.write(f"{bundle.revision}\n")
            return None
        case _:
            return "usage: python -m policy FOLDER FILE [PACK ...]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

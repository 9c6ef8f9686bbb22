"""A process that verifies every bundle of a folder as an auditor would: `python -m tests.faults.checker.bundles`."""

import sys
from pathlib import Path

from evidence.errors import EvidenceError
from evidence.verify.verify import verify


def main(folder: Path, key: Path) -> int:
    """Verify each; print those that do not hold."""
    wrong = 0
    for file in sorted(folder.rglob("*.zip")):
        try:
            report = verify(file, key)
            print(f"ok {report.run_id} {report.sha256}")  # noqa: T201 - what this process is for
        except (EvidenceError, OSError, ValueError) as error:
            wrong += 1
            print(f"wrong {file.stem} {error}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))

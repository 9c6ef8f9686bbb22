"""What `countersign evidence verify` prints. Imports nothing that needs a server or a network."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from countersign.cli.command import out
from evidence.verify.judgement import Judgement, Standing, judge, worst
from evidence.verify.verify import VerificationReport
from receipts.signing import KeyFileError


def verify_all(files: Sequence[Path], key: Path, *, as_json: bool) -> int:
    """Verify files, print what is found of each as it is found, and return the exit status."""
    standings = []
    for file in files:
        try:
            judged = judge(file, key)
        except KeyFileError as error:
            sys.stderr.write(f"countersign: {error}\n")
            return Standing.UNREAD
        standings.append(judged.standing)
        if as_json:
            sys.stdout.write(f"{json.dumps(judged.document(), ensure_ascii=False)}\n")
        else:
            _show(judged, is_one=len(files) == 1)
    if len(files) > 1 and not as_json:
        out.print(f"{standings.count(Standing.HOLDS)} of {len(files)} hold.")
    return worst(standings)


def _show(judged: Judgement, *, is_one: bool) -> None:
    """Print one for people; among several, each is headed by its name."""
    report = judged.found
    if not isinstance(report, VerificationReport):
        sys.stderr.write(f"countersign: {report}\n" if is_one else f"countersign: {judged.file}: {report}\n")
        return
    if not is_one:
        out.print(judged.file)
    for passed in report.steps:
        out.print(f"{passed.step:>2}. {passed.fact}")
    end = "" if is_one else "\n"
    out.print(f"sha256: {report.sha256}\nrun:    {report.run_id} of {report.tenant}\nEverything holds.{end}")

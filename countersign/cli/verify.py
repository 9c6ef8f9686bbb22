"""What `countersign evidence verify` prints. Imports nothing that needs a server or a network."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countersign.cli.command import out
from countersign.config.errors import CountersignError
from evidence.replay.asking import Opa
from evidence.replay.replay import replayed_by
from evidence.verify.judgement import Judgement, Standing, judge, worst
from evidence.verify.trust import TrustError, trust_of
from evidence.verify.verify import VerificationReport
from receipts.errors import ReceiptsError


@dataclass(frozen=True)
class Given:
    """What an auditor gives: the key, a register of earlier keys, keys of the log and of its witnesses (vkey).

    And the certificates of a time stamping authority, with stamps that came after the bundles.
    """

    key: Path
    register: Path | None = None
    log_keys: Sequence[str] = ()
    witnesses: Sequence[str] = ()
    needed: int = 0
    tsa: Path | None = None
    stamps: Sequence[Path] = ()


class NoOpaError(CountersignError):
    """There is no OPA to ask."""


def find_opa() -> Opa:
    """Return the OPA that COUNTERSIGN_OPA names, else the pinned one."""
    from countersign.embedded.setup.servers import OPA, find

    named = os.environ.get("COUNTERSIGN_OPA")
    found = Path(named) if named else find(OPA)
    if found is None:
        raise NoOpaError("opa is missing: set COUNTERSIGN_OPA to its path, or run `make up` once, which sets it up")
    return Opa(found)


def verify_all(files: Sequence[Path], given: Given, opa: Opa | None, *, as_json: bool) -> int:
    """Verify files, print what is found of each as it is found, and return the exit status."""
    standings, again = [], replayed_by(opa) if opa else None
    try:
        trust = trust_of(
            given.key, given.register, given.log_keys, given.witnesses, given.needed, given.tsa, given.stamps
        )
    except (ReceiptsError, TrustError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    for file in files:
        judged = judge(file, trust, again)
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

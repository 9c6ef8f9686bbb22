"""What the pages print of the program's output is what it prints."""

import re

from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.settings import ROOT


def test_the_digests_of_shipped_runbooks_on_the_authors_page_are_theirs() -> None:
    page = (ROOT / "docs/workflow-author.md").read_text(encoding="utf-8")
    shown = re.findall(r"^[a-z-]+ v\d+  [0-9a-f]{12}  \d+ steps$", page, re.MULTILINE)
    packs = {"COUNTERSIGN_PACKS": f'["{ROOT}/packs/kyc", "{ROOT}/packs/incident-triage"]'}
    told = CliRunner().invoke(app, ["definitions", "check"], env=packs).stdout.splitlines()
    assert shown == told

"""The verifier's rules: each has a name of its own, a sentence that docs/evidence-format.md repeats, and a bend."""

import re
from pathlib import Path

import pytest

from evidence import replay
from evidence.verify import audit_log as kept
from evidence.verify import linked_bundles
from evidence.verify.procedure import STEPS
from evidence.verify.verify import FIRST_RULES, verify
from tests.unit.evidence_sample import Office, story

ROOT = Path(__file__).parents[2]
FORMAT = ROOT / "docs/evidence-format.md"
RULES = {**FIRST_RULES}
for step in STEPS:
    RULES |= {rule.name: rule.sentence for rule in step.rules}
    RULES |= {rule.name: rule.sentence for rule in step.bound}
WHERE_ASKED = {
    kept.KEPT_LOG: kept.KEPT_LOG_SENTENCE,
    linked_bundles.CHILDREN: linked_bundles.CHILDREN_SENTENCE,
    linked_bundles.UNDONE: linked_bundles.UNDONE_SENTENCE,
    replay.NAME: replay.SENTENCE,
}
BENDS = [
    *(path for path in (ROOT / "tests/unit").glob("test_evidence_*.py") if path != Path(__file__)),
    *(ROOT / "tests/integration").glob("lies_*.py"),
    ROOT / "tests/integration/test_replay.py",
]


def test_every_rule_has_a_name_of_its_own() -> None:
    assert len(RULES) == len(FIRST_RULES) + sum(len(step.rules) + len(step.bound) for step in STEPS)
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", name) for name in RULES)


def test_the_page_has_each_rule_with_its_sentence_and_no_other() -> None:
    section = FORMAT.read_text().split("## To verify")[1].split("\n## ")[0]
    found = re.findall(r"^- `([a-z.-]+)`: (.*(?:\n  .*)*)", section, re.MULTILINE)
    assert {name: " ".join(sentence.split()) for name, sentence in found} == RULES | WHERE_ASKED
    of_members = [*FIRST_RULES, *(rule.name for step in STEPS for rule in step.rules)]
    assert [name for name, _ in found if name in of_members] == of_members


@pytest.mark.parametrize("name", RULES | WHERE_ASKED)
def test_a_bend_breaks_every_rule(name: str) -> None:
    assert any(f'"{name}"' in path.read_text() for path in BENDS), "no test names it"


def test_the_report_names_each_rule_that_held_and_what_it_looked_at(tmp_path: Path) -> None:
    office = Office.in_folder(tmp_path)
    report = verify(office.seal(story().dossier()), office.public)
    assert {held.rule for held in report.rules} == set(RULES)
    assert {held.rule: held.found for held in report.rules}["votes.in-time"] == "2 votes"

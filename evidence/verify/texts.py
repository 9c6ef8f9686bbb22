"""Step 12 of the verifier's procedure: whether the texts for reading follow from what they are about."""

from evidence import names
from evidence.reading.first_timeline import first_timeline
from evidence.reading.readme import readme
from evidence.reading.summary import summary
from evidence.reading.timeline import timeline
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, rule


@rule(
    "texts.timeline",
    "`timeline.md` is, byte for byte, what the leaves give, and in format 2 the records that they name.",
)
def timeline_follows(contents: Contents) -> str:
    """Compare the timeline."""
    if contents.version == 1:
        return _check_text(contents, names.TIMELINE, first_timeline(contents.run.run_id, contents.leaves))
    return _check_text(contents, names.TIMELINE, timeline(contents.material))


@rule("texts.readme", "`README.md` is, byte for byte, what the run and the key's id give.")
def readme_follows(contents: Contents) -> str:
    """Compare README.md."""
    return _check_text(contents, names.README, readme(contents.run, contents.key_id, contents.version))


@rule(
    "texts.summary",
    "`summary.md` is, byte for byte, what the run, the definition, the leaves, the records and the costs give.",
)
def _summary_follows(facts: Facts) -> str:
    return _check_text(facts.contents, names.SUMMARY, summary(facts.contents.material))


def _check_text(contents: Contents, name: str, text: bytes) -> str:
    if contents.member(name) != text:
        raise BrokenError(name, "is not the text that follows from the records")
    return name


SUMMARY: tuple[Rule[Facts], ...] = (_summary_follows,)

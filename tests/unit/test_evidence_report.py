"""The report on a bundle: what it tells, whether it says verified, and what hostile bundles can do to it."""

import re
from datetime import timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evidence.filters import blocks_of
from evidence.reading.markdown import visible
from evidence.report import Report, ReportError, report_on
from evidence.verify.judgement import Standing
from evidence.verify.trust import trust_of
from receipts.fields import timestamp
from tests.unit.evidence_bends import members_of, resealed
from tests.unit.evidence_sample import START, Office, Story, naming, story
from tests.unit.evidence_variants import LOG, OTHER, logged, looked, trusted
from tests.unit.test_evidence_reading import spoken

MARKUP = '<img src=x onerror="document.title=1"><script>document.title=2</script>&lt;b&gt;"\'` \u202edecived {{ 7*7 }}'


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def report_of(office: Office, told: Story, *, key: bool = True) -> Report:
    return report_on(office.seal(told.dossier()), trust_of(office.public) if key else None)


class _Words(HTMLParser):
    """The words of a page, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

        self.style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style" and not self.style:
            self.style = data
        else:
            self.words.append(data)


def parsed(report: Report) -> _Words:
    parser = _Words()
    parser.feed(report.page.decode())
    return parser


def words_of(report: Report) -> str:
    said = " ".join(" ".join(parsed(report).words).split())
    return re.sub(r"“ ", "“", re.sub(r" (?=[,:;.”])", "", said))


def test_a_bundle_that_holds_is_called_verified(office: Office) -> None:
    report = report_of(office, story())
    said = words_of(report)
    assert (report.heading, report.standing) == ("Verified: everything holds", Standing.HOLDS)
    assert "✓ Verified: everything holds" in said
    assert f"Key {office.key.public.key_id[:16]}…" in said, "short on the cover"
    assert re.search(f"SHA-256 [0-9a-f]{{64}} Key {office.key.public.key_id} Run run-1", said), "whole on the last page"
    assert "12 summary.md, timeline.md, costs.json and README.md tell what the records tell" in said
    assert '@top-right { content: "VERIFIED"' in parsed(report).style


def test_it_says_what_was_demanded_of_the_log_and_its_witnesses(office: Office) -> None:
    path = office.seal(logged())
    said = words_of(report_on(path, trusted(office)))
    assert "Audit log Not checked: no key of the log was given (--log-key)" in said
    assert "Register of keys Not checked: none was given (--keys) " in said
    cover, _ = said.split("Exceptions None. Opening")
    assert "The log's key was not given (--log-key): anyone with the evidence key could have invented" in cover
    said = words_of(report_on(path, trusted(office, LOG)))
    assert "Audit log Checked: the log's key signed the run's records: 28 leaves" in said
    assert "Witnesses Not checked: none was given (--witness)" in said
    assert "Held against the log, too, as the log's key signed it." in said.split("Exceptions None. Opening")[0]
    other = report_on(path, trusted(office, OTHER))
    assert (other.standing, "rule log.signed" in words_of(other)) == (Standing.BROKEN, True)


def test_the_report_tells_who_asked_signed_and_did_what(office: Office) -> None:
    said = words_of(report_of(office, looked()))
    for told in (
        "Evidence report: kyc File a report",
        "Outcome Succeeded 31 Jan 2026, 09:09:00 UTC Done File a report",
        "Requested by ada via intake-agent 31 Jan 2026, 09:00:00 UTC",
        "Ben approved: File a report 31 Jan 2026, 09:06:00 UTC, opening was not recorded",
        "Action File report on DE/123",
        "Runbook kyc, version 3, tenant acme About DE/123 case-1 ",
        "Request File a report: a-1, digest ",
        "Ben: ben, account T0ACME UBEN",
        "An action that needs approval, asked 31 Jan 2026, 09:02:00 UTC, until 31 Jan 2026, 17:02:00 UTC",
        "Ben approved 31 Jan 2026, 09:06:00 UTC “checked” Authorizes exactly this action, once",
        "Cat approved 31 Jan 2026, 09:07:00 UTC “checked” Authorizes exactly this action, once",
        "The card that Ben and Cat saw, shown 31 Jan 2026, 09:05:00 UTC File the report?",
        "owner share (hidden)",
        "Response id 42",
        "Undo register.withdraw",
        "3 decisions: 2 allowed, 1 needed people's approval, 0 denied.",
        "look 31 Jan 2026, 09:01:00 UTC Look a company up Failed: too slow",
        "openai gpt-5 3 calls, 2436 input tokens 0.00246 USD; 1 call with no cost reported",
    ):
        assert told in said


def test_the_cover_names_people_and_leaves_ids_to_the_last_page(office: Office) -> None:
    told = story()
    told.events[0][1]["requester_name"] = "Ada Lund"
    head = {"type": "header", "text": {"type": "plain_text", "text": "File owners: Halvorsen"}}
    called = {"type": "section", "text": {"type": "mrkdwn", "text": "For <@UBEN> <@UDAN>"}}
    told.approvals["a-1"]["cards"][0]["card"]["blocks"] = [head, called]
    said = words_of(report_of(office, told))
    cover, _, rest = said.partition(" Exceptions None. Opening")
    assert "Evidence report: kyc File owners: Halvorsen" in cover
    assert "Done File owners: Halvorsen Requested by Ada Lund via intake-agent" in cover
    assert "Archive Not asked: compare the SHA-256 on the last page with the archive's" in cover
    for identifier in ("UBEN", "DE/123", "case-1", "run-1", "a-1", str(office.key.public.key_id)):
        assert identifier not in cover
    assert "For Ben @UDAN" in rest, "people are named where the bundle knows their names"


def test_a_request_that_a_person_sent_in_alone_names_that_person_once(office: Office) -> None:
    told = story()
    told.events[0][1].update(requester_name="Ada Lund", submitted_by="ada")
    for decision in told.decisions.values():
        decision["input"]["actor"]["submitted_by"] = "ada"
    assert "Requested by Ada Lund 31 Jan 2026" in words_of(report_of(office, told))
    assert b"Ada Lund\xe2\x80\x9d\n" in members_of(office.seal(told.dossier()))["summary.md"]


def test_the_report_has_a_page_of_exceptions(office: Office) -> None:
    told = story()
    for leaf in (data for event, data in told.events if event == "vote.counted"):
        leaf["opened_at"] = timestamp(START + timedelta(minutes=leaf["minute"], seconds=-12))
    quiet = words_of(report_of(office, told))
    assert "Exceptions None. Listed here: break-glass, edits before approval" in quiet
    assert "09:06:00 UTC, 12 s after opening" in quiet
    report = report_on(office.seal(told.dossier()), trust_of(office.public), quick=timedelta(seconds=12))
    said = words_of(report)
    assert "Exceptions 2: quick vote (2)" in said, "on the cover"
    assert "31 Jan 2026, 09:06:00 UTC Ben Quick vote Approved “File a report” 12 s after opening it 14" in said
    assert "votes within 12 s of opening the request" in said


def test_the_report_says_where_opening_was_not_recorded(office: Office) -> None:
    said = words_of(report_of(office, story()))
    assert "Exceptions None. Opening was not recorded for 2 of 2 votes, so quick voting is not checked there." in said


def test_what_was_there_before_stands_beside_what_comes_after(office: Office) -> None:
    told = story()
    told.approvals["a-1"]["before"] = {"owner": {"share": "50 %"}}
    said = words_of(report_of(office, told))
    assert "Before and after Field Before After owner share 50 % share (hidden)" in said


def test_policys_rule_is_told_in_its_own_words(office: Office) -> None:
    told = story()
    reasons = [{"code": "writes.high_tier", "msg": "High-tier writes need signatures"}]
    told.decisions["d-1"]["answer"]["reasons"] = told.approvals["a-1"]["reasons"] = reasons
    said = words_of(report_of(office, told, key=False))
    assert "Rule High-tier writes need signatures" in said
    assert "Rule Required High-tier writes need signatures 2 people of compliance and legal" in said


def test_without_a_key_it_says_plainly_that_nothing_was_verified(office: Office) -> None:
    report = report_of(office, story(), key=False)
    said = words_of(report)
    assert (report.heading, report.standing) == ("Not verified: no key was given", Standing.HOLDS)
    assert "! Not verified: no key was given" in said
    assert '@top-right { content: "NOT VERIFIED"' in parsed(report).style
    assert "Verified: everything" not in said
    assert "Steps that hold" not in said
    assert "Ben approved" in said, "it tells what the file says"


def test_a_bundle_that_another_key_signed_is_told_nothing_of(office: Office, tmp_path_factory: Any) -> None:
    other = Office.in_folder(tmp_path_factory.mktemp("other"), 2)
    report = report_on(office.seal(story().dossier()), trust_of(other.public))
    said = words_of(report)
    assert (report.heading, report.standing) == ("Not signed by this key", Standing.UNSIGNED)
    assert "Step 2, rule statement.signed" in said
    assert '@top-right { content: "DOES NOT HOLD"' in parsed(report).style
    assert "Ben" not in said


def test_a_record_that_contradicts_the_chain_is_named_with_its_rule(office: Office) -> None:
    told = story()
    told.receipts["r-3"]["target"] = "DE/999"
    report = report_of(office, told)
    said = words_of(report)
    assert (report.heading, report.standing) == ("This bundle does not hold", Standing.BROKEN)
    assert "receipts/00002-r-3.json: " in said
    assert re.search(r"Step \d+, rule [a-z.-]+: .* The rule: [A-Z]", said)
    assert "The rest of this page shows what the bundle says. Do not rely on it." in said
    assert "Steps that hold" not in said


def test_a_file_that_is_no_bundle_gets_a_report_with_a_key_and_without(office: Office) -> None:
    path = office.write(b"PK\x03\x04 and nothing else")
    for trust in (trust_of(office.public), None):
        report = report_on(path, trust)
        assert (report.heading, report.standing) == ("This bundle does not hold", Standing.BROKEN)
        assert "Step 1, rule archive.form" in words_of(report)


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, *, is_folder: bool) -> None:
    path = tmp_path / "none.zip"
    if is_folder:
        path.mkdir()
    with pytest.raises(ReportError, match=r"none\.zip is not a file"):
        report_on(path, None)


def test_what_a_bundle_says_is_text_and_nothing_else(office: Office) -> None:
    sound, bent = (parsed(report_of(office, spoken(words))) for words in ("plain", MARKUP))
    assert [tag for tag, _ in bent.tags] == [tag for tag, _ in sound.tags]
    allowed = {"bdi", "body", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "footer", "h1", "h2"}
    allowed |= {
        "h3",
        "h4",
        "head",
        "header",
        "html",
        "li",
        "main",
        "meta",
        "ol",
        "p",
        "section",
        "span",
        "strong",
        "style",
    }
    allowed |= {"table", "tbody", "td", "th", "thead", "time", "title", "tr", "ul", "hr"}
    assert {tag for tag, _ in bent.tags} <= allowed
    names = {name for _, attributes in bent.tags for name in attributes}
    assert names <= {
        "class",
        "content",
        "name",
        "charset",
        "http-equiv",
        "lang",
        "datetime",
        "scope",
        "data-label",
        "aria-label",
    }
    assert f"“because {visible(MARKUP)}”" in "".join(bent.words)


def test_the_name_of_a_file_is_text_too(office: Office) -> None:
    path = office.seal(story().dossier()).rename(office.folder / "<b title=x>&amp;.zip")
    for told in (report_on(path, None), report_on(path.rename(office.folder / "<i>.zip"), trust_of(office.public))):
        assert not {"b", "i"} & {tag for tag, _ in parsed(told).tags}
    broken = office.folder / "<script>.zip"
    broken.write_bytes(b"no")
    assert "script" not in {tag for tag, _ in parsed(report_on(broken, None)).tags}


def test_the_pages_policy_allows_its_own_style_and_nothing_else(office: Office) -> None:
    page = parsed(report_of(office, story()))
    (policy,) = [attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'none'", str(policy)
    )


@pytest.mark.parametrize("member", ["run.json", "definition.json", "audit.jsonl", "approvals/a-1.json", "costs.json"])
@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"\xff", b"[" * 5000, None])
def test_whatever_a_member_holds_there_is_a_report(office: Office, member: str, data: bytes | None) -> None:
    path = resealed(office, office.seal(looked().dossier()), **{member: data})
    for trust in (trust_of(office.public), None):
        assert report_on(path, trust).page.startswith(b"<!DOCTYPE html>")


def test_large_json_that_is_not_canonical_is_not_shown(office: Office) -> None:
    large = f'{{"tenant" : "elsewhere", "title": "{"x" * 70_000}"}}'.encode()
    path = resealed(office, office.seal(looked().dossier()), **{"run.json": large})
    page = report_on(path, None).page
    assert page.startswith(b"<!DOCTYPE html>")
    assert b"elsewhere" not in page


CARDS: list[Any] = [
    {"blocks": [{"type": "header"}, {"type": "section", "fields": [1, None, {}]}, {"type": 7}, "x"]},
    {"blocks": {"type": "header"}, "text": 5},
    {"blocks": [{"type": "actions", "elements": [{"text": "x"}]}, {"type": "context", "elements": 1}]},
]


@pytest.mark.parametrize("card", CARDS)
def test_whatever_a_card_holds_there_is_a_report(office: Office, card: Any) -> None:
    told = story()
    told.approvals["a-1"]["cards"] = [{**card, "button": naming()}]
    assert b"Verified: everything holds" in report_of(office, told).page


def test_a_card_is_told_in_the_words_that_people_saw() -> None:
    said = "*Now* &lt;b&gt; &amp;amp; <@U0ANNA> <@U0BEN> <!date^1^{date}|2026-11-22 17:50 UTC>"
    mrkdwn = {"type": "mrkdwn", "text": said}
    bold, plain = {"type": "mrkdwn", "text": "*Operation*"}, {"type": "plain_text", "text": "*as it is* &lt;"}
    blocks = [{"type": "section", "text": mrkdwn}, {"type": "section", "fields": [bold, plain]}, {"type": "divider"}]
    assert blocks_of({"blocks": blocks}, {"U0ANNA": "Anna <Berg>"}) == [
        ("words", [(False, "*Now* <b> &amp; Anna <Berg> @U0BEN 2026-11-22 17:50 UTC")]),
        ("grid", [(True, "Operation"), (False, "*as it is* &lt;")]),
        ("rule", []),
    ]


def test_large_and_deep_values_are_cut_and_that_is_said(office: Office) -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = {"a": [deep]}
    told = story()
    told.approvals["a-1"]["before"] = {"owner": deep, "api_key": "y" * 50_000}
    told.approvals["a-1"]["votes"][0]["reason"] = "z" * 5_000
    told.receipts["r-3"]["response"] = {f"n{number:04}": number for number in range(1_000)}
    said = words_of(report_of(office, told))
    assert "… 46,000 more characters" in said
    assert "… 1,000 more characters" in said
    assert "… and 800 more, in the bundle" in said
    told.receipts["r-3"]["response"] = {f"n{number:04}": number for number in range(5_000)}
    said = words_of(report_of(office, told))
    assert re.search(r'"n0000":0,"n0001":1,.* … [0-9,]+ more characters', said), "too large to be taken apart"


def test_equal_bundles_and_keys_give_equal_pages(office: Office) -> None:
    assert report_of(office, looked()) == report_of(office, looked())


def test_headings_skip_no_level_and_the_page_has_one_main_landmark(office: Office) -> None:
    tags = [tag for tag, _ in parsed(report_of(office, looked())).tags]
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert tags.count("main") == 1
    assert not {"article", "section"} & set(tags[: tags.index("main")]), "in those a footer would be no landmark"

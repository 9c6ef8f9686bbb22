"""The second verifier as people use it: opened from disk, given two files, read by eye, by keyboard and by ear."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.async_api import Browser, Page, expect

from evidence.build import build
from evidence.verify.linked_bundles import CHILDREN, CHILDREN_SENTENCE, UNDONE, UNDONE_SENTENCE
from evidence.verify.verify import VerificationError, verify
from tests.browser import chromium, verify_file
from tests.integration.program_stage import command
from tests.integration.test_evidence_page import PROGRAMS_OWN, step_of
from tests.unit.evidence_sample import Office, Story, story
from tests.unit.test_evidence_earlier import EARLIER
from tests.unit.test_evidence_rules import RULES
from tests.unit.test_evidence_verify import signed

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>&lt;b&gt;"\'` \u202edecived'
HOLDS, FAILS, NOTHING = "Everything checked here holds", "This bundle does not hold", "Nothing was verified"

_DROP = """
(files) => {
  const dropped = new DataTransfer();
  for (const [name, text] of files) dropped.items.add(new File([fromBase64(text)], name));
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: dropped, bubbles: true, cancelable: true}));
}
"""
_WITHOUT_ED25519 = """
const importKey = SubtleCrypto.prototype.importKey;
SubtleCrypto.prototype.importKey = function (format, data, algorithm, ...rest) {
  if (algorithm === "Ed25519") return Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError"));
  return importKey.call(this, format, data, algorithm, ...rest);
};
"""
_RULES = """
() => Object.fromEntries([...document.querySelectorAll("#rules h2")].map((title) =>
  [title.innerText, [...title.nextElementSibling.querySelectorAll("dt")].map((name) =>
    [name.innerText, name.nextElementSibling.innerText])]))
"""


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """The page from its file, which must make no request but for itself and raise no error."""
    page, requests, errors = await browser.new_page(), list[str](), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    await page.goto(verify_file().as_uri())
    yield page
    assert page.url.startswith("file://")
    assert requests == [verify_file().as_uri()]
    assert errors == []
    await page.close()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


async def choose(page: Page, bundle: Path, key: Path) -> None:
    await page.get_by_label("Evidence bundle").set_input_files(bundle)
    await page.get_by_label("Public key").set_input_files(key)


async def look_at_members(page: Page) -> None:
    """Have the page look at the rules about members alone, which let more be said in a bundle that holds."""
    await page.evaluate("STEPS.forEach((step) => step.splice(4, 1, []))")


def worded(told: Story) -> Story:
    """Return a sample in which people say something, and are called something, that a page could take for markup."""
    for vote in told.approvals["a-1"]["votes"]:
        vote |= {"reason": f"reason {HOSTILE}", "person_name": f"name {HOSTILE}"}
    return told


def spoken() -> Story:
    """Return the sample in which all else that rules let be anything says something like it, too."""
    told = worded(story())
    told.approvals["a-1"] |= {"purpose": f"purpose {HOSTILE}", "step": f"step {HOSTILE}"}
    told.receipts["r-3"] |= {"error": f"error {HOSTILE}"}
    dict(told.events)["run.succeeded"]["error"] = f"why {HOSTILE}"
    return told


async def test_who_asked_who_decided_in_which_words_and_what_was_done_are_shown(page: Page, office: Office) -> None:
    sealed = build(story().dossier(), office.key)
    await choose(page, office.write(sealed.data), office.public)
    await expect(page.get_by_role("status").filter(has_text=HOLDS)).to_contain_text(sealed.sha256)
    summary = page.get_by_role("region", name="What the bundle says")
    for shown in (
        *("kyc version 3", "ada, submitted by intake-agent", "2026-01-31 09:00:00 UTC", "api case-1"),
        *("Succeeded, 2026-01-31 09:09:00 UTC", "run-1 of acme", sealed.sha256, office.key.public.key_id),
        *(
            "Approved: 2 of compliance and legal had to approve",
            "Ben (ben) approved, 2026-01-31 09:06:00 UTC",
            *("“checked”", "It means: Ben authorizes exactly this action, once"),
        ),
        *("Done: file_report on DE/123", "to undo it: register.withdraw", "1 receipt of cards and messages"),
    ):
        await expect(summary).to_contain_text(shown)
    checks = page.get_by_role("listitem").filter(has=page.get_by_role("img", name="holds", exact=True))
    await expect(checks).to_have_count(12)


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_decisions_by_a_policy_that_nobody_had_activated_are_counted(
    page: Page, office: Office, count: int
) -> None:
    told = story()
    for decision in [*told.decisions.values()][:count]:
        decision["development"] = True
    await choose(page, office.seal(told.dossier()), office.public)
    await expect(page.get_by_role("status").filter(has_text=HOLDS)).to_be_visible()
    said = page.get_by_text(f"For development: {count} of 3 decisions came from a policy that nobody had activated.")
    notice = page.locator("#summary > p > strong").filter(has_text="development")
    await expect(notice).to_have_count(min(count, 1))
    await expect(notice.and_(said)).to_have_count(min(count, 1))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (worded(story()), ("reason", "name")),
        (spoken(), ("purpose", "step", "reason", "name", "error", "why")),
    ],
)
async def test_texts_of_a_bundle_stay_texts(page: Page, office: Office, told: Story, words: tuple[str, ...]) -> None:
    await look_at_members(page)
    await choose(page, office.seal(told.dossier()), office.public)
    await expect(page.locator("#verdict")).to_contain_text(HOLDS)
    for what in words:
        await expect(page.locator("#summary")).to_contain_text(f"{what} {HOSTILE}")
    assert await page.locator("main :is(img, script, b, style, a, iframe)").count() == 0
    assert await page.title() == "Verify an evidence bundle"


async def test_the_sealers_own_page_for_people_is_shown_as_text_and_said_to_be_unchecked(page: Page) -> None:
    show = "(text) => at('summary').replaceChildren(...showWords({members: new Map([[SUMMARY, toUtf8(text)]])}))"
    await page.evaluate(show, f"# Who asked\n\n{HOSTILE}\n{'x' * 99_000}")
    await page.evaluate("at('summary').hidden = false")
    await expect(page.locator("#summary")).to_contain_text(f"# Who asked\n\n{HOSTILE}")
    await expect(page.locator("#summary")).to_contain_text("this page does not check")
    assert await page.locator("main :is(img, script, b, style, a, iframe)").count() == 0
    assert await page.evaluate("showWords({members: new Map()}).length") == 0


async def test_what_does_not_hold_is_named_and_nothing_else_of_it_is_told(page: Page, office: Office) -> None:
    told = story()
    told.approvals["a-1"]["votes"][0]["reason"] = "words that nobody shall read"
    told.receipts["r-3"]["target"] = "DE/999"
    await choose(page, office.seal(told.dossier()), office.public)
    said = "Step 7: receipts/00002-r-3.json: target is DE/999, and audit.jsonl line 3 says DE/123"
    await expect(page.get_by_role("status").filter(has_text=FAILS)).to_contain_text(said)
    await expect(page.locator("#summary")).to_be_hidden()
    assert "nobody shall read" not in await page.content()
    await expect(page.get_by_role("img", name="does not hold", exact=True)).to_have_count(1)
    await expect(page.get_by_role("img", name="not looked at", exact=True)).to_have_count(5)


@pytest.mark.parametrize(("kind", "says"), EARLIER)
async def test_what_was_written_before_the_release_is_named(page: Page, office: Office, kind: str, says: str) -> None:
    bundle = signed(office, lambda statement: statement.update(predicateType=kind))
    said = f"{says}; this program does not read it"
    with pytest.raises(VerificationError, match=f"^step 3, statement.form: {re.escape(said)}$"):
        verify(bundle, office.public)
    await choose(page, bundle, office.public)
    await expect(page.get_by_role("status").filter(has_text=FAILS)).to_contain_text(f"Step 3: {said}")
    await expect(page.locator("#summary")).to_be_hidden()


async def test_both_files_may_be_dropped_anywhere(page: Page, office: Office) -> None:
    bundle = office.seal(story().dossier())
    files = [(path.name, base64.b64encode(path.read_bytes()).decode()) for path in (bundle, office.public)]
    await page.evaluate(_DROP, files)
    await expect(page.locator("#verdict")).to_contain_text(HOLDS)
    await expect(page.locator("#key-note")).to_contain_text(office.key.public.key_id)
    for field, file in (("Evidence bundle", bundle), ("Public key", office.public)):
        assert await page.get_by_label(field).evaluate("field => field.files[0].name") == file.name
    await page.evaluate(_DROP, [("other.zip", base64.b64encode(b"PK").decode())])
    await expect(page.locator("#verdict")).to_contain_text("Step 1: this is no ZIP archive")


async def test_without_a_key_that_can_be_used_nothing_is_verified(page: Page, office: Office, tmp_path: Path) -> None:
    curve = generate_private_key(SECP256R1()).public_key()
    keys = {
        "another curve": curve.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "nonsense": b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        "nothing": b"",
        "large": b"-----BEGIN PUBLIC KEY-----" + bytes(70_000),
        "private": (office.folder / "keys/signing.pem").read_bytes(),
    }
    bundle = office.seal(story().dossier())
    for name, pem in keys.items():
        key = tmp_path / "key.pem"
        key.write_bytes(pem)
        await choose(page, bundle, office.public)
        await expect(page.locator("#verdict")).to_contain_text(HOLDS)
        await choose(page, bundle, key)
        await expect(page.locator("#verdict"), name).to_contain_text(NOTHING)
        await expect(page.locator("#summary")).to_be_hidden()
        await expect(page.locator("#key-note")).not_to_contain_text(office.key.public.key_id)


async def test_a_browser_without_ed25519_says_so_and_verifies_nothing(browser: Browser, office: Office) -> None:
    page = await browser.new_page()
    await page.add_init_script(_WITHOUT_ED25519)
    await page.goto(verify_file().as_uri())
    await choose(page, office.seal(story().dossier()), office.public)
    await expect(page.locator("#verdict")).to_contain_text("This browser cannot check Ed25519 signatures")
    await expect(page.locator("#checking")).to_be_hidden()
    await page.close()


async def test_the_page_may_open_no_connection_and_run_no_other_script(browser: Browser) -> None:
    """Its policy names the digests of its script and its style: whoever changes one gives it the new digest."""
    page = await browser.new_page()
    blocked = list[str]()
    page.on("console", lambda message: blocked.extend(re.findall(r"violates.*?directive: \"?([a-z-]+)", message.text)))
    await page.goto(verify_file().as_uri())
    assert blocked == [], "the digests in the policy are not those of the script and the style"
    refused = "() => fetch('https://example.org/').then(() => 'answered', (error) => error.name)"
    assert await page.evaluate(refused) == "TypeError"
    await page.evaluate("() => { new Image().src = 'https://example.org/x.png' }")
    markup = "() => { try { document.body.innerHTML = '<p>' } catch (error) { return error.name } }"
    assert await page.evaluate(markup) == "TypeError"
    assert set(blocked) >= {"connect-src", "img-src"} or set(blocked) >= {"default-src"}
    await page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
async def test_nothing_is_wider_than_the_screen(page: Page, office: Office, width: int, scheme: str) -> None:
    told = spoken()
    told.receipts["r-3"]["error"] = "x" * 3000
    await page.set_viewport_size({"width": width, "height": 844})
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await look_at_members(page)
    await choose(page, office.seal(told.dossier()), office.public)
    await expect(page.locator("#verdict")).to_contain_text(HOLDS)
    await expect(page.locator("#summary")).to_contain_text("(1000 more characters)")
    await page.get_by_text("Check more").click()
    await page.get_by_label("Keys of the audit log").fill(f"log.example/{'x' * 300}")
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(17, 21, 28)") == (scheme == "dark")


async def test_the_keyboard_reaches_files_and_fields_in_their_order(page: Page) -> None:
    for name in ("bundle", "key"):
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.id") == name
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    for name in ("log-keys", "witness-keys", "needed", "register"):
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.id") == name


async def test_the_page_says_which_rules_a_step_looks_at_in_the_words_of_the_program(page: Page) -> None:
    await expect(page.locator("#rules")).to_be_hidden()
    await page.get_by_text("Rules: what each step looks at").click()
    of_step: dict[str, list[tuple[str, str]]] = await page.evaluate(_RULES)
    left = dict(of_step.pop("Left to the program"))
    assert left.keys() == PROGRAMS_OWN
    shown = {name: (int(title.partition(".")[0]), said) for title, rules in of_step.items() for name, said in rules}
    below = {CHILDREN: (13, CHILDREN_SENTENCE), UNDONE: (13, UNDONE_SENTENCE)}
    assert shown == {name: (step_of(name), said) for name, said in RULES.items() if name not in left} | below
    assert {name: RULES[name] for name in left} == left


async def test_paper_shows_the_verdict_and_no_controls(page: Page, office: Office) -> None:
    await choose(page, office.seal(story().dossier()), office.public)
    await expect(page.locator("#verdict")).to_contain_text(HOLDS)
    await page.emulate_media(media="print")
    await expect(page.locator("#verdict")).to_be_visible()
    await expect(page.get_by_label("Evidence bundle")).to_be_hidden()


async def test_the_command_writes_the_page_and_overwrites_nothing(tmp_path: Path) -> None:
    to, page = tmp_path / "verify.html", verify_file().read_bytes()
    for _ in range(2):  # the same page again is no loss
        written = await command("evidence", "page", "-o", str(to), env={})
        assert (written.code, written.out) == (0, f"sha256: {hashlib.sha256(page).hexdigest()}\npage:   {to}\n")
        assert to.read_bytes() == page
    to.write_bytes(b"mine")
    again = await command("evidence", "page", "-o", str(to), env={})
    assert (again.code, again.err) == (1, f"countersign: {to} exists with other content: nothing is overwritten\n")
    assert to.read_bytes() == b"mine"

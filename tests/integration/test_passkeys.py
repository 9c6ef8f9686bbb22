"""Passkeys: votes that are signed, and registrations in the log.

Votes that count only when they are signed with a passkey: over this action, by this person, by one link.

That a passkey was registered stands in the log that everybody can keep a checkpoint of: the bundle proves it.
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from countersign.embedded.opa import OpaChild
from evidence.local import LocalArchive
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError, verify
from policy.client import OpaEngine
from receipts import canonical
from receipts.chain import Leaf, in_place
from receipts.checkpoint import LogKeys
from receipts.note import Algorithm, NoteSigner
from receipts.passkey_records import PasskeyRegistered, PasskeyRevoked
from receipts.signing import load_or_create, load_public
from receipts.tenant_acts import act_of, chain_of
from runtime.model.passkey import INVITATION_LASTS, SIGNING_LASTS
from runtime.model.votes import CardAct
from runtime.services.clicks import ClickOutcome
from runtime.services.passkey_ceremonies import Closed, RegistrationPage, SigningPage
from tests.authenticator import USER_PRESENT, Authenticator
from tests.bench import PUBLIC_URL, TENANT, Bench
from tests.browser import report_of, verify_page
from tests.integration.acts_stage import delegate, say
from tests.integration.policies_stage import (
    asked,
    authenticator,
    counter,
    hand_in,
    invite,
    open_vault,
    opened,
    play_vault,
    register,
    revoke,
    sign,
    token_to_sign,
)
from tests.patience import MINUTE
from tests.sealing import sealer_of
from tests.unit.evidence_bends import members_of, resealed
from tests.unit.evidence_sample import Office

SECOND = timedelta(seconds=1)


@pytest.fixture
async def vault(dsn: str, opa: OpaChild) -> AsyncIterator[Bench]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(dsn, policy) as bench:
        yield bench


def _code(outcome: ClickOutcome) -> str | None:
    return str(outcome.refusal.code) if outcome.refusal else None


async def _refusals(bench: Bench) -> list[str]:
    rows = await bench.rows("SELECT leaf -> 'data' ->> 'code' AS code FROM audit_leaves"
                            " WHERE leaf ->> 'event' = 'vote.refused' ORDER BY seq")  # fmt: skip
    return [row["code"] for row in rows]


async def test_two_people_sign_and_policy_is_told_with_what(vault: Bench) -> None:
    approval = await asked(vault)
    for person in ("sam", "pam"):
        assert (await sign(vault, person, approval, await register(vault, person))).counted
    await vault.settle()
    assert [row["status"] for row in await vault.rows("SELECT status FROM approvals")] == ["approved"]
    (told,) = await vault.rows(
        "SELECT document -> 'input' -> 'votes' AS votes FROM policy_decisions"
        " WHERE document ->> 'outcome' = 'allow' AND json_array_length(document -> 'input' -> 'votes') > 0"
    )
    assert [vote["signed_with"] for vote in told["votes"]] == ["passkey", "passkey"]


async def test_a_click_alone_approves_nothing_that_has_to_be_signed_and_rejects(vault: Bench) -> None:
    approval = await asked(vault)
    assert _code(await vault.click("sam", approval)) == "passkey.needed"
    assert await _refusals(vault) == ["passkey.needed"]
    assert (await vault.click("sam", approval, "reject", "not now")).counted
    await vault.settle()
    assert [row["status"] for row in await vault.rows("SELECT status FROM approvals")] == ["rejected"]


@pytest.mark.parametrize("algorithm", [-7, -8, -257])
async def test_each_kind_of_key_registers_and_signs(vault: Bench, algorithm: int) -> None:
    using = await register(vault, "sam", authenticator(algorithm=algorithm, count=None))
    assert (await sign(vault, "sam", await asked(vault), using)).counted


@pytest.mark.parametrize(
    "using",
    [
        {"origin": "https://elsewhere.example"},
        {"rp_id": "elsewhere.example"},
        {"flags": USER_PRESENT},
        {"count": -1},
        {"page": {"crossOrigin": True}},
        {"page": {"topOrigin": "https://elsewhere.example"}},
    ],
    ids=[
        "another origin",
        "another relying party",
        "the user is not verified",
        "a counter that stands still",
        "a frame",
        "a frame of another page",
    ],
)
async def test_what_an_authenticator_signs_otherwise_does_not_count(vault: Bench, using: dict[str, Any]) -> None:
    mine = await register(vault, "sam", authenticator(count=1))
    for name, value in using.items():
        setattr(mine, name, value)
    assert _code(await sign(vault, "sam", await asked(vault), mine)) == "passkey.wrong"
    assert await _refusals(vault) == ["passkey.wrong"]


async def test_another_persons_passkey_does_not_sign_for_somebody(vault: Bench) -> None:
    approval, theirs = await asked(vault), await register(vault, "pam")
    assert _code(await sign(vault, "sam", approval, theirs)) == "passkey.unknown"


async def test_a_passkey_that_nobody_has_registered_does_not_sign(vault: Bench) -> None:
    assert _code(await sign(vault, "sam", await asked(vault), authenticator())) == "passkey.unknown"


async def test_a_signature_is_for_one_approval_one_link_and_one_verdict(vault: Bench) -> None:
    mine, first, second = await register(vault, "sam"), await asked(vault, "1"), await asked(vault, "2")
    _, page = await opened(vault, "sam", first)
    signed = mine.sign(page.ceremony.challenge)
    assert _code(await hand_in(vault, await token_to_sign(vault, "sam", second), signed)) == "passkey.wrong"
    assert _code(await hand_in(vault, await token_to_sign(vault, "sam", first), signed)) == "passkey.wrong"


async def test_a_forged_signature_does_not_count(vault: Bench) -> None:
    approval, mine = await asked(vault), await register(vault, "sam")
    forger = Authenticator(PUBLIC_URL, mine.rp_id, credential_id=mine.credential_id)
    assert _code(await sign(vault, "sam", approval, forger)) == "passkey.wrong"
    assert (await sign(vault, "sam", approval, mine)).counted


async def test_what_is_no_answer_of_an_authenticator_does_not_count(vault: Bench) -> None:
    mine = await register(vault, "sam")
    for number, change in enumerate(
        [{"authenticator_data": "AAAA"}, {"client_data": "e30"}, {"signature": "AAAA"}, {"client_data": "AAAA"}]
    ):
        token, page = await opened(vault, "sam", await asked(vault, str(number)))
        broken = mine.sign(page.ceremony.challenge).model_copy(update=change)
        assert _code(await hand_in(vault, token, broken)) == "passkey.wrong", change


async def test_a_link_that_comes_twice_counts_once_and_says_the_same(vault: Bench) -> None:
    approval, mine = await asked(vault), await register(vault, "sam")
    token, page = await opened(vault, "sam", approval)
    signed = mine.sign(page.ceremony.challenge)
    outcomes = [await hand_in(vault, token, signed) for _ in range(3)]
    assert [outcome.counted for outcome in outcomes] == [True, True, True]
    assert len(await vault.rows("SELECT 1 FROM votes")) == 1


async def test_a_link_is_used_once_however_often_it_is_opened_before(vault: Bench) -> None:
    mine, token = await register(vault, "sam"), await token_to_sign(vault, "sam", await asked(vault))
    pages = [await counter(vault).open(token) for _ in range(3)]
    (first,) = await vault.rows("SELECT opened_at FROM passkey_links WHERE purpose = 'sign'")
    assert isinstance(pages[0], SigningPage)
    assert pages == [pages[0]] * 3
    vault.clock.now += SECOND
    assert (await hand_in(vault, token, mine.sign(pages[0].ceremony.challenge))).counted
    assert await counter(vault).open(token) is Closed.USED
    assert await vault.rows("SELECT opened_at FROM passkey_links WHERE purpose = 'sign'") == [first]


async def test_an_invitation_is_used_once_however_often_it_is_opened_before(vault: Bench) -> None:
    await invite(vault, "sam", "t1")
    pages = [await counter(vault).open("t1") for _ in range(3)]
    assert isinstance(pages[2], RegistrationPage)
    assert await counter(vault).register("t1", authenticator().make(pages[2].ceremony.challenge)) == ""
    assert await counter(vault).open("t1") is Closed.USED


async def test_a_link_is_known_and_used_in_its_time(vault: Bench) -> None:
    assert await counter(vault).open("nobody's") is Closed.UNKNOWN
    mine = await register(vault, "sam")
    late = await token_to_sign(vault, "sam", await asked(vault, "2"))
    page = await counter(vault).open(late)
    assert isinstance(page, SigningPage)
    vault.clock.now += SIGNING_LASTS
    assert await counter(vault).sign(late, mine.sign(page.ceremony.challenge)) is Closed.EXPIRED
    assert await counter(vault).open(late) is Closed.EXPIRED
    assert not await vault.rows("SELECT 1 FROM votes")


async def test_only_the_digest_of_a_links_token_is_kept(vault: Bench) -> None:
    token = await token_to_sign(vault, "sam", await asked(vault))
    rows = await vault.rows("SELECT to_json(l)::text AS row FROM passkey_links l")
    assert token not in rows[0]["row"]


async def test_what_has_changed_since_the_link_was_made_is_not_signed(vault: Bench) -> None:
    approval, mine = await asked(vault), await register(vault, "sam")
    token, page = await opened(vault, "sam", approval)
    await vault.meddle("UPDATE approvals SET digest = repeat('0', 64)")
    assert _code(await hand_in(vault, token, mine.sign(page.ceremony.challenge))) == "vote.stale"


async def test_a_delegate_signs_with_a_passkey_of_their_own(vault: Bench) -> None:
    await delegate(vault, "sam", "ann")
    approval, theirs = await asked(vault), await register(vault, "sam")
    assert _code(await sign(vault, "ann", approval, theirs)) == "passkey.unknown"
    assert (await sign(vault, "ann", approval, await register(vault, "ann"))).counted
    (vote,) = await vault.rows("SELECT person, delegator FROM votes")
    assert vote == {"person": "ann", "delegator": "sam"}


async def test_a_vote_that_was_withdrawn_is_signed_anew_by_another_link(vault: Bench) -> None:
    approval, mine = await asked(vault), await register(vault, "sam")
    token, page = await opened(vault, "sam", approval)
    signed = mine.sign(page.ceremony.challenge)
    assert (await hand_in(vault, token, signed)).counted
    assert (await say(vault, "sam", approval, CardAct.WITHDRAW, "too early")).counted
    assert (await hand_in(vault, token, signed)).counted, "the outcome of the first time"
    assert [row["gone"] for row in await vault.rows("SELECT withdrawn_at IS NOT NULL AS gone FROM votes")] == [True]
    assert _code(await hand_in(vault, await token_to_sign(vault, "sam", approval), signed)) == "passkey.wrong"
    assert (await sign(vault, "sam", approval, mine)).counted


async def test_requesters_do_not_sign_for_themselves(vault: Bench) -> None:
    await vault.meddle("""UPDATE actors SET groups = '["security"]' WHERE actor_id = 'rita'""")
    mine = await register(vault, "rita")
    assert _code(await sign(vault, "rita", await asked(vault), mine)) == "vote.requester"


async def test_a_revoked_passkey_signs_no_more_and_what_it_signed_stays(vault: Bench) -> None:
    approval, mine = await asked(vault), await register(vault, "sam")
    assert (await sign(vault, "sam", approval, mine)).counted
    assert (await revoke(vault, mine.id))["status"] == "applied"
    assert _code(await sign(vault, "sam", await asked(vault, "2"), mine)) == "passkey.revoked"
    assert (await sign(vault, "pam", approval, await register(vault, "pam"))).counted
    await vault.settle()
    (row,) = await vault.rows("SELECT status FROM approvals WHERE approval_id = %s", approval)
    assert row["status"] == "approved"
    again = await revoke(vault, mine.id)
    assert (again["status"], again["reason"]) == ("refused", "somebody has revoked it before")


async def test_a_key_that_was_put_in_the_place_of_another_signs_nothing(vault: Bench) -> None:
    approval, mine, other = await asked(vault), await register(vault, "sam"), await register(vault, "pam")
    await vault.meddle("UPDATE passkeys SET cose_key = (SELECT cose_key FROM passkeys WHERE person = 'pam')"
                       " WHERE person = 'sam'")  # fmt: skip
    other.credential_id = mine.credential_id
    assert _code(await sign(vault, "sam", approval, other)) == "passkey.wrong"


async def test_invitation_registration_and_revocation_are_as_policy_lets_and_on_record(vault: Bench) -> None:
    assert (await invite(vault, "sam", "t1", by="sam"))["status"] == "refused"
    assert (await invite(vault, "omar", "t2", by="omar"))["status"] == "refused"
    assert (await invite(vault, "nobody", "t3"))["status"] == "refused"
    assert (await revoke(vault, "AAAA"))["status"] == "refused"
    mine = await register(vault, "sam")
    assert (await revoke(vault, mine.id, by="pam"))["status"] == "refused"
    assert (await revoke(vault, mine.id, by="sam"))["status"] == "applied"
    rows = await vault.rows("SELECT seq, hash, leaf FROM tenant_leaves WHERE tenant = %s ORDER BY seq", TENANT)
    said = [(row["seq"], row["hash"].hex(), row["leaf"]) for row in rows]
    leaves = [Leaf.model_validate(leaf) for leaf in in_place(chain_of(TENANT), said)]
    began, ended = ((leaf.actor.id, act_of(leaf)) for leaf in leaves if leaf.event.startswith("passkey."))
    assert isinstance(began[1], PasskeyRegistered)
    assert isinstance(ended[1], PasskeyRevoked)
    assert (began[0], began[1].person, began[1].invited_by, began[1].origin) == ("sam", "sam", "omar", PUBLIC_URL)
    assert (ended[0], ended[1].person, ended[1].credential_id) == ("sam", "sam", mine.id)


async def test_an_invitation_is_for_its_challenge_and_its_time(vault: Bench) -> None:
    mine = authenticator()
    await invite(vault, "sam", "t1")
    page = await counter(vault).open("t1")
    assert isinstance(page, RegistrationPage)
    assert "no passkey" in await counter(vault).register("t1", mine.make("AAAA"))
    await invite(vault, "sam", "t2")
    vault.clock.now += INVITATION_LASTS
    assert await counter(vault).register("t2", mine.make(page.ceremony.challenge)) is Closed.EXPIRED
    assert not await vault.rows("SELECT 1 FROM passkeys")


async def test_a_passkey_is_registered_once(vault: Bench) -> None:
    mine = await register(vault, "sam")
    await invite(vault, "pam", "t1")
    page = await counter(vault).open("t1")
    assert isinstance(page, RegistrationPage)
    assert await counter(vault).register("t1", mine.make(page.ceremony.challenge)) == (
        "this passkey is registered already"
    )


async def test_a_link_to_sign_registers_nothing_and_an_invitation_signs_nothing(vault: Bench) -> None:
    mine, token = await register(vault, "sam"), await token_to_sign(vault, "sam", await asked(vault))
    assert await counter(vault).register(token, mine.make("AAAA")) is Closed.UNKNOWN
    await invite(vault, "sam", "t1")
    assert await counter(vault).sign("t1", mine.sign("AAAA")) is Closed.UNKNOWN


ACTS = "log/acts.json"


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


async def _sealed(vault: Bench, office: Office) -> Path:
    """Seal a run that two people signed, with its log; return the bundle."""
    run_id, archive = await play_vault(vault), LocalArchive(office.folder / "evidence")
    sealer = sealer_of(vault.engine, archive, office.folder / "keys/signing.pem")
    while await sealer():
        pass
    return office.folder / "evidence" / f"{run_id}.zip"


def _trust(office: Office) -> Trust:
    signer = NoteSigner(f"countersign/{TENANT}", load_or_create(office.folder / "keys/log.pem"))
    return Trust(load_public(office.public), log=LogKeys((signer.verifier(Algorithm.ED25519),)))


def _moved(told: dict[str, Any]) -> None:
    told["places"][0]["index"] += 1


def _left_out(told: dict[str, Any]) -> None:
    del told["places"][0]


def _of_others(told: dict[str, Any]) -> None:
    told["places"][0]["seq"] += 100


def _unproven(told: dict[str, Any]) -> None:
    told["proof"] = told["proof"][:-1]


async def _failure(page: Page, office: Office, path: Path) -> tuple[int, str]:
    """Return the step and the member at which both verifiers find a fault."""
    with pytest.raises(VerificationError) as caught:
        verify(path, _trust(office))
    assert caught.value.rule == "passkeys.logged"
    report = await report_of(page, path.read_bytes(), office.public.read_text())
    assert report["failure"] is not None
    assert (report["failure"]["number"], report["failure"]["member"]) == (caught.value.step, caught.value.member)
    return caught.value.step, caught.value.member


async def test_registrations_stand_in_the_log_and_nothing_else_is_taken_for_them(
    vault: Bench, page: Page, tmp_path: Path
) -> None:
    office = Office.in_folder(tmp_path)
    path = await _sealed(vault, office)
    report = verify(path, _trust(office))
    assert {held.rule: held.found for held in report.rules}["passkeys.logged"] == "2 acts"
    assert (await report_of(page, path.read_bytes(), office.public.read_text()))["failure"] is None
    for bend in (_moved, _left_out, _of_others, _unproven):
        told = canonical.loads(members_of(path)[ACTS])
        bend(told)
        assert await _failure(page, office, resealed(office, path, **{ACTS: canonical.dumps(told)})) == (8, ACTS), bend
    assert await _failure(page, office, resealed(office, path, **{ACTS: None})) == (8, ACTS)

"""The second verifier looks at the log, its witnesses and the register of keys as the first one does."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error, Page, expect

from evidence.build import Dossier
from evidence.log_proofs import LogProof, Span
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError, verify
from receipts.checkpoint import sign_checkpoint
from receipts.hashes import TreeHead
from receipts.note import VerifierKey
from receipts.proofs import _root, _without
from receipts.register import Entry, Register, entry, revoked, succeeded, write_register
from receipts.signing import load_public
from tests.browser import report_of, verify_page
from tests.integration.test_evidence_page import members_of
from tests.stamps import Tsa
from tests.unit import test_evidence_log as logs
from tests.unit import test_evidence_stamped as stamped
from tests.unit.evidence_bends import resealed
from tests.unit.evidence_sample import START, Office, story
from tests.unit.evidence_variants import LOG, OTHER, logged, trusted
from tests.unit.log_sample import signer, vkey, witness_key

DAY = timedelta(days=1)
Change = Callable[[LogProof], LogProof]


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def given(trust: Trust) -> dict[str, Any]:
    """Return what the page is given beside the key, by who trusts that."""
    return {
        "register": write_register(trust.register.keys).decode() if trust.register else None,
        "logKeys": [str(key) for key in trust.log.keys] if trust.log else [],
        "witnesses": [str(key) for key in trust.witnesses],
        "needed": trust.witnessed if trust.witnesses else None,
    }


async def shown(page: Page, path: Path, trust: Trust) -> dict[str, Any]:
    return await report_of(page, path.read_bytes(), trust.key.pem().decode(), given(trust))


async def agree(page: Page, path: Path, trust: Trust) -> tuple[int, str, str]:
    """Return what both find."""
    with pytest.raises(VerificationError) as caught:
        verify(path, trust)
    failure = (await shown(page, path, trust))["failure"]
    assert failure is not None, caught.value
    found = (failure["number"], failure["member"], failure["what"])
    assert found[:2] == (caught.value.step, caught.value.member), caught.value
    return found


async def holds(page: Page, path: Path, trust: Trust) -> str:
    """Return what the page says of step 6, where both find that everything holds."""
    verify(path, trust)
    report = await shown(page, path, trust)
    assert report["failure"] is None
    return next(str(step["fact"]) for step in report["passed"] if step["number"] == 6)


async def test_leaves_that_stand_in_the_log_hold(page: Page, office: Office) -> None:
    path = office.seal(logged())
    assert "28 leaves of the log countersign/acme, whose key was not given" in await holds(page, path, trusted(office))
    for trust in (trusted(office, LOG), trusted(office, OTHER, LOG)):
        assert (await holds(page, path, trust)).endswith("28 leaves of the log countersign/acme")


async def test_where_the_logs_key_is_given_it_signed_the_checkpoint(page: Page, office: Office) -> None:
    for dossier, key in (
        (story().dossier(), LOG),
        (logged(), OTHER),
        (logged(), signer("countersign/other", 7)),
        (logged(logs._forged), LOG),
    ):
        assert (await agree(page, office.seal(dossier), trusted(office, key)))[:2] == (6, logs.CHECKPOINT)


@pytest.mark.parametrize("lie", logs.LIES.values(), ids=logs.LIES.keys())
async def test_another_place_in_the_log_is_not_believed(
    page: Page, office: Office, lie: tuple[tuple[str, str], Change]
) -> None:
    (_, member), change = lie
    assert (await agree(page, office.seal(logged(change)), trusted(office)))[1] == member


async def test_a_proof_without_its_checkpoint_or_the_other_way_round_does_not_hold(page: Page, office: Office) -> None:
    for name in (logs.CHECKPOINT, logs.INCLUSION):
        path = resealed(office, office.seal(logged()), **{name: None})
        assert (await agree(page, path, trusted(office)))[1] == name


def large() -> Dossier:
    """Return the run in a log that nobody could hold, so that its size takes more bits than a double has."""
    size, first = 2**62 + 12_345, 2**52
    dossier = story().dossier()
    hashes = [bytes.fromhex(leaf["hash"]) for leaf in dossier.leaves]
    leaves = {first + place: each for place, each in enumerate(hashes)}
    indices = sorted(leaves)
    proof = [bytes([place % 256]) * 32 for place, _ in enumerate(_without(indices, 0, size))]
    head = TreeHead(size, _root(leaves, indices, iter(proof), 0, size))
    note = bytes(sign_checkpoint(LOG, head)).decode()
    return replace(dossier, log=LogProof(note, [Span(first_seq=1, count=len(hashes), first_index=first)], proof))


async def test_a_log_of_any_size_is_computed_exactly(page: Page, office: Office) -> None:
    dossier = large()
    assert "4611686018427400249 leaves" in await holds(page, office.seal(dossier), trusted(office, LOG))
    assert dossier.log is not None
    less = replace(dossier, log=replace(dossier.log, hashes=dossier.log.hashes[:-1]))
    assert (await agree(page, office.seal(less), trusted(office, LOG)))[1] == logs.INCLUSION


NOTES: dict[str, Callable[[bytes], bytes]] = {
    "no empty line": lambda note: note.replace(b"\n\n", b"\n"),
    "no signature": lambda note: note.partition(b"\n\n")[0] + b"\n\n",
    "no last line end": lambda note: note[:-1],
    "a control character": lambda note: note.replace(b"acme\n", b"acme\t\n", 1),
    "bytes that are no text": lambda note: note + b"\xff\n",
    "another dash": lambda note: note.replace("—".encode(), b"-"),
    "base64 in another spelling": lambda note: note.replace(b"=\n\n", b"\n\n", 1),
    "a size with a zero before": lambda note: note.replace(b"\n28\n", b"\n028\n", 1),
    "a size that is none": lambda note: note.replace(b"\n28\n", b"\n0x1c\n", 1),
    "a size that is too large": lambda note: note.replace(b"\n28\n", b"\n9223372036854775808\n", 1),
    "two lines": lambda note: note.replace(b"\n28\n", b"\n", 1),
    "an empty name": lambda note: note.replace("— countersign/acme".encode(), "— ".encode()),
    "a short signature": lambda note: note.rpartition(b" ")[0] + b" AAAAAA==\n",
    "many signatures": lambda note: note + note.rpartition(b"\n\n")[2] * 64,
    "a long note": lambda note: note.replace(b"\n\n", b"\n" + b"x" * 2**18 + b"\n\n"),
}


@pytest.mark.parametrize("name", NOTES)
async def test_a_checkpoint_in_another_form_is_not_read(page: Page, office: Office, name: str) -> None:
    path = office.seal(logged())
    note = members_of(path)[logs.CHECKPOINT]
    bent = NOTES[name](note)
    assert bent != note
    path = resealed(office, path, **{logs.CHECKPOINT: bent})
    for trust in (trusted(office), trusted(office, LOG)):
        assert (await agree(page, path, trust))[:2] == (6, logs.CHECKPOINT)


@pytest.mark.parametrize(
    "inclusion", [b"{}", b"[]", b'{"places":[],"proof":[]}', b'{"places":[],"proof":["00"]}', b"{ }"]
)
async def test_a_proof_in_another_form_is_not_read(page: Page, office: Office, inclusion: bytes) -> None:
    path = resealed(office, office.seal(logged()), **{logs.INCLUSION: inclusion})
    assert (await agree(page, path, trusted(office)))[:2] == (6, logs.INCLUSION)


async def test_as_many_witnesses_as_are_asked_for_must_have_cosigned(page: Page, office: Office) -> None:
    trust = replace(trusted(office, LOG), witnesses=(witness_key(logs.WATCH),), witnessed=1)
    said = await holds(page, office.seal(logged(logs._watched)), trust)
    assert said.endswith("cosigned by witness.example/w1")
    await holds(page, office.seal(logged()), replace(trust, witnessed=0))
    assert (await agree(page, office.seal(logged()), trust))[1] == logs.CHECKPOINT
    other = replace(trust, witnesses=(witness_key(signer("witness.example/w1", 10)),))
    assert (await agree(page, office.seal(logged(logs._watched)), other))[1] == logs.CHECKPOINT


def _miswatched(proof: LogProof) -> LogProof:
    """Return the proof with its checkpoint cosigned at another time than its cosignature says."""
    watched = logs._watched(proof)
    lines = watched.checkpoint.splitlines(keepends=True)
    name, _, encoded = lines[-1].rpartition(" ")
    return replace(watched, checkpoint="".join([*lines[:-1], f"{name} {encoded[:12]}C{encoded[13:]}"]))


async def test_a_cosignature_that_does_not_hold_spoils_the_checkpoint(page: Page, office: Office) -> None:
    trust = replace(trusted(office, LOG), witnesses=(witness_key(logs.WATCH),))
    assert "does not hold" in (await agree(page, office.seal(logged(_miswatched)), trust))[2]
    await holds(page, office.seal(logged(_miswatched)), trusted(office, LOG))


async def test_a_time_stamp_is_named_and_not_looked_at(page: Page, office: Office, tmp_path: Path) -> None:
    path = office.seal(stamped.logged(Tsa(tmp_path / "tsa")))
    said = await holds(page, path, Trust(load_public(office.public)))
    assert said.endswith("at log/checkpoint.tsr, a time stamp, this page does not look")


# Keys that cannot be used verify nothing.


def _vkeys(key: VerifierKey) -> dict[str, str]:
    text = str(key)
    return {
        "no key": "countersign/acme",
        "another hash": text.replace(text.split("+")[1], "00000000"),
        "a hash in capitals": text.replace(text.split("+")[1], "ABCDEF01"),
        "another name": text.replace("acme", "acma"),
        "a space": text.replace("acme", "ac me"),
        "cut": text[:-4],
        "of a witness": str(witness_key(LOG)),
    }


@pytest.mark.parametrize("name", _vkeys(vkey(LOG)))
async def test_a_key_of_a_log_that_cannot_be_used_is_refused(page: Page, office: Office, name: str) -> None:
    data, pem = office.seal(logged()).read_bytes(), office.public.read_text()
    with pytest.raises(Error, match=r"verifier key|a key's name"):
        await report_of(page, data, pem, {"logKeys": [_vkeys(vkey(LOG))[name]]})


async def test_what_is_given_must_fit_together(page: Page, office: Office) -> None:
    data, pem = office.seal(logged()).read_bytes(), office.public.read_text()
    log, other, watch = str(vkey(LOG)), str(vkey(signer("countersign/other", 7))), str(witness_key(logs.WATCH))
    for wrong, said in (
        ({"witnesses": [watch]}, "a log whose key is given, and none is"),
        ({"logKeys": [log], "witnesses": [watch], "needed": 2}, "2 witnesses cannot have cosigned: 1 are given"),
        ({"logKeys": [log, other]}, "all have its origin as their name"),
        ({"logKeys": [log], "witnesses": [log]}, "is not a witness's"),
    ):
        with pytest.raises(Error, match=said):
            await report_of(page, data, pem, wrong)


# The register of keys: the sample is sealed ten minutes after START.


async def test_who_has_a_later_key_and_the_register_can_verify_what_an_earlier_one_signed(
    page: Page, office: Office
) -> None:
    path = office.seal(story().dossier())
    trust = logs._trust(office, -DAY, DAY)
    await holds(page, path, trust)
    assert (await shown(page, path, trust))["key"] == office.key.public.key_id
    await holds(page, path, logs._trust(office, -DAY, DAY, timedelta(minutes=11)))
    await holds(page, path, logs._trust(office, timedelta(minutes=70), DAY))
    assert (await agree(page, path, Trust(logs.NEXT.public)))[:2] == (2, "statement.dsse.json")


@pytest.mark.parametrize(
    ("since", "until", "gone"),
    [(DAY, 2 * DAY, None), (-2 * DAY, -DAY, None), (-DAY, DAY, timedelta(minutes=10))],
    ids=["too early", "too late", "revoked"],
)
async def test_a_key_signs_only_while_it_counts(
    page: Page, office: Office, since: timedelta, until: timedelta, gone: timedelta | None
) -> None:
    trust = logs._trust(office, since, until, gone)
    with pytest.raises(VerificationError) as caught:
        verify(office.seal(story().dossier()), trust)
    found = await agree(page, office.seal(story().dossier()), trust)
    assert found == (6, "statement.dsse.json", caught.value.what)


async def test_a_key_that_nobody_vouches_for_signs_nothing(page: Page, office: Office) -> None:
    alone = Register(keys=[entry(logs.NEXT.public, START)])
    two = Register(keys=[entry(office.key.public, START), entry(logs.NEXT.public, START)])
    for register in (alone, two):
        trust = Trust(logs.NEXT.public, register=register)
        assert (await agree(page, office.seal(story().dossier()), trust))[:2] == (2, "statement.dsse.json")


async def test_a_register_that_cannot_be_used_verifies_nothing(page: Page, office: Office, tmp_path: Path) -> None:
    third = Office.in_folder(tmp_path / "third", 2).key
    keys = succeeded([entry(office.key.public, START)], logs.NEXT, START + DAY)
    broken: dict[str, list[Entry]] = {
        "does not have the key that is trusted": [entry(office.key.public, START)],
        "names a key twice": [*keys, keys[-1]],
        "is not signed by": [keys[0].model_copy(update={"until": None}), keys[1]],
        "which was revoked": [
            *keys[:1],
            *revoked(succeeded(keys[1:], third, START + DAY), keys[1].id, third, START + DAY, "lost")[:1],
        ],
    }
    data, pem = office.seal(story().dossier()).read_bytes(), logs.NEXT.public.pem().decode()
    for said, register in broken.items():
        with pytest.raises(Error, match=said):
            await report_of(page, data, pem, {"register": write_register(register).decode()})
    for text in ("", "{}", '{"keys":[{}]}', '{"keys": []}'):
        with pytest.raises(Error, match="not a register of keys"):
            await report_of(page, data, pem, {"register": text})


async def test_the_key_that_signed_is_the_one_with_which_the_sealing_began(page: Page, office: Office) -> None:
    told = story()
    told.events[-1][1]["key_id"] = "0" * 64
    trust = trusted(office)
    assert (await agree(page, office.seal(told.dossier()), trust))[:2] == (6, "statement.dsse.json")
    told.events[-1][1]["key_id"] = office.key.public.key_id
    await holds(page, office.seal(told.dossier()), trust)


# As people give it.


async def test_people_give_keys_of_the_log_and_a_register_in_fields(page: Page, office: Office) -> None:
    trust = logs._trust(office, -DAY, DAY)
    assert trust.register is not None
    register, key = office.folder / "keys.json", office.folder / "next.pub.pem"
    register.write_bytes(write_register(trust.register.keys))
    key.write_bytes(logs.NEXT.public.pem())
    verdict = page.locator("#verdict")
    await page.get_by_label("Evidence bundle").set_input_files(office.seal(logged(logs._watched)))
    await page.get_by_label("Public key").set_input_files(key)
    await expect(verdict).to_contain_text("Step 2: statement.dsse.json: the signature is not by the key")
    await page.get_by_text("Check more").click()
    await page.get_by_label("Register of keys").set_input_files(register)
    await expect(verdict).to_contain_text("Everything checked here holds")
    await expect(verdict).to_contain_text(
        "The log's key was not given: anyone with the evidence key could have invented"
    )
    await expect(page.locator("#summary")).to_contain_text("countersign/acme of 28 leaves, whose key was not given")
    await page.get_by_label("Keys of the audit log").fill(f"{vkey(OTHER)}\n")
    await page.get_by_label("Keys of its witnesses").fill(str(witness_key(logs.WATCH)))
    await expect(verdict).to_contain_text("the checkpoint is not signed by countersign/acme+")
    await page.get_by_label("Keys of the audit log").fill(f"{vkey(OTHER)}\n\n {vkey(LOG)}")
    await page.get_by_label("How many witnesses").fill("2")
    await page.get_by_label("How many witnesses").blur()
    await expect(verdict).to_contain_text("2 witnesses cannot have cosigned: 1 are given.")
    await page.get_by_label("How many witnesses").fill("")
    await page.get_by_label("How many witnesses").blur()
    await expect(page.locator("#summary")).to_contain_text("of 28 leaves, signed by its key, and cosigned")

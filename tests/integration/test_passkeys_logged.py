"""That a passkey was registered stands in the log that everybody can keep a checkpoint of: the bundle proves it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from countersign.embedded.opa import OpaChild
from evidence.archive.local import LocalArchive
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError, verify
from policy.client import OpaEngine
from receipts import canonical
from receipts.log.checkpoint import LogKeys
from receipts.log.note import Algorithm, NoteSigner
from receipts.signing import load_or_create, load_public
from tests.bench import TENANT, Bench
from tests.browser import report_of, verify_page
from tests.integration.passkeys_stage import open_vault, play_vault
from tests.patience import MINUTE
from tests.sealing import sealer_of
from tests.unit.evidence_resealed import members_of, resealed
from tests.unit.evidence_sample import Office

ACTS = "log/acts.json"


@pytest.fixture
async def vault(dsn: str, opa: OpaChild) -> AsyncIterator[Bench]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(dsn, policy) as bench:
        yield bench


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

"""A sealer of evidence whose log is signed with a key beside the evidence's."""

from pathlib import Path

from evidence.archive import Archive
from evidence.key_ring import KeyRing
from evidence.notary import Notary
from evidence.sealer import Sealer
from receipts.note import NoteSigner
from receipts.signing import load_or_create
from runtime.engine import Engine
from runtime.services.log import AuditLogService
from runtime.services.sealing import SealingService
from tests.bench import TENANT


def notary_of(engine: Engine, archive: Archive, key: Path) -> Notary:
    """Return what signs the log with the key beside `key`."""
    signer = NoteSigner(f"countersign/{TENANT}", load_or_create(key.with_name("log.pem")))
    return Notary(AuditLogService(engine), archive, signer, f"log/{TENANT}/")


def sealer_of(engine: Engine, archive: Archive, key: Path) -> Sealer:
    """Return what seals with the key in this file."""
    return Sealer(SealingService(engine), archive, KeyRing(key), notary_of(engine, archive, key))

"""Where evidence is kept, as the settings name it."""

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from countersign.log_key import make_signer, naming_key_setting
from countersign.settings import ConfigError, Settings, variable
from evidence.archive import Archive, ArchiveError, UnlockedError
from evidence.key_ring import KeyRing
from evidence.local import LocalArchive
from evidence.notary import Notary, Witnesses
from evidence.retention import Keeper, Retention
from evidence.sealer import Sealer
from evidence.timestamping import Stamper, Stamping
from receipts.note import parse_verifier_key
from receipts.stamp import load_authority
from runtime.clock import Clock
from runtime.engine import Engine
from runtime.services.legal_holds import LegalHolds
from runtime.services.log import AuditLogService, TimestampService
from runtime.services.sealing import SealingService
from runtime.worker import Job

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """Seconds that a store may take to answer, and how often it is asked again."""

    seconds: float
    retries: int


_WORKING, _STARTING = Patience(30, 2), Patience(3, 0)


def make_archive(settings: Settings, clock: Clock, patience: Patience = _WORKING) -> Archive:
    """Return the archive that the settings describe: a bucket, or a local folder."""
    if settings.s3_bucket is None:
        return LocalArchive(settings.home / "evidence")
    from evidence.s3 import S3Archive  # noqa: PLC0415 - boto3 is large, and few processes need it

    return S3Archive(
        make_s3(settings, patience),
        settings.s3_bucket,
        settings.s3_prefix,
        make_retention(settings),
        clock,
        must_lock=settings.wants_lock,
    )


def check_lock(settings: Settings, clock: Clock) -> None:
    """Raise ConfigError where evidence has to be locked and its bucket says that it locks nothing.

    Where it need not be locked, a retention that is set and not kept is said. A bucket that is out of reach is asked
    again before anything is stored there.
    """
    unkept = unkept_retention(settings)
    if not settings.wants_lock and not unkept:
        return
    try:
        make_archive(settings, clock, _STARTING).check_lock()
    except UnlockedError as error:
        if not settings.wants_lock:
            log.warning("%s%s", error, unkept)
            return
        raise ConfigError(
            f"{error}; name another with {variable('s3_bucket')}, which `countersign bucket` makes as it must be,"
            f" or set {variable('require_lock')}=false"
        ) from error
    except ArchiveError as error:
        log.warning("no evidence is stored until this is known: %s", error)


def unkept_retention(settings: Settings) -> str:
    """Return the end of a sentence about a store without locks: which settings of retention, if any, it ignores."""
    named = [variable(name) for name in ("retention_days", "retention_mode") if name in settings.model_fields_set]
    return f"; no bundle gets the retention of {' and '.join(named)}" if named else ""


def make_retention(settings: Settings) -> Retention:
    """Return for how long bundles have to stay."""
    return Retention(settings.retention_mode, settings.retention_days)


def make_jobs(settings: Settings, engine: Engine) -> list[Job]:
    """Return the worker's jobs that seal and hold evidence, and that sign, publish and have stamped the audit log.

    Raise ConfigError over a key, NoteError of a witness, or StampError.
    """
    stamping = make_stamping(settings, engine)
    notary = make_notary(settings, engine, stamping)
    keeper = make_keeper(settings, engine)
    return [make_sealer(settings, engine, notary), notary, keeper, *([stamping] if stamping else [])]


def make_sealer(settings: Settings, engine: Engine, notary: Notary) -> Sealer:
    """Return the worker's job that seals evidence; its key is made where there is none."""
    ring = KeyRing(settings.key_path)
    with naming_key_setting("signing_key"):
        ring.keys()  # what is wrong with the files is said at the start
    return Sealer(SealingService(engine), make_archive(settings, engine.clock), ring, notary)


def make_keeper(settings: Settings, engine: Engine) -> Keeper:
    """Return the worker's job that has the archive hold what legal holds name."""
    desk = LegalHolds(engine.pool, engine.clock, engine.tenant, engine.privacy)
    return Keeper(desk, make_archive(settings, engine.clock))


def make_stamping(settings: Settings, engine: Engine) -> Stamping | None:
    """Return the worker's job that has checkpoints stamped, or None where no authority is named."""
    if settings.tsa_url is None or settings.tsa_ca is None:
        return None
    every = timedelta(seconds=settings.stamp_seconds)
    return Stamping(
        desk=TimestampService(engine),
        log=AuditLogService(engine),
        archive=make_archive(settings, engine.clock),
        folder=f"log/{settings.tenant}/",
        stamper=Stamper(settings.tsa_url, load_authority(settings.tsa_ca), every),
    )


def make_notary(settings: Settings, engine: Engine, stamping: Stamping | None) -> Notary:
    """Return the worker's job that signs and publishes the audit log."""
    return Notary(
        desk=AuditLogService(engine),
        archive=make_archive(settings, engine.clock),
        signer=make_signer(settings),
        folder=f"log/{settings.tenant}/",
        every=timedelta(seconds=settings.checkpoint_seconds),
        witnesses=Witnesses(
            {parse_verifier_key(key): url for key, url in settings.witnesses.items()}, settings.witnesses_needed
        ),
        stamping=stamping,
    )


def make_s3(settings: Settings, patience: Patience = _WORKING) -> "S3Client":
    """Return a client of the bucket's store."""
    import boto3  # noqa: PLC0415 - see make_archive
    from botocore.config import Config  # noqa: PLC0415

    access, secret = settings.s3_access_key, settings.s3_secret_key
    return boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        region_name=settings.s3_region,
        aws_access_key_id=access.get_secret_value() if access else None,
        aws_secret_access_key=secret.get_secret_value() if secret else None,
        verify=str(settings.s3_ca) if settings.s3_ca else None,
        config=Config(
            connect_timeout=min(5, patience.seconds),
            read_timeout=patience.seconds,
            retries={"max_attempts": patience.retries},
            user_agent="countersign",  # the library would put its own together for each call
        ),
    )

"""Where evidence is kept, as the settings name it."""

from datetime import timedelta
from typing import TYPE_CHECKING

from countersign.compose.log_key import make_signer
from countersign.config.settings import Settings
from evidence.archive.archive import Archive
from evidence.archive.local import LocalArchive
from evidence.archive.retention import Retention
from evidence.bundle.ring import KeyRing
from evidence.bundle.sealer import Sealer
from evidence.notary import Notary
from evidence.witnesses import Witnesses
from receipts.log.keys import parse_verifier_key
from runtime.clock import Clock
from runtime.desk.evidence import EvidenceDesk
from runtime.desk.log import LogDesk
from runtime.engine import Engine

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def make_archive(settings: Settings, clock: Clock) -> Archive:
    """Return the archive that the settings describe: a bucket, or a local folder."""
    if settings.s3_bucket is None:
        return LocalArchive(settings.home / "evidence")
    from evidence.archive.s3 import S3Archive  # noqa: PLC0415 - boto3 is large, and few processes need it

    return S3Archive(make_s3(settings), settings.s3_bucket, settings.s3_prefix, make_retention(settings), clock)


def make_retention(settings: Settings) -> Retention:
    """Return for how long bundles have to stay."""
    return Retention(settings.retention_mode, settings.retention_days)


def make_sealer(settings: Settings, engine: Engine) -> Sealer:
    """Return the worker's job that seals evidence; its key is made where there is none. Raise KeyFileError."""
    ring = KeyRing(settings.key_path)
    ring.keys()  # what is wrong with the files is said at the start
    return Sealer(EvidenceDesk(engine), make_archive(settings, engine.clock), ring, make_notary(settings, engine))


def make_notary(settings: Settings, engine: Engine) -> Notary:
    """Return the worker's job that signs and publishes the audit log. Raise KeyFileError, or NoteError of a witness."""
    return Notary(
        desk=LogDesk(engine),
        archive=make_archive(settings, engine.clock),
        signer=make_signer(settings),
        folder=f"log/{settings.tenant}/",
        every=timedelta(seconds=settings.checkpoint_seconds),
        witnesses=Witnesses(
            {parse_verifier_key(key): url for key, url in settings.witnesses.items()}, settings.witnesses_needed
        ),
    )


def make_s3(settings: Settings) -> "S3Client":
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
        config=Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 2}),
    )

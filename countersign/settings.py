"""Every setting, in one frozen object, from the environment (`COUNTERSIGN_…`) or from files among Docker's secrets."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SecretsSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from countersign.foreseen_errors import CountersignError
from countersign.setting_types import (
    BaseUrl,
    CallerSecret,
    DatabaseUrl,
    Domain,
    HttpUrl,
    Issuer,
    Name,
    OpaUrl,
    Origin,
    Prefix,
    Secret,
    SigningSecret,
    Token,
    TokenKey,
    WebhookSecret,
    Word,
)
from runtime.definitions.problems import hint
from runtime.model.console import ConsoleRole
from runtime.model.runbook_version import Activation

PREFIX = "COUNTERSIGN_"
ROOT = Path(__file__).resolve().parents[1]
"""Where the program is: a checkout, or the folder of installed packages. `rego` and `packs` stand beside it in both."""
SECRET_FILES = Path("/run/secrets")
"""Where Docker mounts secrets: `countersign_database_url` there is what COUNTERSIGN_DATABASE_URL is."""

START_HEADER = "Countersign-Start"
"""The header of answers in which a process shows COUNTERSIGN_START."""

DEFAULT_CONNECTIONS = 10

# Tests have variables of their own.
_NOT_OURS = re.compile(r"COUNTERSIGN_TEST_.*")
_MASK = "********"


class ConfigError(CountersignError):
    """A setting is wrong, unknown or missing; the message names its variable."""


def packs_in(folder: Path) -> list[Path]:
    """Return the folders in `folder` that hold verbs or runbooks."""
    return sorted({found.parent for kind in ("verbs", "runbooks") for found in folder.glob(f"*/{kind}")})


class _SecretFiles(SecretsSettingsSource):
    """Files of secrets; an empty one says no more than an empty variable."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the text of a file, or None where there is none in it."""
        value, key, is_complex = super().get_field_value(field, field_name)
        return value or None, key, is_complex


class Settings(BaseSettings):
    """What the program runs with. A value that is a mapping or a list is JSON in the environment; empty is not set."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    tenant: str = Field("acme", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", description="the tenant that this process serves")
    home: Path = Field(Path(".countersign"), description="folder of keys, local evidence and embedded mode's data")
    database_url: DatabaseUrl | None = Field(None, description="PostgreSQL")
    directory_database_url: DatabaseUrl | None = Field(
        None, description="PostgreSQL, by the login that loads the directory; `people load` needs it"
    )
    database_pooler: Literal["none", "transaction"] = Field(
        "none", description="transaction: DATABASE_URL is a pooler's, such as PgBouncer's, that shares by transaction"
    )
    database_direct_url: DatabaseUrl | None = Field(
        None, description="PostgreSQL past its pooler, to listen for work; without it workers poll"
    )
    database_connections: int = Field(
        DEFAULT_CONNECTIONS,
        ge=2,
        le=200,
        description="connections of each process's pool; if not set, fewer where `serve` is many processes",
    )
    database_patience: float = Field(60.0, ge=0, le=600, description="seconds that a start waits for PostgreSQL")
    opa_url: OpaUrl | None = Field(None, description="OPA: http(s)://HOST:PORT, or its socket, unix:///PATH")
    opa_token: Token | None = Field(None, description="bearer token, where OPA wants one")
    opa_ca: Path | None = Field(None, description="PEM of the authority behind OPA's certificate; else the system's")
    opa_certificate: Path | None = Field(None, description="PEM that we show an OPA that asks for a certificate")
    opa_key: Path | None = Field(None, description="PEM of its key, where that is a file of its own")
    opa_timeout: float = Field(0.5, ge=0.05, le=60, description="seconds in which policy must have answered")
    opa: Path | None = Field(
        None,
        description="`opa` program that explains and previews policies, and with which workers ask the previous version"
        " when the policy is rolled back; commands take the pinned one if not set",
    )
    policies: Path = Field(ROOT / "rego", description="policy folder of embedded mode")
    policy_keys: list[Path] = Field(
        [],
        description="PEM files of the public keys whose policy bundles are taken; HOME/keys/policy.pub.pem if not set",
    )
    policy_token: Token | None = Field(
        None, description="bearer token with which OPA downloads the policy in force from the edge; closed if not set"
    )
    packs: list[Path] = Field(default_factory=lambda: packs_in(ROOT / "packs"), description="pack folders")
    pack: dict[str, dict[str, str]] = Field({}, repr=False, description="settings of packs, by pack name")
    overlay: Path | None = Field(None, description="YAML file of mocks: the program then writes nothing for real")
    definitions: Literal["strict", "warn"] = Field(
        "strict", description="what a start does about an invalid definition"
    )
    activation: Activation = Field(
        Activation.FIRST,
        description="which versions a start activates: a runbook's first, the newest too, or none (manual)",
    )
    directory: Path | None = Field(None, description="YAML file of people, agents and their Slack accounts")

    slack_bot_token: Token | None = Field(None, description="xoxb-…, of the installed app")
    slack_signing_secrets: list[SigningSecret] = Field([], description="for HTTP: one, or two while rotating")
    slack_app_token: Token | None = Field(None, description="xapp-…, for Socket Mode")
    slack_api_url: BaseUrl = Field("https://slack.com/api/", description="base URL of the Web API")
    slack_app_id: Annotated[str, Field(pattern=r"^A[A-Z0-9]{1,20}$")] | None = Field(
        None, description="the app's id (A…): the page behind our links leads to it, and to Slack without"
    )
    slack_client_id: Word | None = Field(None, description="the app's, to be installed by OAuth in many workspaces")
    slack_client_secret: Secret | None = Field(None, description="the app's client secret")
    slack_token_keys: list[TokenKey] = Field(
        [], description="base64 of 32 bytes each, which keep workspaces' tokens; the first encrypts"
    )
    slack_authorize_url: HttpUrl = Field(
        "https://slack.com/oauth/v2/authorize", description="where Slack asks people whether to install the app"
    )
    slack_channel: Word | None = Field(None, description="channel of cards that no group's channel takes")
    slack_channels: dict[str, Word] = Field({}, description="channel by group")
    routing: Path | None = Field(None, description="YAML file of rules: which requests go where, by what they are")
    subscriptions: Path | None = Field(None, description="YAML file of webhooks: which events of runs are sent where")
    webhook_secrets: dict[Name, WebhookSecret] = Field(
        {}, description="secrets that sign webhooks, by name: whsec_ and base64 of 24 to 64 bytes"
    )
    doubt_groups: list[Word] = Field(["operators"], min_length=1, description="who decides effects in doubt")

    s3_bucket: Word | None = Field(None, description="bucket of evidence; a folder in HOME if not set")
    s3_prefix: Prefix = Field(
        "evidence/", pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*/)*$", description="folder in the bucket"
    )
    s3_endpoint: HttpUrl | None = Field(None, description="S3 endpoint, for stores other than AWS")
    s3_region: Word = Field("us-east-1", description="region of the bucket")
    s3_access_key: Token | None = Field(None, description="access key; boto3's own search if not set")
    s3_secret_key: Secret | None = Field(None, description="secret key; boto3's own search if not set")
    s3_ca: Path | None = Field(None, description="PEM of the authority behind S3's certificate; else the system's")
    retention_days: int = Field(2555, ge=1, le=36500, description="retention in days where the bucket has Object Lock")
    retention_mode: Literal["GOVERNANCE", "COMPLIANCE"] = Field("COMPLIANCE", description="Object Lock mode")
    require_lock: bool | None = Field(
        None,
        description="whether evidence may only go where it is locked; if not set, yes with a bucket, no with a folder",
    )
    signing_key: Path | None = Field(None, description="Ed25519 key of evidence; HOME/keys/evidence.pem if not set")

    log_key: Path | None = Field(None, description="Ed25519 key of the audit log; HOME/keys/log.pem if not set")
    checkpoint_seconds: float = Field(
        60.0, ge=1, le=3600, description="how often the audit log is signed while it grows"
    )
    witnesses: dict[str, str] = Field({}, description="who cosigns the audit log: base URL by key (vkey)")
    witnesses_needed: int = Field(
        0, ge=0, le=100, description="how many witnesses must cosign before anything is sealed"
    )
    tsa_url: HttpUrl | None = Field(
        None, description="time stamping authority (RFC 3161) that stamps the audit log's checkpoints"
    )
    tsa_ca: Path | None = Field(None, description="PEM of its root, and of what stands between that and who stamps")
    stamp_seconds: float = Field(60.0, ge=1, le=86_400, description="seconds between two stamps at least")
    log_origin: str | None = Field(
        None,
        pattern=r"^[^\s+]{1,200}$",
        description="name of the audit log, unlike any other's; countersign/TENANT if not set",
    )

    callers: dict[Name, CallerSecret] = Field({}, description="signing secret of each agent that calls the edge")
    host: Word = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    public_url: Origin | None = Field(
        None,
        description="where browsers reach us: to sign, to install the Slack app, and behind our links: https://HOST",
    )
    console_link: Token | None = Field(
        None, description="secret of the link that opens the console once, in a sandbox at http://localhost alone"
    )
    console_groups: dict[ConsoleRole, list[Name]] = Field(
        {}, description="groups whose people may use the console, by role: viewer, auditor, officer, operator"
    )
    console_issuer: Issuer | None = Field(
        None, description="identity provider with whose accounts people sign in to the console (OpenID Connect)"
    )
    console_client_id: Word | None = Field(None, description="the console's client at the identity provider")
    console_client_secret: Secret | None = Field(None, description="the client's secret")
    console_domains: list[Domain] = Field(
        [], description="domains of mail addresses that count if the identity provider has verified them"
    )
    caller_rate: float = Field(10.0, gt=0, description="sustained requests a second of a caller")
    caller_burst: int = Field(100, ge=1, description="burst of requests of a caller")
    person_rate: float = Field(2.0, gt=0, description="sustained acts a second of a person in Slack")
    person_burst: int = Field(60, ge=1, description="burst of acts of a person in Slack")
    http_connections: int = Field(500, ge=10, le=50_000, description="connections to this process at once")
    request_seconds: float = Field(10.0, gt=0, le=300, description="how long a request may take to arrive")
    cgroup: Path = Field(
        Path("/sys/fs/cgroup"),
        description="where cgroups are, whose limits say how many processes run worker and sweeps",
    )
    concurrency: int = Field(8, ge=1, le=256, description="tasks that a worker runs at once")
    sweep_seconds: float = Field(1.0, gt=0, le=60, description="seconds between sweeps")
    lease_seconds: float = Field(
        30.0, ge=1, le=3600, description="seconds after which a silent worker's leases run out"
    )
    stop_seconds: float = Field(15.0, ge=1, le=3600, description="seconds that running work may take to end at a stop")
    start: str | None = Field(None, description="nonce by which embedded mode knows the answers of its own processes")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto: text on a terminal, JSON elsewhere")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read what is given, the environment, and files of secrets, of which an empty one is not set either."""
        folder = getattr(file_secret_settings, "secrets_dir", None)
        return init_settings, env_settings, _SecretFiles(settings_cls, folder)

    @model_validator(mode="after")
    def _enough_witnesses(self) -> Self:
        if self.witnesses_needed > len(self.witnesses):
            raise ValueError("COUNTERSIGN_WITNESSES_NEEDED: there are fewer COUNTERSIGN_WITNESSES")
        return self

    @model_validator(mode="after")
    def _whole_authority(self) -> Self:
        if (self.tsa_url is None) != (self.tsa_ca is None):
            raise ValueError("COUNTERSIGN_TSA_URL and COUNTERSIGN_TSA_CA: only one of them is set")
        return self

    @model_validator(mode="after")
    def _whole_key(self) -> Self:
        if (self.s3_access_key is None) != (self.s3_secret_key is None):
            raise ValueError("COUNTERSIGN_S3_ACCESS_KEY and COUNTERSIGN_S3_SECRET_KEY: only one of them is set")
        if self.opa_key and not self.opa_certificate:
            raise ValueError("COUNTERSIGN_OPA_KEY: there is no COUNTERSIGN_OPA_CERTIFICATE that it belongs to")
        return self

    @model_validator(mode="after")
    def _whole_app(self) -> Self:
        if (self.slack_client_secret or self.slack_token_keys) and (missing := self.missing_of_app()):
            raise ValueError(missing)
        if self.slack_client_id is not None and self.slack_bot_token is not None:
            raise ValueError("COUNTERSIGN_SLACK_BOT_TOKEN and COUNTERSIGN_SLACK_CLIENT_ID: set one of them")
        return self

    @model_validator(mode="after")
    def _whole_sign_in(self) -> Self:
        needed = ("console_issuer", "console_client_id", "public_url")
        missing = [variable(name) for name in needed if getattr(self, name) is None]
        if self.console_client_secret is not None and missing:
            raise ValueError(f"{', '.join(missing)}: not set, and COUNTERSIGN_CONSOLE_CLIENT_SECRET needs that")
        return self

    @model_validator(mode="after")
    def _lockable(self) -> Self:
        if self.require_lock and self.s3_bucket is None:
            raise ValueError(
                "COUNTERSIGN_REQUIRE_LOCK: a local folder locks nothing, and there is no COUNTERSIGN_S3_BUCKET"
            )
        return self

    def missing_of_app(self) -> str | None:
        """Return what installing the app by OAuth lacks, as a sentence; None where nothing, or not even its id, is set.

        A process that does not talk to Slack has the id without the secrets.
        """
        needed = ("slack_client_id", "slack_client_secret", "slack_token_keys", "public_url")
        app = self.slack_client_id or self.slack_client_secret or self.slack_token_keys
        missing = [variable(name) for name in needed if not getattr(self, name)] if app else []
        return f"{' and '.join(missing)}: not set, and installing the app by OAuth needs it" if missing else None

    @property
    def wants_lock(self) -> bool:
        """Return whether evidence may go only where it is locked."""
        return self.s3_bucket is not None if self.require_lock is None else self.require_lock

    @property
    def key_path(self) -> Path:
        """Return where the signing key is, apart from the data."""
        return self.signing_key or self.home / "keys" / "evidence.pem"

    @property
    def log_key_path(self) -> Path:
        """Return where the key is that signs checkpoints, apart from the data."""
        return self.log_key or self.home / "keys" / "log.pem"

    @property
    def policy_key_path(self) -> Path:
        """Return where the key is that signs policies, apart from the data."""
        return self.home / "keys" / "policy.pem"

    @property
    def origin(self) -> str:
        """Return the name of the audit log."""
        return self.log_origin or f"countersign/{self.tenant}"


def variable(name: object) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{str(name).upper()}"


def read_settings(secret_files: Path = SECRET_FILES) -> Settings:
    """Return the settings of this process, or raise ConfigError with everything that is wrong with them."""
    faults = [*_unknown()]
    try:
        settings = Settings(_secrets_dir=secret_files if secret_files.is_dir() else None)
    except ValidationError as error:
        faults += [_fault(one["loc"], one["msg"]) for one in error.errors(include_input=False, include_url=False)]
    except SettingsError as error:  # its text names the field and quotes no value
        name = re.search(r'field "(\w+)"', str(error))
        faults.append(f"{variable(name[1] if name else '…')}: is not JSON")
    if faults:
        raise ConfigError("; ".join(faults))
    return settings


def required(settings: Settings, name: str) -> str:
    """Return a setting that there is no doing without, as text; raise ConfigError naming it."""
    value = getattr(settings, name)
    if value is None:
        raise ConfigError(f"{variable(name)} is not set; `countersign up` runs without settings")
    return value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)


def _fault(place: tuple[int | str, ...], message: str) -> str:
    what = message.removeprefix("Value error, ")
    return f"{'.'.join([variable(place[0]), *map(str, place[1:])])}: {what}" if place else what


def _unknown() -> Iterator[str]:
    known = {variable(name) for name in Settings.model_fields}
    for name in sorted(name.upper() for name in os.environ):
        if name.startswith(PREFIX) and name not in known and not _NOT_OURS.fullmatch(name):
            yield f"{name}: there is no such setting{hint(name, known)}"


def explain(settings: Settings, secret_files: Path = SECRET_FILES) -> Iterator[tuple[str, str, str, str]]:
    """Yield (variable, value with secrets masked, source, meaning) of every setting."""
    present = {name.upper() for name, value in os.environ.items() if value}
    for name, info in Settings.model_fields.items():
        file = secret_files / variable(name).lower()
        source = "the environment" if variable(name) in present else str(file) if file.exists() else "its default"
        value = getattr(settings, name)
        yield variable(name), _masked(_addresses(value) if name == "pack" else value), source, info.description or ""


def _addresses(pack: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Mask all that a pack is told but addresses: what else is secret among it, only the pack knows."""
    shown = re.compile(r"https?://[^@?#]*")
    return {
        name: {key: value if shown.fullmatch(value) else _MASK for key, value in told.items()}
        for name, told in pack.items()
    }


def _masked(value: Any) -> str:
    if isinstance(value, SecretStr):
        return _MASK
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_masked(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_masked(item) for item in value) + "]"
    return "" if value is None else str(value)

"""Every setting, in one frozen object, from the environment (`COUNTERSIGN_…`); the defaults are embedded mode."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "COUNTERSIGN_"
ROOT = Path(__file__).resolve().parents[1]


class Settings(BaseSettings):
    """What the program runs with. A value that is a mapping or a list is JSON in the environment."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_nested_delimiter=None)

    tenant: str = Field("acme", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", description="the tenant that this process serves")
    home: Path = Field(Path(".countersign"), description="folder of embedded mode: data, keys, evidence")
    database_url: SecretStr | None = Field(None, description="PostgreSQL; embedded if not set")
    database_connections: int = Field(10, ge=2, le=200, description="connections of this process's pool")
    opa_url: str | None = Field(None, description="OPA server; a supervised child if not set")
    policies: Path = Field(ROOT / "rego", description="policy folder of embedded mode")
    packs: list[Path] = Field([ROOT / "packs/kyc", ROOT / "packs/incident-triage"], description="pack folders")
    pack: dict[str, dict[str, str]] = Field({}, description="settings of packs, by pack name")
    definitions: Literal["strict", "warn"] = Field("strict", description="what an invalid definition does to a start")
    directory: Path | None = Field(None, description="YAML file of people, agents and their Slack accounts")

    slack_bot_token: SecretStr | None = Field(None, description="xoxb-…; the sandbox workspace if not set")
    slack_signing_secrets: list[SecretStr] = Field([], description="one, or two while rotating")
    slack_app_token: SecretStr | None = Field(None, description="xapp-…: use Socket Mode instead of HTTP")
    slack_api_url: str = Field("https://slack.com/api/", description="base URL of the Web API")
    slack_channel: str = Field("C0APPROVALS", description="channel of cards that no group's channel takes")
    slack_channels: dict[str, str] = Field({}, description="channel by group")
    doubt_groups: list[str] = Field(["operators"], min_length=1, description="who settles what is in doubt")

    s3_bucket: str | None = Field(None, description="bucket of evidence; a local folder if not set")
    s3_prefix: str = Field("evidence", description="prefix of the objects' names")
    s3_endpoint: str | None = Field(None, description="S3 endpoint, for others than AWS")
    s3_region: str = Field("us-east-1", description="region of the bucket")
    s3_access_key: SecretStr | None = Field(None, description="access key; boto3's own search if not set")
    s3_secret_key: SecretStr | None = Field(None, description="secret key; boto3's own search if not set")
    retention_days: int = Field(2555, ge=1, description="retention of a bundle where the bucket has Object Lock")
    retention_mode: Literal["GOVERNANCE", "COMPLIANCE"] = Field("COMPLIANCE", description="Object Lock mode")
    signing_key: Path | None = Field(None, description="Ed25519 key of evidence; HOME/keys/evidence.pem if not set")

    callers: dict[str, SecretStr] = Field({}, description="signing secret of each agent that calls the edge")
    host: str = Field("127.0.0.1", description="address that the edge listens on")
    port: int = Field(8080, ge=0, le=65535, description="port that the edge listens on")
    concurrency: int = Field(8, ge=1, le=256, description="pieces of work that a worker does at once")
    sweep_seconds: float = Field(1.0, gt=0, le=60, description="pause between sweeps")
    lease_seconds: float = Field(30.0, ge=1, le=3600, description="how long a worker may be silent")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level that is logged")

    @property
    def key_path(self) -> Path:
        """Return where the signing key is, apart from the data."""
        return self.signing_key or self.home / "keys" / "evidence.pem"


def explain(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, value with secrets masked, source, meaning) of every setting."""
    present = {name.upper() for name in os.environ}
    for name, info in Settings.model_fields.items():
        variable = f"{PREFIX}{name.upper()}"
        source = variable if variable in present else "default"
        yield name, _masked(getattr(settings, name)), source, info.description or ""


def _masked(value: Any) -> str:
    if isinstance(value, SecretStr):
        return "********"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_masked(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_masked(item) for item in value) + "]"
    return "" if value is None else str(value)

"""The files to start from: `.env.example` lists all settings that are not secret, `docker/directory.yaml` loads."""

import os
from io import StringIO
from itertools import pairwise

import pytest
from dotenv import dotenv_values

from countersign.directory import read_directory
from countersign.setting_secrets import is_secret
from countersign.settings import ROOT, Settings, read_settings, variable
from tools.env_example import FILE, text

SECRETS = {
    "callers",
    "console_client_secret",
    "console_link",
    "database_direct_url",
    "database_url",
    "directory_database_url",
    "opa_token",
    "pack",
    "policy_token",
    "s3_access_key",
    "s3_secret_key",
    "slack_app_token",
    "slack_bot_token",
    "slack_client_secret",
    "slack_signing_secrets",
    "slack_token_keys",
    "webhook_secrets",
}


def lines() -> list[str]:
    """Return the lines of the file that name a setting, without the mark of those that are not set."""
    said = FILE.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("#") for line in said if line.removeprefix("#").startswith("COUNTERSIGN_")]


def test_what_is_secret_is_known() -> None:
    assert {name for name in Settings.model_fields if is_secret(name)} == SECRETS


def test_it_lists_every_setting_that_is_not_secret_once() -> None:
    listed = [line.partition("=")[0] for line in lines()]
    assert listed == [variable(name) for name in Settings.model_fields if not is_secret(name)]


def test_each_setting_has_a_comment() -> None:
    said = FILE.read_text(encoding="utf-8").splitlines()
    for above, line in pairwise(said):
        if line.removeprefix("#").startswith("COUNTERSIGN_"):
            assert above.startswith("# ")


def test_it_is_as_the_settings_are() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "run `python -m tools.env_example`"


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which no setting is set."""
    for name in [one for one in os.environ if one.startswith("COUNTERSIGN_")]:
        monkeypatch.delenv(name)
    return monkeypatch


def test_the_values_behind_the_marks_can_be_set(own_environment: pytest.MonkeyPatch) -> None:
    for name, value in dotenv_values(stream=StringIO("\n".join(lines()))).items():
        own_environment.setenv(name, value or "")
    settings, default = read_settings(), Settings()
    assert settings.s3_bucket == "evidence"
    for name in ("retention_days", "doubt_groups", "slack_channels", "witnesses", "activation", "stop_seconds"):
        assert getattr(settings, name) == getattr(default, name)


def test_the_directory_to_start_from_can_be_loaded() -> None:
    directory = read_directory(ROOT / "docker/directory.yaml")
    asked = {group for person in directory.people for group in person.groups}
    assert {"compliance", "incident-managers", "operators", "payments-owners", "security"} <= asked

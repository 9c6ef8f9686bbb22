"""Settings: environment, secret files, database URLs, key files and the example file.

Settings come from the environment or secret files, are checked strictly, and never show a secret.

A database's URL is taken or refused before any library sees it, and what is said holds no part of it.

A key file that cannot be made is said in one sentence, which names its setting.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict
from pydantic import ValidationError

from countersign.log_key import make_signer, rotate_log_key
from countersign.setting_types import check_dsn
from countersign.settings import ConfigError, Settings, explain, read_settings, required
from evidence.key_ring import KeyRing
from policy.address import LONGEST
from receipts.signing import KeyFileError

CANARY = "canary-5d1e8a70c3b94f62a1d7e0b8"
TOKENS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "S3_ACCESS_KEY")
CALLER_SECRET = f"{CANARY}-{CANARY}"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("COUNTERSIGN_"):
            monkeypatch.delenv(name)


def given_settings(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"COUNTERSIGN_{name}", value)


def refusal(monkeypatch: pytest.MonkeyPatch, **values: str) -> str:
    given_settings(monkeypatch, **values)
    with pytest.raises(ConfigError) as caught:
        read_settings()
    return str(caught.value)


def test_nothing_has_to_be_set() -> None:
    settings = read_settings()
    assert settings.database_url is None
    assert settings.key_path == Path(".countersign/keys/evidence.pem")
    assert all((folder / "runbooks").is_dir() for folder in settings.packs)


def test_values_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    given_settings(
        monkeypatch,
        TENANT="meridian",
        DATABASE_URL=f"postgresql://u:{CANARY}@db/x",
        CALLERS=json.dumps({"portal": CALLER_SECRET}),
        SLACK_SIGNING_SECRETS=json.dumps(["one" * 8, "two" * 8]),
        PACK=json.dumps({"kyc": {"register_token": CANARY}}),
        SIGNING_KEY="/keys/evidence.pem",
        S3_PREFIX="sealed",
        OPA_URL="unix:///run/opa.sock",
    )
    settings = read_settings()
    assert settings.tenant == "meridian"
    assert required(settings, "database_url") == f"postgresql://u:{CANARY}@db/x"
    assert settings.callers["portal"].get_secret_value() == CALLER_SECRET
    assert [secret.get_secret_value() for secret in settings.slack_signing_secrets] == ["one" * 8, "two" * 8]
    assert settings.key_path == Path("/keys/evidence.pem")
    assert (settings.s3_prefix, settings.opa_url) == ("sealed/", "unix:///run/opa.sock")


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    given_settings(monkeypatch, SLACK_APP_TOKEN="", S3_ENDPOINT="", PORT="")
    assert read_settings() == Settings()


def test_what_installs_the_app_is_set_whole_and_in_place_of_a_bot_token(monkeypatch: pytest.MonkeyPatch) -> None:
    given_settings(monkeypatch, SLACK_CLIENT_ID="1.1", SLACK_CLIENT_SECRET="s" * 8)
    with pytest.raises(ConfigError) as caught:
        read_settings()
    missing = "COUNTERSIGN_SLACK_TOKEN_KEYS and COUNTERSIGN_PUBLIC_URL"
    assert str(caught.value) == f"{missing}: not set, and installing the app by OAuth needs it"
    key = json.dumps(["a" * 43 + "="])
    given_settings(monkeypatch, SLACK_TOKEN_KEYS=key, PUBLIC_URL="https://here.example", SLACK_BOT_TOKEN="xoxb-1234")
    with pytest.raises(ConfigError, match="COUNTERSIGN_SLACK_CLIENT_ID: set one of them"):
        read_settings()
    given_settings(monkeypatch, SLACK_BOT_TOKEN="")
    assert read_settings().slack_client_id == "1.1"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        read_settings().tenant = "other"  # type: ignore[misc]  # that it cannot be is the test


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("TENANT", "Two Words", "pattern"),
        ("PORT", "http", "valid integer"),
        ("PORT", "65536", "less than or equal to 65535"),
        ("DEFINITIONS", "lenient", "'strict' or 'warn'"),
        ("PACKS", "packs/kyc", "is not JSON"),
        ("PACK", '{"kyc": {"timeout": 3}}', "valid string"),
        ("DATABASE_URL", f"mysql://u:{CANARY}@db/x", "is not postgresql://"),
        ("DATABASE_URL", f"host=db password={CANARY}", "is not postgresql://"),
        *((name, f"xoxb-{CANARY}{odd}", "no token has") for name in TOKENS for odd in (" x", "\nx", "ü")),
        ("OPA_URL", "http://opa:8181/v1/data", "without a path"),
        ("OPA_URL", "opa:8181", "is not http(s)://HOST"),
        ("OPA_URL", f"http://u:{CANARY}@opa:8181", "without credentials"),
        ("OPA_URL", f"unix://{CANARY}/opa.sock", "is not unix:///PATH"),
        ("OPA_URL", f"unix:///{CANARY.ljust(LONGEST, 'x')}", f"path has {LONGEST + 1} bytes: no more than {LONGEST}"),
        ("SLACK_API_URL", "https://slack.com/api", "does not end with a slash"),
        *((name, CANARY[:7], "has fewer than 8 characters, so it cannot be told from a word") for name in TOKENS),
        ("SLACK_CLIENT_SECRET", CANARY[:7], "has fewer than 8 characters, so it cannot be told from a word"),
        ("S3_SECRET_KEY", CANARY[:7], "has fewer than 8 characters, so it cannot be told from a word"),
        ("DATABASE_URL", f"postgresql://u:{CANARY[:7]}@db/x", "its password has fewer than 8 characters"),
        ("DATABASE_DIRECT_URL", f"postgresql://db/x?password={CANARY[:7]}", "its password has fewer than 8"),
        ("SLACK_SIGNING_SECRETS", '["one"]', "has fewer than 20 characters"),
        ("SLACK_TOKEN_KEYS", json.dumps([f"{CANARY}!"]), "is not base64"),
        ("SLACK_TOKEN_KEYS", '["YWJj"]', "is base64 of 3 bytes, not of 32"),
        ("PUBLIC_URL", "https://here.example/slack", "is not https://HOST"),
        ("CALLERS", json.dumps({"portal": CANARY}), "has fewer than 32 characters"),
        ("CALLERS", json.dumps({"Po:rtal": CALLER_SECRET}), "pattern"),
        ("CALLERS", CANARY, "is not JSON"),
        ("S3_PREFIX", "../evidence", "pattern"),
        ("RETENTION_DAYS", "0", "greater than or equal to 1"),
        ("DOUBT_GROUPS", "[]", "at least 1 item"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    message = refusal(monkeypatch, **{name: value})
    assert message.startswith(f"COUNTERSIGN_{name}")
    assert says in message
    assert "\n" not in message
    assert CANARY not in message


def test_half_a_pair_of_s3_keys_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, S3_ACCESS_KEY=CANARY)
    assert message == "COUNTERSIGN_S3_ACCESS_KEY and COUNTERSIGN_S3_SECRET_KEY: only one of them is set"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CONSOLE_ISSUER", "http://login.example", "is not https:// (http:// for localhost alone)"),
        ("CONSOLE_ISSUER", "login.example", "is not http(s)://HOST, without credentials and query"),
        ("CONSOLE_DOMAINS", '["@bank.example"]', "is no domain"),
        ("CONSOLE_DOMAINS", '["Bank.example"]', "is no domain"),
        ("CONSOLE_CLIENT_SECRET", "a-long-enough-secret", "COUNTERSIGN_CONSOLE_CLIENT_ID, COUNTERSIGN_PUBLIC_URL: not"),
    ],
)
def test_signing_in_to_the_console_needs_a_provider_that_can_be_trusted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    assert says in refusal(monkeypatch, **{name: value})


def test_every_wrong_value_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, PORT="x", TENANT="", SWEEP_SECONDS="-1", SLACK_TOKEN="t")
    assert [part.split(":")[0] for part in message.split("; ")] == [
        "COUNTERSIGN_SLACK_TOKEN",
        "COUNTERSIGN_PORT",
        "COUNTERSIGN_SWEEP_SECONDS",
    ]


def test_an_unknown_variable_is_refused_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, DATABASE_URI=CANARY)
    assert message == ("COUNTERSIGN_DATABASE_URI: there is no such setting (did you mean 'COUNTERSIGN_DATABASE_URL'?)")


def test_variables_of_set_up_and_of_other_programs_are_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    given_settings(monkeypatch, OPA="/opt/opa", TEST_MINIO="/opt/minio")
    monkeypatch.setenv("COUNTERSIGNATURE", "x")
    assert read_settings() == Settings()


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ConfigError, match="COUNTERSIGN_OPA_URL is not set"):
        required(read_settings(), "opa_url")


def test_secrets_may_come_from_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "countersign_slack_bot_token").write_text("xoxb-from-a-file\n")
    (tmp_path / "countersign_s3_access_key").write_text("from-a-file")
    (tmp_path / "countersign_s3_secret_key").write_text("from a file")
    given_settings(monkeypatch, S3_SECRET_KEY="from the environment")
    settings = read_settings(tmp_path)
    assert required(settings, "slack_bot_token") == "xoxb-from-a-file"
    assert required(settings, "s3_secret_key") == "from the environment"
    sources = {name: source for name, _, source, _ in explain(settings, tmp_path)}
    assert sources["COUNTERSIGN_SLACK_BOT_TOKEN"] == str(tmp_path / "countersign_slack_bot_token")
    assert sources["COUNTERSIGN_S3_SECRET_KEY"] == "the environment"
    assert sources["COUNTERSIGN_PORT"] == "its default"


def test_an_empty_secret_file_is_not_set(tmp_path: Path) -> None:
    for name in ("slack_app_token", "slack_signing_secrets", "callers"):
        (tmp_path / f"countersign_{name}").write_text("\n", encoding="utf-8")
    assert read_settings(tmp_path) == Settings()


def test_explanation_shows_every_setting_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = {
        "DATABASE_URL": f"postgresql://u:{CANARY}@db/x",
        "SLACK_BOT_TOKEN": CANARY,
        "SLACK_APP_TOKEN": CANARY,
        "SLACK_SIGNING_SECRETS": json.dumps([CANARY]),
        "S3_ACCESS_KEY": CANARY,
        "S3_SECRET_KEY": CANARY,
        "CALLERS": json.dumps({"portal": CALLER_SECRET}),
        "PACK": json.dumps(
            {"kyc": {"register_token": CANARY, "gleif_url": "https://gleif.test/v1", "x_url": f"http://u:{CANARY}@h"}}
        ),
    }
    given_settings(monkeypatch, OPA_URL="http://opa:8181", **secret)
    settings = read_settings()
    rows = {name: value for name, value, _, _ in explain(settings)}
    assert rows.keys() == {f"COUNTERSIGN_{name.upper()}" for name in Settings.model_fields}
    assert CANARY not in f"{rows}{settings!r}"
    assert rows["COUNTERSIGN_CALLERS"] == "{portal: ********}"
    assert rows["COUNTERSIGN_OPA_URL"] == "http://opa:8181"
    assert "gleif_url: https://gleif.test/v1" in rows["COUNTERSIGN_PACK"]
    assert all(meaning for _, _, _, meaning in explain(settings))


def test_lock_is_required_of_a_bucket_and_not_of_a_folder_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not read_settings().wants_lock
    given_settings(monkeypatch, S3_BUCKET="evidence")
    assert read_settings().wants_lock
    given_settings(monkeypatch, REQUIRE_LOCK="false")
    assert not read_settings().wants_lock


def test_lock_cannot_be_required_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(monkeypatch, REQUIRE_LOCK="true")
    assert said == "COUNTERSIGN_REQUIRE_LOCK: a local folder locks nothing, and there is no COUNTERSIGN_S3_BUCKET"


DSN_CANARY = "cnry7f"
TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("@/?#:[]% =&1"), max_size=12)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@h:5432/x",
        "postgres://u:p@h/x",
        "postgresql://h",
        "postgresql://u:a%20b%25%40%2F%3F%23%5Bc@h:5432/x",
        "postgresql://u:a:b#c[d]e&f=g$h'(i)*+,;@h:5432/x",
        "postgresql://u:p@[::1]:5432/x?sslmode=require",
        "postgresql://postgres:@/test_12?host=/tmp/folder/data",
        "postgresql://u:pä@h/x",
    ],
)
def test_what_postgresql_takes_is_taken(url: str) -> None:
    check_dsn(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"postgresql://u:{DSN_CANARY} {DSN_CANARY}@h:1/x", "a space as %20"),
        (f"postgresql://u:{DSN_CANARY}\n@h:1/x", "a space as %20"),
        (f"postgresql://h:1/x?password={DSN_CANARY} {DSN_CANARY}", "a space as %20"),
        (f"postgresql://u:{DSN_CANARY}%zz{DSN_CANARY}@h:1/x", "% itself as %25"),
        (f"postgresql://u:{DSN_CANARY}%@h:1/x", "% itself as %25"),
        (f"postgresql://u:{DSN_CANARY}@{DSN_CANARY}@h:1/x", "@ as %40"),
        (f"postgresql://u:{DSN_CANARY}/{DSN_CANARY}@h:1/x", "/ as %2F"),
        (f"postgresql://u:{DSN_CANARY}?{DSN_CANARY}=1@h:1/x", "? as %3F"),
        (f"postgresql://u:{DSN_CANARY}@h:{DSN_CANARY}/x", "host or port is not one"),
        (f"postgresql://u:{DSN_CANARY}%00@h:1/x", "as PostgreSQL's own library reads it"),
        (f"postgresql://u:p@h:1/x?{DSN_CANARY}=1", "as PostgreSQL's own library reads it"),
        (f"host=h password={DSN_CANARY}", "is not postgresql://"),
        (f"postgresql://u:1/{DSN_CANARY}@h:1/x", "/ as %2F"),
        (f"postgresql://u:1?user={DSN_CANARY}@h:1/x", "? as %3F"),
        (f"postgresql://u:{DSN_CANARY}@h1:1,h2:2/x", "host or port is not one"),
        (f"mysql://u:{DSN_CANARY}@h/x", "is not postgresql://"),
        (DSN_CANARY, "is not postgresql://"),
    ],
)
def test_what_is_wrong_names_the_variable_and_what_to_write_and_nothing_of_the_value(
    url: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERSIGN_DATABASE_URL", url)
    with pytest.raises(ConfigError, match=r"^COUNTERSIGN_DATABASE_URL: ") as refused:
        read_settings()
    assert says in str(refused.value)
    assert DSN_CANARY not in str(refused.value)


@given(before=TEXT, after=TEXT)
def test_any_password_is_refused_without_a_word_of_it_or_taken_whole(before: str, after: str) -> None:
    url = f"postgresql://user:{before}{DSN_CANARY}{after}@host:5432/name"
    said = fault(url)
    assert DSN_CANARY not in said
    if not said:
        read = conninfo_to_dict(url)
        assert (read["user"], read["host"], read["port"], read["dbname"]) == ("user", "host", "5432", "name")


def fault(url: str) -> str:
    try:
        check_dsn(url)
    except ValueError as error:
        return str(error)
    return ""


MADE: list[tuple[str, Callable[[Settings], object], type[Exception]]] = [
    ("COUNTERSIGN_LOG_KEY: ", make_signer, ConfigError),
    ("COUNTERSIGN_LOG_KEY: ", rotate_log_key, ConfigError),
    ("", lambda settings: KeyRing(settings.key_path).keys(), KeyFileError),
    ("", lambda settings: KeyRing(settings.key_path).rotate(), KeyFileError),
]


@pytest.mark.parametrize(("begins", "make", "error"), MADE)
def test_a_key_that_cannot_be_made_is_one_sentence(begins: str, make: Any, error: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    key = tmp_path / "file/keys/any.pem"
    with pytest.raises(error) as caught:
        make(Settings(log_key=key, signing_key=key))
    why = f"{begins}{key} cannot be made: Not a directory; name another place, or let this process write to its folder"
    assert str(caught.value) == why

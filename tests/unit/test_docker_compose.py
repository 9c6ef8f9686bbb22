"""The production shape names only what is there: commands, roles, ports, probes, settings, files and volumes.

That every service of ours starts from it is in tests/integration/test_compose_services.py.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import click
import pytest
import yaml
from starlette.routing import Route
from typer.main import get_command

from countersign.cli.app import app
from countersign.parts import Role
from countersign.setting_secrets import is_secret
from countersign.settings import ROOT, Settings, read_settings, variable
from edge.app import build_edge
from policy.confined import FRONT, MIB
from runtime.services.policy_previews import AT_ONCE
from tools.schema import project_version

COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
COMMANDS = {name: service for name, service in OURS.items() if "entrypoint" not in service}
VARIABLE = re.compile(r"\$\{(\w+)(:[?-])([^}]*)\}")

# What an operator would put into .env.
GIVEN = {
    "COUNTERSIGN_TENANT": "acme",
    "COUNTERSIGN_SLACK_CHANNEL": "C1",
    "DIRECTORY_FILE": "./directory.yaml",
    "DIRECTORY_LOADED_BY": "omar",
}

# What each container is told, and nobody else is.
DIRECTORY = {"countersign_directory_database_url"}
POSTGRES = {"postgres_password", "migrate_database_url", "countersign_database_url", *DIRECTORY}
MINIO = {"minio_root_user", "minio_root_password"}
KEEPER = {"countersign_s3_access_key", "countersign_s3_secret_key"}
SHARED = {
    "countersign_database_url",
    "countersign_opa_token",
    "countersign_slack_bot_token",
    "countersign_slack_client_secret",
    "countersign_slack_token_keys",
    "countersign_webhook_secrets",
}
TOLD = {
    "postgres": POSTGRES,
    "policy": {"policy_signing_key", "countersign_database_url"},
    "opa": {"countersign_policy_token"},
    "minio": MINIO,
    "keeper": MINIO | KEEPER,
    "migrate": {"migrate_database_url"},
    "people": DIRECTORY,
    "bucket": MINIO,
    "bot": {
        *(*SHARED, "countersign_callers", "countersign_policy_token"),
        *("countersign_slack_signing_secrets", "countersign_slack_app_token"),
    },
    "console": {
        *("countersign_database_url", "countersign_opa_token", "countersign_console_client_secret"),
        *KEEPER,
    },
    "worker": {*SHARED, "countersign_database_direct_url", "countersign_pack", *KEEPER},
}
REACHED = {
    "data": {"postgres", "migrate", "people", "policy", "bot", "console", "worker"},
    "policy": {"opa", "bot", "console", "worker"},
    "store": {"minio", "keeper", "bucket", "console", "worker"},
    "out": {"bot", "console", "worker"},
}
SLACK = {
    "countersign_slack_bot_token": "xoxb-1234",
    "countersign_slack_signing_secrets": json.dumps(["0123456789abcdef0123456789abcdef"]),
}


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The files that the operator makes, with Slack's filled in."""
    folder = tmp_path / "secrets"
    subprocess.run(["sh", ROOT / "docker/secrets.sh", folder], check=True)
    for name, value in SLACK.items():
        (folder / name).write_text(value, encoding="utf-8")
    return folder


def told(name: str) -> dict[str, str]:
    """Return the files in a container's /run/secrets, and what each is a copy of."""
    given = SERVICES[name].get("secrets", [])
    files = [one if isinstance(one, dict) else {"source": one, "target": one} for one in given]
    return {one["target"]: one["source"] for one in files}


def mounted(name: str, secrets: Path, folder: Path) -> Path:
    """Lay out /run/secrets as a container has it."""
    folder.mkdir()
    for target, source in told(name).items():
        shutil.copy(secrets / source, folder / target)
    return folder


def filled(text: str) -> str:
    """Return text with its variables filled in, as Compose does."""
    return VARIABLE.sub(lambda found: GIVEN.get(found[1], "" if found[2] == ":?" else found[3]), text)


def alone(monkeypatch: pytest.MonkeyPatch, service: str, **more: str) -> None:
    """Have no setting in the environment but those of a service, and others that stand in `.env`."""
    for name in [one for one in os.environ if one.startswith("COUNTERSIGN_")]:
        monkeypatch.delenv(name)
    values = {f"COUNTERSIGN_{name}": value for name, value in more.items()}
    values |= {name: filled(str(value)) for name, value in OURS[service]["environment"].items()}
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_every_variable_that_is_demanded_is_one_that_this_test_knows() -> None:
    demanded = {name for name, kind, _ in VARIABLE.findall(COMPOSE) if kind == ":?"}
    assert demanded == GIVEN.keys()
    assert COMPOSE.count("${") == len(VARIABLE.findall(COMPOSE))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_one_of_the_program(name: str) -> None:
    words = COMMANDS[name]["command"]
    program = cast("click.Group", get_command(app))
    context = program.commands[words[0]].make_context(words[0], list(words[1:]))
    assert set(context.params.get("role") or ()) <= set(Role)


def test_all_roles_are_served() -> None:
    served = {word for service in COMMANDS.values() for word in service["command"] if word.startswith("--role=")}
    assert served == {f"--role={role}" for role in Role}


@pytest.mark.parametrize("name", COMMANDS)
def test_its_environment_and_secrets_are_settings_that_the_program_accepts(
    name: str, secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone(monkeypatch, name)
    files = mounted(name, secrets, tmp_path / "run")
    settings = read_settings(files)
    filled_in = [file for file in told(name) if (files / file).read_text(encoding="utf-8").strip()]
    assert all(getattr(settings, file.removeprefix("countersign_")) for file in filled_in)
    assert settings.slack_app_token is None
    assert settings.port == Settings().port


def test_each_container_has_the_secrets_that_it_needs_and_no_other() -> None:
    assert {name: set(told(name).values()) for name in SERVICES} == TOLD
    declared = yaml.safe_load(COMPOSE)["secrets"]
    assert declared.keys() == set().union(*TOLD.values())
    for name, secret in declared.items():
        assert secret == {"file": f"${{SECRETS_FOLDER:-./secrets}}/{name}"}


OF_A_SANDBOX = {"countersign_console_link"}
"""The link that lets who has it be anybody: `serve` refuses it elsewhere."""


def test_every_setting_that_is_secret_is_a_file_of_some_container() -> None:
    given = {target for name in COMMANDS for target in told(name)}
    assert given | OF_A_SANDBOX == {variable(name).lower() for name in Settings.model_fields if is_secret(name)}


def test_every_other_setting_reaches_our_containers_from_env() -> None:
    for service in OURS.values():
        assert service["env_file"] == [{"path": ".env", "required": False}]
    fixed = {
        name: value
        for service in COMMANDS.values()
        for name, value in service["environment"].items()
        if not str(value).startswith(f"${{{name}:")
    }
    assert fixed == {
        "COUNTERSIGN_HOST": "0.0.0.0",
        "COUNTERSIGN_PORT": str(Settings().port),
        "COUNTERSIGN_DIRECTORY": "/etc/countersign/directory.yaml",  # DIRECTORY_FILE says which file that is
    }


def test_no_other_variable_of_env_is_taken_for_a_setting() -> None:
    used = {name for name, _, _ in VARIABLE.findall(COMPOSE) if name.startswith("COUNTERSIGN_")}
    assert used <= {variable(name) for name in Settings.model_fields}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_container_without_slacks_secrets_takes_the_settings_of_an_app_that_is_installed_by_oauth(
    name: str, secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"slack_client_secret": "s" * 32, "slack_token_keys": json.dumps(["a" * 43 + "="]), "slack_bot_token": ""}
    for secret, value in given.items():
        (secrets / f"countersign_{secret}").write_text(value, encoding="utf-8")
    alone(monkeypatch, name, SLACK_CLIENT_ID="1.1", PUBLIC_URL="https://here.example", REQUIRE_LOCK="true")
    settings = read_settings(mounted(name, secrets, tmp_path / "run"))
    assert (settings.slack_client_secret is not None) == (name in ("bot", "worker"))


def test_the_console_alone_has_its_clients_secret_and_the_others_take_its_settings(
    secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (secrets / "countersign_console_client_secret").write_text("s" * 32, encoding="utf-8")
    for name in COMMANDS:
        more = {"CONSOLE_ISSUER": "https://id.example", "CONSOLE_CLIENT_ID": "c", "PUBLIC_URL": "https://here.example"}
        alone(monkeypatch, name, **more)
        settings = read_settings(mounted(name, secrets, tmp_path / name))
        assert (settings.console_client_secret is not None) == (name == "console")


def test_no_secret_stands_in_an_environment() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|SECRET|TOKEN|ACCESS_KEY|CALLERS|DATABASE_URL|ROOT_USER|PACK$", name)
            assert not secret or value.startswith("/run/secrets/"), name


def test_the_secrets_that_can_be_made_are_made_once_for_their_owner_alone(secrets: Path) -> None:
    made = {file.name: file.read_text(encoding="utf-8") for file in secrets.iterdir()}
    assert made.keys() == set().union(*TOLD.values())
    assert secrets.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o777 == 0o644 for file in secrets.iterdir())
    subprocess.run(["sh", ROOT / "docker/secrets.sh", secrets], check=True)
    assert {file.name: file.read_text(encoding="utf-8") for file in secrets.iterdir()} == made
    long = [value for name, value in made.items() if re.search("password|secret_key|database_url|callers", name)]
    assert all(re.search("[0-9a-f]{48}", value) for value in long)
    assert len(set(long)) == len(long)


def test_program_and_evidence_have_users_of_their_own(secrets: Path) -> None:
    logins = {name: urlsplit((secrets / name).read_text()).username for name in POSTGRES if name.endswith("url")}
    assert logins == {
        "migrate_database_url": "countersign_migrate",
        "countersign_database_url": "countersign",
        "countersign_directory_database_url": "countersign_people",
    }
    assert SERVICES["postgres"]["environment"]["POSTGRES_USER"] not in logins.values()
    assert told("migrate")["countersign_database_url"] == "migrate_database_url"
    assert (secrets / "countersign_s3_access_key").read_text() != (secrets / "minio_root_user").read_text()
    script = (ROOT / "docker/logins.sh").read_text(encoding="utf-8")
    roles = {"countersign_migrate": "owner", "countersign": "program", "countersign_people": "directory"}
    for login, role in roles.items():
        assert re.search(rf"CREATE ROLE {login} LOGIN PASSWORD :'{role}' IN ROLE countersign_{role};", script)


def test_each_network_has_those_who_talk_on_it_and_one_alone_leads_out() -> None:
    networks = yaml.safe_load(COMPOSE)["networks"]
    members = {
        network: {name for name, service in SERVICES.items() if network in service.get("networks", [])}
        for network in networks
    }
    assert members == REACHED
    assert [name for name, network in networks.items() if not (network or {}).get("internal")] == ["out"]
    assert [name for name, service in SERVICES.items() if not service.get("networks")] == []


def test_no_container_takes_all_the_memory() -> None:
    for service in SERVICES.values():
        assert re.fullmatch(r"\d+[mg]", service["deploy"]["resources"]["limits"]["memory"])


def test_what_is_ones_own_has_its_place() -> None:
    for name in ("policy", "bot", "console", "worker"):
        assert "${OWN_FOLDER:-./own}:/own:ro" in SERVICES[name]["volumes"]
    assert re.search(r"^ENV PYTHONPATH=/own/python$", DOCKERFILE, re.MULTILINE)


def test_files_that_containers_run_are_there() -> None:
    mounts = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    assert all((ROOT / source).exists() for source in mounts if source.startswith("./"))
    assert (ROOT / SERVICES["keeper"]["entrypoint"][1].lstrip("/")).exists()


def test_ports_and_probes_are_those_that_the_program_serves() -> None:
    routes = build_edge(cast("Any", None), api=None, slack=None).routes
    paths = {route.path for route in routes if isinstance(route, Route)}
    port = Settings().port
    assert f"EXPOSE {port}\n" in DOCKERFILE
    for name in ("bot", "console"):
        assert [mapping.rpartition(":")[2] for mapping in SERVICES[name]["ports"]] == [str(port)]
    for name in ("bot", "console", "worker"):
        found = re.search(r"'http://127\.0\.0\.1:(\d+)(/\w+)'", SERVICES[name]["healthcheck"]["test"][-1])
        assert found
        assert (int(found[1]), found[2] in paths) == (port, True)
        compile(SERVICES[name]["healthcheck"]["test"][-1], name, "exec")


def test_nothing_but_the_front_and_the_console_can_be_reached_from_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["bot", "console"]
    ports = [mapping for name in ("bot", "console") for mapping in SERVICES[name]["ports"]]
    assert all(mapping.startswith("127.0.0.1:") for mapping in ports)
    assert len(set(ports)) == len(ports)


def test_addresses_name_services_at_the_ports_where_they_listen(secrets: Path) -> None:
    environment = dict(SERVICES["worker"]["environment"])
    environment["COUNTERSIGN_DATABASE_URL"] = (secrets / "countersign_database_url").read_text(encoding="utf-8")
    listens = {
        "opa": next(word for word in SERVICES["opa"]["command"] if word.startswith("--addr")).rpartition(":")[2],
        "minio": SERVICES["minio"]["command"][-1].removeprefix(":"),
        "postgres": "5432",
    }
    for name in ("COUNTERSIGN_OPA_URL", "COUNTERSIGN_S3_ENDPOINT", "COUNTERSIGN_DATABASE_URL"):
        host, port = re.findall(r"(?://|@)(\w+):(\d+)", filled(environment[name]))[-1]
        assert listens[host] == port


def test_each_dependency_is_a_service_that_can_come_to_that_state() -> None:
    for service in SERVICES.values():
        for name, wanted in service.get("depends_on", {}).items():
            needed = SERVICES[name]
            if wanted["condition"] == "service_healthy":
                assert "healthcheck" in needed
            else:
                assert (wanted["condition"], needed["restart"]) == ("service_completed_successfully", "no")


def test_what_runs_on_is_watched_and_started_again() -> None:
    running = {name for name, service in SERVICES.items() if service["restart"] != "no"}
    assert running == {name for name, service in SERVICES.items() if "healthcheck" in service}
    assert running == {"postgres", "opa", "minio", "bot", "console", "worker"}


def test_volumes_are_declared_and_used_and_the_key_is_with_the_workers_alone() -> None:
    mounts = [(name, volume.split(":")) for name, service in SERVICES.items() for volume in service.get("volumes", [])]
    named = {parts[0] for _, parts in mounts if re.fullmatch(r"\w+", parts[0])}
    assert named == yaml.safe_load(COMPOSE)["volumes"].keys()
    assert [name for name, parts in mounts if parts[0] == "keys"] == ["worker"]
    volume = next(parts[1] for _, parts in mounts if parts[0] == "keys")
    for key in ("COUNTERSIGN_SIGNING_KEY", "COUNTERSIGN_LOG_KEY"):
        assert filled(SERVICES["worker"]["environment"][key]).startswith(f"{volume}/")
    assert [name for name, parts in mounts if parts[0] == "policy_key"] == ["policy", "worker"]
    for folder in ("/keys", "/policy", "/policy_key"):
        assert re.search(rf"install -d -o countersign .* {folder}\b", DOCKERFILE)


def test_the_front_has_the_directory_where_the_setting_says_and_starts_when_it_is_loaded() -> None:
    file = SERVICES["bot"]["environment"]["COUNTERSIGN_DIRECTORY"]
    (volume,) = SERVICES["people"]["volumes"]
    assert volume.endswith(f":{file}:ro")
    assert volume in SERVICES["bot"]["volumes"]
    assert SERVICES["people"]["command"][:4] == ["people", "load", file, "--as"]
    assert "people" in SERVICES["bot"]["depends_on"]
    assert [
        name for name, service in SERVICES.items() if "COUNTERSIGN_DIRECTORY" in service.get("environment", {})
    ] == ["bot"]


def test_images_are_pinned() -> None:
    images = [filled(service["image"]) for service in SERVICES.values()] + re.findall(
        r"^FROM (\S+)", DOCKERFILE, re.MULTILINE
    )
    assert len(images) == len(SERVICES) + 2
    assert all(re.search(r":\S*\d+\.\d+|:RELEASE\.\d{4}", image) for image in images)
    assert f"countersign:{project_version()}" in images


def test_the_front_has_room_for_as_many_previews_as_there_are_at_once() -> None:
    memory = {name: SERVICES[name]["deploy"]["resources"]["limits"]["memory"] for name in ("bot", "worker")}
    assert memory == {"bot": "1g", "worker": "512m"}
    assert AT_ONCE * FRONT.memory <= 512 * MIB


def test_our_containers_run_without_root_and_without_rights_on_files_that_cannot_be_changed() -> None:
    assert re.search(r"^USER countersign$", DOCKERFILE, re.MULTILINE)
    for service in OURS.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]

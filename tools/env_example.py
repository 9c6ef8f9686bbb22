"""Writes `.env.example`: every setting that is not secret, with what it means and what it is where nothing is said.

`python -m tools.env_example` writes it again after a change of the settings; a test compares both.
"""

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from countersign.setting_secrets import is_secret
from countersign.settings import ROOT, Settings, variable
from tools.schema import project_version

FILE = ROOT / ".env.example"
HEAD = """\
# Copy this to `.env` beside docker-compose.yml, and fill in what has no `#` in front of it.
#
# Every setting that is not secret is below; behind `#` stands its value where nothing is said. Lists and mappings are
# JSON in single quotes. Secrets are files: `sh docker/secrets.sh` makes them. A file that a setting names has to be in
# the container: put it into `own/`, and name it `/own/…`.

# The YAML file of people and agents, which the service `people` loads; docker/directory.yaml is one to start from.
DIRECTORY_FILE=./directory.yaml
# Your id in it: who loads it is on record.
DIRECTORY_LOADED_BY=
# Folder of the secrets' files, and folder of what is your own.
#SECRETS_FOLDER=./secrets
#OWN_FOLDER=./own
# Image of the program.
#PROGRAM_IMAGE=countersign:{version}
"""
DEMANDED = ("tenant", "slack_channel")
"""Compose does not start without them."""
OF_COMPOSE = {
    "opa_url": "http://opa:8181",
    "s3_endpoint": "http://minio:9000",
    "s3_bucket": "evidence",
    "directory": "/etc/countersign/directory.yaml",
    "signing_key": "/keys/evidence.pem",
    "log_key": "/keys/log.pem",
    "policy_keys": "'[\"/policy_key/policy.pub.pem\"]'",
    "host": "0.0.0.0",  # noqa: S104 - of a container
    "port": "8080",
}
"""What docker-compose.yml says where `.env` says nothing."""


def text() -> str:
    """Return the whole file."""
    settings = (_lines(name, info) for name, info in Settings.model_fields.items() if not is_secret(name))
    return "\n".join([HEAD.format(version=project_version()), *("\n".join(lines) + "\n" for lines in settings)])


def _lines(name: str, info: FieldInfo) -> Iterator[str]:
    of_compose = "; docker-compose.yml sets it" if name in OF_COMPOSE else ""
    yield f"# {info.description}{of_compose}"
    value = OF_COMPOSE.get(name) or _written(info.get_default(call_default_factory=True))
    yield f"{'' if name in DEMANDED else '#'}{variable(name)}={value}"


def _written(value: Any) -> str:
    """Return a value as it stands in the file; the program's own folders are those of the image."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return f"'{json.dumps([_shown(one) for one in value] if isinstance(value, list) else value)}'"
    return _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        return str(Path("/app") / value.relative_to(ROOT))
    return str(value.value if isinstance(value, Enum) else value)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

"""The image: which files and packages it has, and whose OPA."""

import re
import shlex
import tomllib

from countersign.embedded.servers import OPA
from countersign.settings import ROOT
from tests.unit.test_docker_compose import DOCKERFILE, SERVICES


def test_policies_are_previewed_by_the_opa_that_decides() -> None:
    assert f"FROM {SERVICES['opa']['image']} AS opa\n" in DOCKERFILE
    assert SERVICES["opa"]["image"] == f"openpolicyagent/opa:{OPA.release}-static"
    copied = re.search(r"^COPY --from=opa /opa (\S+)\nENV COUNTERSIGN_OPA=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert copied
    assert copied[1] == copied[2]


def test_what_the_image_copies_is_there_and_sent_to_the_builder() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    lines = re.findall(r"^COPY (?!--from)(.+)", DOCKERFILE, re.MULTILINE)
    copied = {source for line in lines for source in shlex.split(line)[:-1]}
    assert copied == sent
    assert all((ROOT / source).exists() for source in copied)


def test_the_image_holds_every_package_of_the_project() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {name.rstrip("*") for name in pyproject["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert {folder for folder in folders if (ROOT / folder).is_dir()} <= copied
    assert {"packs", "rego"} <= copied


def test_packages_are_installed_by_hash_and_from_no_named_address() -> None:
    assert "--require-hashes" in DOCKERFILE
    assert "://" not in DOCKERFILE

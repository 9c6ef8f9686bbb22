"""The command `policy install`: the first version of the policy."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from countersign.cli.command import run, shared_settings, show_facts
from countersign.cli.options import AsJson
from countersign.cli.policy_options import Core, Packs, SigningKey, folders_of, opa_program

if TYPE_CHECKING:
    from countersign.policy_install import Installed


def install(
    core: Core = None,
    *,
    packs: Packs = None,
    key: SigningKey = None,
    as_json: AsJson = False,
) -> None:
    """Bring the first version of the policy into force, as it stands in the folder; do nothing if one is in force.

    The tenant of the settings owns the rules from then on: changes of them are signed there.
    """
    from countersign.policy_install import install_policy

    settings = shared_settings("database_url")
    folders = folders_of(core, packs)
    found = run(install_policy(settings, opa_program, folders, key or settings.policy_key_path))
    facts = {
        "version": found.version,
        "policy_digest": found.digest,
        "installed": found.key_id is not None,
        "key_id": found.key_id,
        "folder_digest": found.folder_digest,
    }
    show_facts(facts, *_lines(found, folders.core, settings.tenant), as_json=as_json)


def _lines(found: "Installed", folder: Path, tenant: str) -> Iterator[str]:
    yield f"policy version {found.version} is in force: {found.digest}"
    if found.key_id is not None:
        yield f"signed by the key {found.key_id}; changes of rules are signed in tenant {tenant} from now on"
        return
    yield "nothing was done, since a version is in force"
    if found.folder_digest is None:
        yield f"{folder} holds no policy: {found.fault}"
    elif found.folder_digest != found.digest:
        yield f"{folder} holds another policy, {found.folder_digest}: `countersign policy propose` proposes it"

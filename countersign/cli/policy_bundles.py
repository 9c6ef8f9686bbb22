"""The commands `policy build` and `policy verify`: signed bundles for an OPA of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import own_settings, show_facts
from countersign.cli.options import AsJson
from countersign.cli.options import output as to_output
from countersign.cli.policy_options import Core, Packs, SigningKey, folders_of


def build(
    core: Core = None,
    *,
    packs: Packs = None,
    key: SigningKey = None,
    output: Annotated[Path, to_output("FILE", "The file to write.")] = Path("bundle.tar.gz"),
    as_json: AsJson = False,
) -> None:
    """Build the signed bundle of a policy, and say its digest, and the id of the key."""
    from countersign.cli.outputs import write_new
    from policy.bundle import read_policy
    from policy.keys import load_or_create
    from policy.signing import sign_bundle
    from receipts.signing import public_path

    text = read_policy(folders_of(core, packs))
    file = key or own_settings().policy_key_path
    signing = load_or_create(file)
    bundle = sign_bundle(text, signing)
    write_new(output, bundle.data)
    facts = {"policy_digest": bundle.revision, "key_id": signing.public.key_id, "bundle": output}
    lines = (f"policy: {bundle.revision}", f"key:    {signing.public.key_id}  {public_path(file)}", f"bundle: {output}")
    show_facts(facts, *lines, as_json=as_json)


def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="The file to verify.")],
    *,
    keys: Annotated[
        list[Path] | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help="A public key that is trusted, in PEM. Default: keys/policy.pub.pem in COUNTERSIGN_HOME.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a signed bundle as OPA does, and that its revision is the digest of its text. Exits with 1 if not."""
    from countersign.foreseen_errors import OperateError
    from policy.keys import load_verification_key
    from policy.verifying import verify_bundle
    from receipts.signing import public_path

    trusted = [load_verification_key(key) for key in keys or [public_path(own_settings().policy_key_path)]]
    try:
        found = verify_bundle(bundle.read_bytes(), trusted)
    except OSError as error:
        raise OperateError(f"{bundle} cannot be read: {error.strerror}") from error
    facts = {"policy_digest": found.text.digest, "key_id": found.key.key_id}
    lines = (f"policy: {found.text.digest}", f"key:    {found.key.key_id}")
    show_facts(facts, *lines, as_json=as_json)

"""`policy build` and `policy verify`: bundles for an OPA of one's own, signed and verified at the command line."""

import json
from pathlib import Path

import pytest

from policy.bundle import PolicyFolders, read_policy
from policy.keys import load_or_create, load_verification_key
from policy.signing import sign_bundle
from tests.integration.program_stage import Finished, command
from tests.opa_server import PACKS, POLICIES, SHIPPED
from tests.spoiled_bundles import SPOILED


async def countersign(folder: Path, *words: str | Path) -> Finished:
    return await command("policy", *map(str, words), env={"COUNTERSIGN_HOME": str(folder / "home")})


async def test_a_bundle_is_built_signed_and_verified(tmp_path: Path) -> None:
    key, bundle = tmp_path / "keys/policy.pem", tmp_path / "bundle.tar.gz"
    built = await countersign(tmp_path, "build", "--key", key, "-o", bundle)
    expected = sign_bundle(read_policy(SHIPPED), load_or_create(key))
    assert (built.code, built.err) == (0, "")
    assert bundle.read_bytes() == expected.data
    assert f"policy: {expected.revision}\n" in built.out
    assert f"{load_or_create(key).public.key_id}  {tmp_path}/keys/policy.pub.pem\n" in built.out
    verified = await countersign(tmp_path, "verify", bundle, "--key", tmp_path / "keys/policy.pub.pem", "--json")
    assert json.loads(verified.out) == {
        "policy_digest": expected.revision,
        "key_id": load_or_create(key).public.key_id,
    }


async def test_the_key_of_the_home_signs_and_is_trusted_where_none_is_named(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    words = ("build", POLICIES, "--pack", PACKS[0], "-o", bundle, "--json")
    built = json.loads((await countersign(tmp_path, *words)).out)
    assert built["policy_digest"] == read_policy(PolicyFolders(POLICIES, PACKS[:1])).digest
    assert built["key_id"] == load_verification_key(tmp_path / "home/keys/policy.pub.pem").key_id
    assert (await countersign(tmp_path, "verify", bundle)).code == 0


@pytest.mark.parametrize("what", ["unsigned", "a rule changed"])
async def test_a_bundle_that_does_not_verify_is_a_failure(tmp_path: Path, what: str) -> None:
    bundle, (spoil, said) = tmp_path / "bundle.tar.gz", SPOILED[what]
    key = load_or_create(tmp_path / "home/keys/policy.pem")
    bundle.write_bytes(spoil(sign_bundle(read_policy(SHIPPED), key).data))
    ended = await countersign(tmp_path, "verify", bundle)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("countersign: the bundle ")
    assert said in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "none", "-o", "b"), "none is not a folder"),
        (("build", POLICIES / "schemas", "-o", "b"), "no policies under"),
        (("build", "-o", "none/b"), "none/b cannot be written"),
        (("build", "--key", POLICIES / "meta.rego", "-o", "b"), "meta.rego"),
        (("verify", "b"), "policy.pub.pem cannot be read"),
        (("verify", "b", "--key", "policy.pub.pem"), "policy.pub.pem cannot be read"),
    ],
)
async def test_what_cannot_be_read_or_written_is_named(
    tmp_path: Path, words: tuple[str | Path, ...], said: str
) -> None:
    ended = await countersign(tmp_path, *words)
    assert (ended.code, said in ended.err, ended.err.count("\n")) == (1, True, 1), ended.err


async def test_a_bundle_that_is_not_there_is_named(tmp_path: Path) -> None:
    load_or_create(tmp_path / "home/keys/policy.pem")
    ended = await countersign(tmp_path, "verify", tmp_path / "none")
    assert (ended.code, "none cannot be read: No such file" in ended.err) == (1, True)


async def test_a_bundle_that_is_there_with_other_content_is_left(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    bundle.write_bytes(b"of another policy")
    ended = await countersign(tmp_path, "build", "-o", bundle)
    assert (ended.code, "nothing is overwritten" in ended.err) == (1, True)
    assert bundle.read_bytes() == b"of another policy"

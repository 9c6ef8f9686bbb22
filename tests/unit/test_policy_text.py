"""A policy's text has one digest, and its bundle carries exactly that text."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.bundle import CONFIG_FILE, PolicyFolders, build_bundle, policy_text, read_policy, strict_json
from policy.errors import PolicyError
from tests.opa_server import PACKS, POLICIES, SHIPPED, copy_policies


def members(bundle: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(bundle), mode="r:gz") as archive:
        return {item.name: (archive.extractfile(item) or io.BytesIO()).read().decode() for item in archive}


def test_bundle_holds_the_text_and_names_its_digest() -> None:
    bundle = build_bundle(SHIPPED)
    files = members(bundle.data)
    manifest = json.loads(files.pop(".manifest"))
    assert files == read_policy(SHIPPED).files
    assert manifest["revision"] == bundle.revision == read_policy(SHIPPED).digest
    assert manifest["roots"] == [""]


def test_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    copy = copy_policies(tmp_path / "rego")
    assert build_bundle(PolicyFolders(copy, PACKS)) == build_bundle(SHIPPED)


def test_tests_schemas_and_the_meta_policy_are_not_served() -> None:
    assert not [name for name in read_policy(SHIPPED).files if "_test" in name or "meta" in name or "schemas" in name]


def test_rules_of_the_listed_packs_are_served_and_no_others() -> None:
    assert "countersign_pack/incident_triage/servicenow.rego" in read_policy(SHIPPED).files
    core = read_policy(PolicyFolders(POLICIES, ()))
    assert not [name for name in core.files if name.startswith("countersign_pack")]
    assert core.digest != read_policy(SHIPPED).digest


def pack(folder: Path, text: str, name: str = "rules.rego") -> Path:
    (folder / "rego").mkdir(parents=True)
    (folder / "rego" / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "package countersign_pack.my_desk.notebook",
        "# METADATA\n\n  # title: x\npackage countersign_pack.my_desk # a\n\na := 1\n",
    ],
)
def test_rules_of_a_pack_stand_in_its_own_package(tmp_path: Path, text: str) -> None:
    folder = pack(tmp_path / "my-desk", text)
    assert read_policy(PolicyFolders(POLICIES, (folder,))).files["countersign_pack/my_desk/rules.rego"] == text


@pytest.mark.parametrize(
    "text",
    [
        "package countersign.effect\n\ndecision := {}",
        "package countersign_pack.other.notebook",
        "package countersign_pack.my_desks",
        "package countersign_pack",
        'package countersign_pack["my_desk"]',
        "a := 1\npackage countersign_pack.my_desk",
        "",
    ],
)
def test_pack_cannot_rule_in_the_place_of_core_or_of_another(tmp_path: Path, text: str) -> None:
    folder = pack(tmp_path / "my-desk", text)
    with pytest.raises(
        PolicyError, match=r"rules\.rego: a rule of this pack begins with `package countersign_pack\.my_d"
    ):
        read_policy(PolicyFolders(POLICIES, (folder,)))


def test_two_packs_of_one_name_are_refused(tmp_path: Path) -> None:
    one = pack(tmp_path / "a" / "my-desk", "package countersign_pack.my_desk")
    other = pack(tmp_path / "b" / "my-desk", "package countersign_pack.my_desk")
    with pytest.raises(PolicyError, match=r"is the package of .*a/my-desk"):
        read_policy(PolicyFolders(POLICIES, (one, other)))


def test_file_that_evidence_cannot_store_is_refused_by_name(tmp_path: Path) -> None:
    folder = pack(tmp_path / "my-desk", "package countersign_pack.my_desk", name="ä b.rego")
    with pytest.raises(PolicyError, match=r"ä b\.rego: this name cannot be stored"):
        read_policy(PolicyFolders(POLICIES, (folder,)))


def test_any_change_of_policy_or_data_changes_the_digest(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    digests = {read_policy(PolicyFolders(policies, PACKS)).digest}
    for name in ("countersign/tiers.rego", "countersign_config/acme/data.json", "countersign/decision_log.rego"):
        file = policies / name
        file.write_text(file.read_text().replace("high", "low").replace("true", "false"))
        digests.add(read_policy(PolicyFolders(policies, PACKS)).digest)
    assert len(digests) == 4


def test_each_tenant_stands_under_its_name(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    (policies / "countersign_config" / "beta").mkdir()
    (policies / "countersign_config" / "beta" / "data.json").write_text('{"b": 1, "a": 2}')
    config = read_policy(PolicyFolders(policies, PACKS)).files[CONFIG_FILE]
    assert set(json.loads(config)) == {"acme", "beta"}
    assert '"beta":{"a":2,"b":1}' in config


@pytest.mark.parametrize("name", ["acme/.data.json.swp", "acme/data.json~", "acme/.data.json", "acme/#data.json#"])
def test_editors_files_are_not_policy(tmp_path: Path, name: str) -> None:
    policies = copy_policies(tmp_path / "rego")
    (policies / "countersign_config" / name).write_text("half a sav")
    (policies / "countersign" / ".#tiers.rego").symlink_to("nowhere")
    assert read_policy(PolicyFolders(policies, PACKS)) == read_policy(SHIPPED)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("countersign_config/acme/data.json", b'{"a": 1, "a": 2}', "acme/data.json: member 'a' stands twice"),
        ("countersign_config/acme/data.json", b'{"a": NaN}', "acme/data.json: NaN is no JSON number"),
        ("countersign_config/acme/data.json", b"{", "acme/data.json: Expecting property name"),
        ("countersign_config/acme/data.yaml", b"a: 1", "data.yaml: a tenant's configuration stands in"),
        (
            "countersign_config/data.json",
            b"{}",
            "stands in countersign_config/TENANT/data.json",
        ),
        ("countersign/tiers.rego", b"\xff", "tiers.rego: 'utf-8' codec"),
    ],
)
def test_unfit_file_is_refused_by_name(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    policies = copy_policies(tmp_path / "rego")
    (policies / name).write_bytes(content)
    with pytest.raises(PolicyError, match=said):
        build_bundle(PolicyFolders(policies, PACKS))


def test_folder_without_policies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no policies under countersign or system"):
        build_bundle(PolicyFolders(tmp_path, PACKS))


def test_bundle_is_stored_without_compression_and_without_time() -> None:
    data = build_bundle(SHIPPED).data
    assert data[4:8] == bytes(4)
    assert len(data) > len(gzip.decompress(data))


NAMES = st.text(max_size=5)


@given(modules=st.dictionaries(NAMES, NAMES, max_size=4), config=st.dictionaries(NAMES, st.integers(-9, 9), max_size=4))
def test_digest_follows_from_content_alone(modules: dict[str, str], config: dict[str, int]) -> None:
    backwards = policy_text(dict(reversed(modules.items())), dict(reversed(config.items())))
    assert backwards == policy_text(modules, config)
    assert policy_text({**modules, "added": ""}, config).digest != backwards.digest


@pytest.mark.parametrize("text", ['{"a":{"b":1,"b":1}}', "[Infinity]", "", "{", "[1,]", b"\xff"])
def test_json_that_is_not_strict_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        strict_json(text)

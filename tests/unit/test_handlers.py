"""Handlers: found in installed distributions, and replaced by mocks.

Handlers found in installed distributions; each test installs some into a folder of its own.

The overlay's file: everything that is wrong with it is named at once, with its place, before anything starts.
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest
from pydantic import BaseModel

from receipts.privacy import secrets_in
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.problems import InvalidDefinitionsError
from runtime.definitions.registry import HandlerRegistryError, collect, collect_functions, collect_settings, discover
from runtime.functions import FUNCTIONS_GROUP
from runtime.handlers import ENTRY_POINT_GROUP, SETTINGS_GROUP, Call, Handler
from runtime.mocks import Overlay, overlaid, read_overlay
from tests.unit.test_definitions_catalog import GOOD, HANDLERS, act, pack

MODULE = """
from runtime.handlers import Handler
async def act(call):
    return {{"url": SETTINGS["url"], "operation": call.operation}}
def handlers(settings):
    global SETTINGS
    SETTINGS = settings
    {body}
"""


class Site:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, distribution: str, pack: str, body: str) -> None:
        """Install a distribution with one pack whose factory has `body`."""
        module = f"site_{self.folder.name}_{distribution}".replace("-", "_")
        (self.folder / f"{module}.py").write_text(MODULE.format(body=body), encoding="utf-8")
        info = self.folder / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
        points = f"[{ENTRY_POINT_GROUP}]\n{pack} = {module}:handlers\n"
        (info / "entry_points.txt").write_text(points, encoding="utf-8")

    def collect(
        self, settings: Mapping[str, Mapping[str, str]] | None = None, listed: Collection[str] | None = None
    ) -> dict[str, Handler]:
        """Return the handlers of what is installed here; all packs are listed where nothing else is said."""
        found = distributions(path=[str(self.folder)])
        points = [point for each in found for point in each.entry_points if point.group == ENTRY_POINT_GROUP]
        return collect(points, settings or {}, {point.name for point in points} if listed is None else listed)

    def refusal(self, settings: Mapping[str, Mapping[str, str]] | None = None) -> str:
        """Return why what is installed here is refused."""
        with pytest.raises(HandlerRegistryError) as refused:
            self.collect(settings)
        return str(refused.value)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    sys.path.insert(0, str(tmp_path))
    yield Site(tmp_path)
    sys.path.remove(str(tmp_path))


async def test_each_pack_is_made_with_its_own_settings(site: Site) -> None:
    site.install("crm-pack", "crm", 'return {"crm::find": Handler(act)}')
    site.install("mail-pack", "mail", 'return {"mail::send": Handler(act)}')
    handlers = site.collect({"crm": {"url": "http://crm"}, "mail": {"url": "http://mail"}})
    assert sorted(handlers) == ["crm::find", "mail::send"]
    call = Call("acme", "r1", "s1", "find", {})
    assert await handlers["crm::find"].run(call) == {"url": "http://crm", "operation": "find"}


def test_namespace_belongs_to_one_pack(site: Site) -> None:
    site.install("first", "one", 'return {"crm::find": Handler(act)}')
    site.install("second", "two", 'return {"crm::save": Handler(act)}')
    assert site.refusal() == "pack 'two' of second: the namespace 'crm' is pack 'one' of first's"


def test_namespace_of_the_runtime_cannot_be_taken(site: Site) -> None:
    site.install("clock", "clock", 'return {"timer::wait": Handler(act)}')
    assert site.refusal() == "pack 'clock' of clock: the namespace 'timer' is the runtime's"


def test_pack_name_belongs_to_one_distribution(site: Site) -> None:
    site.install("first", "crm", 'return {"a::find": Handler(act)}')
    site.install("second", "crm", 'return {"b::find": Handler(act)}')
    assert site.refusal() == "pack 'crm' of second is offered by pack 'crm' of first too"


def test_broken_pack_is_named_with_its_distribution_file_and_line(site: Site) -> None:
    site.install("crm-pack", "crm", 'raise KeyError("url")')
    file = next(site.folder.glob("*.py"))
    assert site.refusal() == f"pack 'crm' of crm-pack is broken: {file}:8: KeyError: 'url'"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("import os\n\nimport nowhere_to_be_found\n", 3, "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def handlers(settings):\n    return {\n", 2, "SyntaxError: '{' was never closed"),
    ],
)
def test_pack_that_cannot_be_loaded_is_named_with_its_file_and_line(
    site: Site, text: str, line: int, said: str
) -> None:
    site.install("crm-pack", "crm", "return {}")
    file = next(site.folder.glob("*.py"))
    file.write_text(text, encoding="utf-8")
    assert site.refusal().startswith(f"pack 'crm' of crm-pack is broken: {file}:{line}: {said}")


def test_what_a_pack_says_about_its_settings_is_told_as_it_is(site: Site) -> None:
    site.install("crm-pack", "crm", 'raise ValueError("settings of pack crm: urll: is not known")')
    assert site.refusal() == "pack 'crm' of crm-pack: settings of pack crm: urll: is not known"


def test_installed_pack_that_is_not_listed_is_not_loaded_and_stops_nothing(site: Site) -> None:
    site.install("crm-pack", "crm", 'return {"crm::find": Handler(act)}')
    site.install("other-pack", "other", 'raise RuntimeError("loaded")')
    assert list(site.collect(listed=["crm"])) == ["crm::find"]


def test_pack_whose_module_is_gone_is_named_with_its_distribution(site: Site) -> None:
    site.install("crm-pack", "crm", "return {}")
    next(site.folder.glob("*.py")).unlink()
    assert "pack 'crm' of crm-pack is broken: ModuleNotFoundError" in site.refusal()


@pytest.mark.parametrize("name", ["find", "crm:find", "crm::", "CRM::find", "crm::find::all"])
def test_handler_name_has_a_namespace_and_an_operation(site: Site, name: str) -> None:
    site.install("crm-pack", "crm", f'return {{"{name}": Handler(act)}}')
    assert site.refusal() == f"pack 'crm' of crm-pack: '{name}' is not of the form namespace::operation"


def test_what_is_not_a_handler_is_refused(site: Site) -> None:
    site.install("crm-pack", "crm", 'return {"crm::find": act}')
    assert site.refusal() == "pack 'crm' of crm-pack: 'crm::find' is not a Handler but a function"


def test_settings_for_a_pack_that_is_not_installed_are_refused(site: Site) -> None:
    site.install("crm-pack", "crm", "return {}")
    message = "settings for 'crn', but no such pack is installed and listed (did you mean 'crm'?)"
    assert site.refusal({"crn": {"url": "x"}}) == message


def test_discovery_looks_at_the_installed_entry_points(site: Site) -> None:
    site.install("crm-pack", "crm", 'raise RuntimeError("reached")')
    with pytest.raises(HandlerRegistryError, match="reached"):
        discover({}, ["crm"])


SETTINGS = """
from pydantic import BaseModel, ConfigDict, SecretStr
class Declared(BaseModel):
    model_config = ConfigDict(extra="forbid")
    url: str = ""
    token: SecretStr = SecretStr("")
"""


def declared(site: Site, **given: str) -> BaseModel | None:
    """Return the settings of a pack that declares some."""
    (site.folder / "declaring.py").write_text(SETTINGS, encoding="utf-8")
    point = EntryPoint("crm", "declaring:Declared", SETTINGS_GROUP)
    return collect_settings([point], {"crm": given}, ["crm"]).get("crm")


def test_settings_are_parsed_by_the_model_that_their_pack_declares(site: Site) -> None:
    parsed = declared(site, url="https://crm.example", token="s3cret-value")
    assert parsed is not None
    assert list(secrets_in(parsed)) == ["s3cret-value"]
    assert declared(site) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"token": "s3cret!"}, "settings: token has fewer than 8 characters, so it cannot be told from a word"),
        (
            {"url": "https://u:s3cret!@crm"},
            "settings: url has fewer than 8 characters, so it cannot be told from a word",
        ),
        ({"toke": "s3cret!"}, "settings: toke: Extra inputs are not permitted"),
    ],
)
def test_settings_that_cannot_be_right_are_named_and_not_quoted(site: Site, given: dict[str, str], why: str) -> None:
    with pytest.raises(HandlerRegistryError) as refused:
        declared(site, **given)
    assert str(refused.value) == f"pack 'crm' of an unnamed distribution: {why}"


def test_settings_that_a_pack_does_not_declare_are_refused() -> None:
    with pytest.raises(HandlerRegistryError) as refused:
        collect_settings([], {"crm": {"url": "x"}}, ["crm"])
    assert str(refused.value) == "settings for 'crm', but the pack declares none under countersign.settings"


FUNCTIONS = """
from runtime.functions import Function, Type
def make(name, version=1):
    return Function(name, version, (Type.TEXT,), Type.TEXT, str.lower)
FUNCTIONS = {offered}
"""


def offer(site: Site, distribution: str, pack: str, offered: str) -> None:
    """Install a distribution with one pack that adds functions."""
    module = f"site_{site.folder.name}_{distribution}".replace("-", "_")
    (site.folder / f"{module}.py").write_text(FUNCTIONS.format(offered=offered), encoding="utf-8")
    info = site.folder / f"{distribution}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
    points = f"[{FUNCTIONS_GROUP}]\n{pack} = {module}:FUNCTIONS\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")


def functions_of(site: Site, *listed: str) -> list[tuple[str, int]]:
    found = distributions(path=[str(site.folder)])
    points = [point for each in found for point in each.entry_points if point.group == FUNCTIONS_GROUP]
    return [(function.name, function.version) for function in collect_functions(points, listed)]


def test_listed_packs_add_functions_and_no_code_of_another_one_runs(site: Site) -> None:
    offer(site, "crm-pack", "crm-eu", '[make("crm_eu_short"), make("crm_eu_short", 2)]')
    offer(site, "other-pack", "other", "1 / 0")
    assert functions_of(site, "crm-eu") == [("crm_eu_short", 1), ("crm_eu_short", 2)]


@pytest.mark.parametrize(
    ("offered", "why"),
    [
        ('[make("short")]', ": the name of the function 'short' does not begin with that of its pack"),
        ('[make("crm_Short")]', ": the name of the function 'crm_Short' does not begin with that of its pack"),
        ('[make("crm_a", 0)]', ": the version of the function crm_a is 0"),
        ('[make("crm_a"), make("crm_a")]', ": the function crm_a version 1 is there already"),
        ("[str]", ": '<class 'str'>' is not a Function but a type"),
        ("1 / 0", " is broken: "),
    ],
)
def test_functions_that_no_expression_could_call_are_refused(site: Site, offered: str, why: str) -> None:
    offer(site, "crm-pack", "crm", offered)
    with pytest.raises(HandlerRegistryError) as refused:
        functions_of(site, "crm")
    assert str(refused.value).startswith(f"pack 'crm' of crm-pack{why}")


VERBS = """verbs:
  - name: score
    domain: desk
    description: Score a company
    execution: { kind: sync, handler: "register::look_up" }
    effect: { class: read }
    input_schema: { properties: {} }
    output_schema: { required: [score], properties: { score: { type: number } } }
  - name: ask
    domain: desk
    description: Ask somebody
    execution: { kind: durable, handler: "tasks::open", wait: external, timeout: P1D }
    effect: { class: write, tier: low, reversible: false, target: t, idempotency_key: "${run.id}", in_doubt: ask }
    input_schema: { properties: {} }
    output_schema: { required: [said], properties: { said: { type: string } } }
"""
RUNBOOK = """name: probe
version: 1
title: T
trigger: { type: desk.probe, schema: {} }
steps: [{ id: score, verb: score }, { id: ask, verb: ask }]
"""
FITTING = 'handlers: {"register::look_up": {result: {score: 3}}, "tasks::open": {answer: {said: aye}, delay: PT2S}}'


def read(folder: Path, text: str) -> Overlay:
    catalog = load_catalog([pack(folder / "desk", verbs_x=VERBS, runbooks_x=RUNBOOK)], HANDLERS)
    assert catalog.problems == ()
    file = folder / "overlay.yaml"
    file.write_text(text, encoding="utf-8")
    return read_overlay(file, HANDLERS, catalog.definitions.values())


def test_a_mock_knows_what_it_gives_and_the_verbs_that_it_stands_behind(tmp_path: Path) -> None:
    overlay = read(tmp_path, FITTING)
    assert overlay["register::look_up"].result == {"score": 3}
    assert (overlay["tasks::open"].answer, overlay["tasks::open"].verbs) == ({"said": "aye"}, ("ask",))
    assert overlay["tasks::open"].delay.total_seconds() == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("handlers: {}", ["1: handlers: may not be empty"]),
        ("mocks: {}", ["1: $: the key 'handlers' is missing", "1: mocks: unknown key 'mocks'"]),
        ("handlers: {'tasks::open': 3}", ["1: handlers.tasks::open: expected a mapping, not 3"]),
        ("handlers: {'tasks::close': {\n  wait: P1D}}", ["2: handlers.tasks::close.wait: the key 'wait' does not"]),
        (
            "handlers: {'tasks::clsoe': {}}",
            ["1: handlers.tasks::clsoe: unknown handler 'tasks::clsoe' (did you mean 'tasks::close'?)"],
        ),
        (
            "handlers: {'slack::post_card': {}}",
            ["1: handlers.slack::post_card: 'slack::post_card' is the runtime's own and stays what it is"],
        ),
        ("handlers: {'tasks::close': {delay: soon}}", ["1: handlers.tasks::close.delay: 'soon' is not"]),
        (
            "handlers: {'tasks::close': {fails: {kind: refused, message: never, times: 0}}}",
            ["1: handlers.tasks::close.fails.times: input should be greater than or equal to 1"],
        ),
        (
            "handlers:\n  'register::look_up': {result: {score: high}}\n  'tasks::open': {answer: {}}",
            [
                "2: handlers.register::look_up.result.score: does not fit the verb 'score': 'high' is not of type",
                "3: handlers.tasks::open.answer: does not fit the verb 'ask': 'said' is a required property",
            ],
        ),
        (
            "handlers: {'register::look_up': {result: {score: 1}, answer: {}}, 'tasks::open': {}}",
            [
                "1: handlers.register::look_up.answer: the verb 'score' waits for no answer",
                "1: handlers.tasks::open: the durable verb 'ask' needs the 'answer' that ends its wait",
            ],
        ),
    ],
)
def test_whatever_is_wrong_is_named_at_once_with_its_place(tmp_path: Path, text: str, said: list[str]) -> None:
    with pytest.raises(InvalidDefinitionsError) as caught:
        read(tmp_path, text)
    found = [str(problem).removeprefix(f"{tmp_path}/overlay.yaml:") for problem in caught.value.problems]
    assert len(found) == len(said), found
    assert all(one.startswith(start) for one, start in zip(sorted(found), sorted(said), strict=True)), found


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidDefinitionsError, match="cannot be read: No such file"):
        read_overlay(tmp_path / "none.yaml", HANDLERS, load_catalog([GOOD], HANDLERS).definitions.values())


def test_a_mock_reads_where_the_real_one_reads_and_tells_what_became_of_it_where_that_can(tmp_path: Path) -> None:
    async def nobody(*_: object) -> None:
        raise AssertionError

    handlers = {**HANDLERS, "slack::post_card": Handler(act)}
    found = overlaid(handlers, read(tmp_path, FITTING), nobody)
    assert found.keys() == handlers.keys()
    assert {name: one.writes for name, one in found.items()} == {name: one.writes for name, one in handlers.items()}
    assert [name for name, one in found.items() if one.reconcile] == ["crud::execute", "tasks::close"]
    assert found["slack::post_card"] is handlers["slack::post_card"]
    assert found["crud::read"] is handlers["crud::read"], "a read that is not mocked reads"

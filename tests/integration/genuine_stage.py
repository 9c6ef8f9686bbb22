"""An office, and genuine runs that it sealed: played by one process of a test run for all whose tests bend them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from countersign.embedded.opa import OpaChild
from runtime.services.sealing import Story
from tests.integration.passkeys_stage import PASSKEYS
from tests.integration.played import play
from tests.shared import shared
from tests.unit.evidence_sample import Office


@dataclass(frozen=True)
class Genuine:
    """Who sealed the runs, and their stories by what became of them."""

    office: Office
    stories: Mapping[str, Story]


_played: list[Genuine] = []


@pytest.fixture(scope="module")
async def genuine(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> Genuine:
    if not _played:
        async with shared(tmp_path_factory, "genuine") as runs:
            if runs.value is None:
                key = Office.in_folder(runs.folder).key
                runs.keep((await play(postgres, opa.url, key), PASSKEYS))
            stories, passkeys = runs.value
            for mine, that_signed in zip(PASSKEYS, passkeys, strict=True):
                vars(mine).update(vars(that_signed))  # a forger may have a passkey that signed
            own = tmp_path_factory.mktemp("office")  # each process writes its own bundles
            shutil.copytree(runs.folder / "keys", own / "keys")
            _played.append(Genuine(Office.in_folder(own), stories))
    return _played[0]


@pytest.fixture(scope="module")
def office(genuine: Genuine) -> Office:
    return genuine.office


@pytest.fixture(scope="module")
def stories(genuine: Genuine) -> Mapping[str, Story]:
    return genuine.stories

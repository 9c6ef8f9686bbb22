"""An office, and genuine runs that it sealed: played once in a process for all modules whose tests bend them."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from countersign.embedded.opa import OpaChild
from runtime.desk.bundles.sealing import Story
from tests.integration.played import play
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
        office = Office.in_folder(tmp_path_factory.mktemp("office"))
        _played.append(Genuine(office, await play(postgres, opa.url, office.key)))
    return _played[0]


@pytest.fixture(scope="module")
def office(genuine: Genuine) -> Office:
    return genuine.office


@pytest.fixture(scope="module")
def stories(genuine: Genuine) -> Mapping[str, Story]:
    return genuine.stories

"""An office, and genuine runs that it sealed: played once in a session for all modules whose tests bend them."""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from countersign.embedded.opa import OpaChild
from runtime.desk.bundles.sealing import Story
from tests.integration.played import play
from tests.shared import alone, shared_folder, write_whole
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
        kept = shared_folder(tmp_path_factory) / "genuine"
        async with alone(kept):
            office, told = Office.in_folder(kept), kept / "stories.pickle"
            if not told.exists():
                write_whole(told, pickle.dumps(await play(postgres, opa.url, office.key)))
        own = replace(office, folder=tmp_path_factory.mktemp("office"))  # where this process writes its bundles
        _played.append(Genuine(own, pickle.loads(told.read_bytes())))  # noqa: S301 - our own session wrote it
    return _played[0]


@pytest.fixture(scope="module")
def office(genuine: Genuine) -> Office:
    return genuine.office


@pytest.fixture(scope="module")
def stories(genuine: Genuine) -> Mapping[str, Story]:
    return genuine.stories

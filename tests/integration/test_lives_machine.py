"""Any order of starts, activations and retirements keeps the rules, and the chain tells where each version stands."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from receipts.chain import Actor
from runtime.model.states import DEFINITION, DefinitionStatus, IllegalTransitionError
from runtime.services.definition_lives import Mover, TriggerTakenError
from runtime.store import definitions
from runtime.store.definitions import lock_versions
from tests.bench import TENANT
from tests.integration.lives_stage import MOVES, TYPE, Lives, life, probe

__all__ = ["life"]

NAMES = ("probe", "other")
RUNBOOKS = [probe(version, name=name) for name in NAMES for version in (1, 2, 3)]
WISHES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.sampled_from(["activate", "beside", "retire"])), max_size=12
)


@given(WISHES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_order_of_moves_keeps_the_rules(life: Lives, wishes: list[tuple[str, int, str]]) -> None:
    await life.bench.meddle("DELETE FROM definition_lives")
    await life.bench.meddle("DELETE FROM tenant_leaves WHERE leaf->>'event' = ANY(%s)", MOVES)
    await life.begin(*RUNBOOKS)
    for name, version, wish in wishes:
        await _try(life, name, version, wish)
        await _keeps_the_rules(life)


async def _try(life: Lives, name: str, version: int, wish: str) -> None:
    """Make a move; what is illegal is refused and changes nothing."""
    async with life.bench.engine.pool.connection() as conn:
        one = await definitions.find_version(conn, TENANT, name, version)
        assert one is not None
        before = await definitions.versions_of_trigger(conn, TENANT, TYPE)
        to = DefinitionStatus.RETIRED if wish == "retire" else DefinitionStatus.ACTIVE
        try:
            async with conn.transaction():
                await lock_versions(conn, TENANT)
                mover = Mover(conn, TENANT, Actor(id="rita", kind="person"), None, life.bench.clock())
                await (mover.retire(one) if wish == "retire" else mover.activate(one, beside=wish == "beside"))
        except IllegalTransitionError:
            assert to not in DEFINITION[one.status]
        except TriggerTakenError:
            assert {other.name for other in before if other.is_active} == {*NAMES} - {name}
        else:
            assert to in DEFINITION[one.status]
            return
        assert await definitions.versions_of_trigger(conn, TENANT, TYPE) == before


async def _keeps_the_rules(life: Lives) -> None:
    """One runbook starts for the trigger, and what the chain said last of a version is where it stands."""
    active = set()
    for name in NAMES:
        told = {version: event.removeprefix("definition.") for event, version, _, _ in await life.moves(name)}
        statuses = await life.statuses(name)
        replayed = {version: {"activated": "active"}.get(event, event) for version, event in told.items()}
        assert {version: status for version, status in statuses.items() if status != "draft"} == replayed
        active |= {name for status in statuses.values() if status == "active"}
    assert len(active) <= 1

"""What is tried again is tried when its author says: pause by pause, and never past the run's time."""

import pytest

from runtime.handlers import BlockedError, HandlerError, NotTakenError, OutcomeUnknownError, TransientError
from tests.bench import Bench
from tests.integration.conftest import Targets


async def _climb(patient: Bench, pauses: list[int]) -> None:
    """Let each pause pass: a second before its end nothing is tried."""
    for pause in pauses:
        await patient.later(seconds=pause - 1)
        await patient.later(seconds=1)


async def test_a_write_is_tried_again_by_its_ladder_and_no_sooner(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(4)]
    run_id = (await patient.start("patience.note", {})).run_id
    await patient.settle()
    for number, pause in enumerate((5, 30, 120, 600), start=1):
        await patient.later(seconds=pause - 1)
        assert len(targets.note.calls) == number, f"not before its pause of {pause} seconds is over"
        await patient.later(seconds=1)
        assert len(targets.note.calls) == number + 1
    assert (await patient.run(run_id))["status"] == "succeeded"


async def test_a_ladder_that_was_climbed_to_its_end_fails_the_step(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(9)]
    run_id = (await patient.start("patience.note", {})).run_id
    await patient.settle()
    await _climb(patient, [5, 30, 120, 600])
    run = await patient.run(run_id)
    assert (run["status"], len(targets.note.calls)) == ("failed_terminal", 5)
    assert "busy (attempt 5 of 5)" in run["error"]


async def test_a_read_is_tried_again_by_its_ladder(patient: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("away") for _ in range(3)]
    run_id = (await patient.start("patience.note", {})).run_id
    await patient.settle()
    await patient.later(seconds=4)
    assert len(targets.look.calls) == 1
    await _climb(patient, [2, 30, 120])
    assert len(targets.look.calls) == 4
    assert (await patient.run(run_id))["status"] == "succeeded"


SLA = "it is not tried again, since its run's SLA is over by then"


async def test_no_retry_of_a_write_is_scheduled_beyond_the_runs_time(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(9)]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    await _climb(patient, [5, 30])
    run = await patient.run(run_id)
    assert (run["status"], len(targets.note.calls)) == ("failed_terminal", 3), "two minutes more would be too late"
    assert run["error"] == f"note: busy; {SLA}"
    assert await patient.rows("SELECT 1 FROM effects WHERE purpose = 'step' AND status NOT IN ('failed')") == []


async def test_no_retry_of_a_read_is_scheduled_beyond_the_runs_time(patient: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("away") for _ in range(9)]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    await _climb(patient, [5, 30])
    run = await patient.run(run_id)
    assert (run["status"], len(targets.look.calls)) == ("failed_terminal", 3)
    assert run["error"] == f"look: away; {SLA}"


@pytest.mark.parametrize("away", [NotTakenError("no connection", 90), BlockedError("wrong credentials")])
async def test_what_is_waited_out_ends_with_the_runs_time(patient: Bench, targets: Targets, away: HandlerError) -> None:
    targets.note.answers = [away for _ in range(40)]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    for _ in range(24):
        await patient.later(seconds=5)
    run = await patient.run(run_id)
    assert run["status"] == "failed_terminal"
    assert SLA in run["error"]


async def test_the_runs_time_counts_from_when_it_was_asked_for_and_forbids_no_first_try(
    patient: Bench, targets: Targets
) -> None:
    targets.look.answers = [TransientError("away")]
    run_id = (await patient.start("patience.sla", {})).run_id
    patient.clock.move(minutes=3)
    await patient.settle()
    run = await patient.run(run_id)
    assert (run["status"], len(targets.look.calls)) == ("failed_terminal", 1)


async def test_what_is_in_doubt_is_settled_whatever_the_time(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [OutcomeUnknownError("reset")]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    await patient.later(minutes=5)
    assert (await patient.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 2, "it was read back, and was not there"

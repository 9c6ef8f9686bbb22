"""A filing of which people say that it did not happen, and that was tried again and then again."""

from runtime.handlers import OutcomeUnknownError, TransientError
from tests.bench import Bench
from tests.integration.conftest import Targets


async def deny(bench: Bench, targets: Targets) -> str:
    """Play a filing that was in doubt, did not happen, failed once it was approved again, and then succeeded."""
    targets.file.answers = [OutcomeUnknownError("reset"), TransientError("busy")]
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"}, ref="denied")).run_id
    await bench.settle()
    await _approve(bench)
    await bench.later(minutes=6)
    assert (await bench.click("omar", await bench.approval_id("in_doubt"), "reject")).counted
    await bench.settle()
    await _approve(bench)
    await bench.later(minutes=1)
    return run_id


async def _approve(bench: Bench) -> None:
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()

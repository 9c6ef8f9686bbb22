"""Deadlines that come at once: the waits that nobody answered end, and with them their runs."""

import time

from benchmarks.ours_steps import ended
from benchmarks.plant import Plant, until_answers

_COME = """
    UPDATE waits SET deadline = now() - interval '1 minute' + one.number * interval '1 microsecond'
      FROM (SELECT wait_id, row_number() OVER () AS number FROM waits WHERE status = 'active' LIMIT %s) AS one
     WHERE waits.wait_id = one.wait_id RETURNING run_id, number
"""


async def fired(plant: Plant, count: int, processes: int) -> float:
    """Let so many deadlines be due in one moment; return how many runs a second came to their end by them."""
    async with await plant.start("worker", "sweeps", processes=processes) as process:
        await until_answers(process)
        come = plant.database.rows(_COME, [count])
        began = time.perf_counter()
        await ended(plant.database, [row["run_id"] for row in sorted(come, key=lambda row: row["number"])])
        return len(come) / (time.perf_counter() - began)

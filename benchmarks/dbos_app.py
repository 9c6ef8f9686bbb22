"""DBOS under measurement, in an environment of its own: `python dbos_app.py MODE DATABASE_URL …`.

Its best configuration found: sync workflows, four threads, two processes. It says "ready", waits for a line, measures,
and prints its figures as JSON. Nothing here imports Countersign.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions, SetWorkflowID

THREADS, STEPS = 4, 10
QUEUE, SET = "bench", 500
FOREVER = 14 * 24 * 3600.0
ALL_BACK_LIMIT = 120.0
"""Seconds after the first one for which the others are waited for."""
waiting: list[str] = []
told: dict[str, float] = {}
all_told = threading.Condition()


@DBOS.step()
def note(number: int) -> dict[str, bool]:
    """Answer at once."""
    return {"ok": number >= 0}


@DBOS.workflow()
def chain(case: str) -> str:
    """Do ten steps, one after the other."""
    for number in range(STEPS):
        note(number)
    return case


@DBOS.workflow()
def waiter(case: str) -> str:
    """Wait for an answer; tell when it is there."""
    with all_told:
        waiting.append(str(DBOS.workflow_id))
    DBOS.recv("answer", timeout_seconds=FOREVER)
    with all_told:
        told[str(DBOS.workflow_id)] = time.time()
        all_told.notify_all()
    note(0)
    return case


def steps(name: str, seconds: float) -> dict[str, Any]:
    """Run chains on four threads for so long."""
    done, took = busily(chain, name, seconds)
    return {"steps": done * STEPS, "seconds": took}


def enqueue(name: str, seconds: float) -> dict[str, Any]:
    """Enqueue chains one by one on four threads for so long; nobody takes them off the queue."""
    done, took = busily(lambda case: DBOS.enqueue_workflow(QUEUE, chain, case), name, seconds)
    return {"enqueued": done, "seconds": took}


def enqueue_sets(name: str, seconds: float) -> dict[str, Any]:
    """Enqueue chains on four threads for so long, each time a set of them in one transaction."""
    engine = sqlalchemy.create_engine(sys.argv[2], pool_size=THREADS)
    client = DBOSClient(system_database_engine=engine)
    options: EnqueueOptions = {"workflow_name": "chain", "queue_name": QUEUE}

    def enqueue_set(case: str) -> None:
        with engine.begin() as conn:
            for number in range(SET):
                client.enqueue_in_transaction(conn, options, f"{case}-{number}")

    done, took = busily(enqueue_set, name, seconds)
    return {"enqueued": done * SET, "seconds": took}


def sequential(name: str, count: int) -> dict[str, Any]:
    """Run chains one after the other; the time of each in ms."""
    return {"ms": [timed(lambda: chain(name)) * 1000 for _ in range(count)]}


def resume(name: str, count: int, bulk: int) -> dict[str, Any]:
    """Park, then answer one by one, then all at once."""
    parked = park(name, count)
    time.sleep(1)
    milliseconds = []
    for case in parked:
        began = time.time()
        DBOS.send(case, "yes", topic="answer")
        milliseconds.append((until_told(case) - began) * 1000)
        time.sleep(0.01)
    began = time.perf_counter()
    crowd = park(f"{name}-bulk", bulk)
    parking = time.perf_counter() - began
    time.sleep(1)
    began = time.perf_counter()
    for case in crowd:
        DBOS.send(case, "yes", topic="answer")
    for case in crowd:
        DBOS.retrieve_workflow(case).get_result()
    return {"ms": milliseconds, "park_per_s": bulk / parking, "bulk_per_s": bulk / (time.perf_counter() - began)}


def restart(name: str, count: int) -> dict[str, Any]:
    """Answer for one workflow among many that were parked before this process began; when it, and all, went on."""
    DBOS.send(name, "yes", topic="answer")
    first = until_told(name)
    until = time.monotonic() + ALL_BACK_LIMIT
    while len(waiting) < count and time.monotonic() < until:
        time.sleep(0.01)
    return {"first": first, "all": time.time() if len(waiting) >= count else None}


def parked(name: str, count: int) -> dict[str, Any]:
    """Park workflows, and leave them so."""
    park(name, count)
    while len(waiting) < count:
        time.sleep(0.01)
    return {}


def park(name: str, count: int) -> list[str]:
    """Start workflows that wait; return when all do."""
    cases = [f"{name}-{number}" for number in range(count)]
    for case in cases:
        with SetWorkflowID(case):
            DBOS.start_workflow(waiter, case)
    return cases


def until_told(case: str) -> float:
    """Return the moment at which the workflow went on."""
    with all_told:
        all_told.wait_for(lambda: case in told, timeout=FOREVER)
    return told[case]


def busily(act: Callable[[str], object], name: str, seconds: float) -> tuple[int, float]:
    """Act on four threads for so long; return how often that was, and the seconds that it took."""
    done = [0] * THREADS
    until = time.perf_counter() + seconds

    def work(thread: int) -> None:
        while time.perf_counter() < until:
            act(f"{name}-{thread}-{done[thread]}")
            done[thread] += 1

    took = timed(lambda: side_by_side(work))
    return sum(done), took


def side_by_side(work: Callable[[int], None]) -> None:
    """Do the work on all threads."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Launch, say so, wait for a line, measure, print."""
    mode, url, name, *numbers = sys.argv[1:]
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": url,
        "executor_id": "bench" if mode in ("restart", "parked") else name,
        "application_version": "1",
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    if mode in ("steps", "sequential"):
        sequential(f"{name}-warm", 5)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    measures: dict[str, Callable[..., dict[str, Any]]] = {
        "steps": steps, "sequential": sequential, "resume": resume, "restart": restart, "parked": parked,
        "enqueue": enqueue, "enqueue_sets": enqueue_sets,
    }  # fmt: skip
    found = measures[mode](name, *map(int, numbers))
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    main()

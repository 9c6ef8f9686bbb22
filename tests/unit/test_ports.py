"""Ports that are given to servers: each once, from when it is given, and not only from when somebody listens."""

import socket
import subprocess
import sys
from itertools import count

import pytest

from countersign.embedded import ports

NEXT_OF_ANOTHER = """
import sys
from itertools import count
from countersign.embedded import ports
ports._next = count(ports._OURS.index(int(sys.argv[1])))
print(ports.free_port())
"""


@pytest.fixture
def given() -> int:
    return ports.free_port()


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch, given: int) -> None:
    """Have this process look where it found one."""
    monkeypatch.setattr(ports, "_next", count(ports._OURS.index(given)))


@pytest.mark.usefixtures("again")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is kept could not be listened on")
def test_a_port_that_was_given_is_not_given_again_before_its_server_listens(given: int) -> None:
    assert ports.free_port() != given


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is kept could not be listened on")
def test_another_program_is_not_given_it(given: int) -> None:
    found = subprocess.run(
        [sys.executable, "-c", NEXT_OF_ANOTHER, str(given)], capture_output=True, check=True, text=True
    )
    assert int(found.stdout) != given


@pytest.mark.usefixtures("again")
def test_one_server_listens_on_it_and_may_be_started_again(given: int) -> None:
    for _ in range(2):
        with socket.create_server(("127.0.0.1", given)):
            with pytest.raises(OSError, match="in use"):
                socket.create_server(("127.0.0.1", given))
            assert ports.free_port() != given


def test_nobody_answers_there_before(given: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", given))

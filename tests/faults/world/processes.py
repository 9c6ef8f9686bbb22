"""What Linux tells of processes."""

from pathlib import Path


def state(pid: int) -> str:
    """Return the state of a process: R, S, D, T where it stands still, Z where only its name is left; "" if gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def stands_still(pid: int) -> bool:
    """Return whether a process was stopped."""
    return state(pid) == "T"


def has_ended(pid: int) -> bool:
    """Return whether a process runs no more, buried or not."""
    return state(pid) in ("", "Z")


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    try:
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())]
    except OSError:
        return [pid]

"""Steps: the paths that name them, and what can go wrong with one, in six classes that a runbook may tell apart.

`docs[2].request` is the step `request` in the third iteration of the node `docs`. A path without its indexes is the
address of a node in the definition. A step's block is named by the path up to its last dot: the step that holds the
block, or an iteration of it. For the classes of errors see seed 3, section 10.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_INDEX = re.compile(r"\[(\d+)\]")


def address_of(path: str) -> str:
    """Return the address of the node of which `path` is a step."""
    return _INDEX.sub("", path) if "[" in path else path


def block_of(path: str) -> str:
    """Return the path of what holds the block in which the step stands; "" at the top."""
    return path.rpartition(".")[0]


def id_of(path: str) -> str:
    """Return the last part of a path or an address."""
    return path.rpartition(".")[2]


def inside(block: str, name: str) -> str:
    """Return the path of the step `name` in a block."""
    return f"{block}.{name}" if block else name


def iteration(path: str, index: int) -> str:
    """Return the path of an iteration of the step at `path`."""
    return f"{path}[{index}]"


def iterated(path: str) -> tuple[str, int] | None:
    """Return what is repeated and the number of the iteration, where `path` is that of an iteration."""
    if not path.endswith("]"):
        return None
    holder, _, index = path[:-1].rpartition("[")
    return holder, int(index)


def indexes(path: str) -> tuple[int, ...]:
    """Return the numbers of the iterations in which a step stands, the outermost first."""
    return tuple(map(int, _INDEX.findall(path))) if "[" in path else ()


def near(address: str, path: str) -> str:
    """Return the path of the node at `address` as it is seen from a step in one of the blocks around it."""
    depth = address.count(".")
    return ".".join([*path.split(".")[:depth], id_of(address)])


def around(path: str) -> list[str]:
    """Return the steps in which a step stands, the nearest first: `a.b[1].c` stands in `a.b[1]`, `a.b` and `a`."""
    found = []
    while path:
        path = holder[0] if (holder := iterated(path)) else block_of(path)
        if path:
            found.append(path)
    return found


class ParamsError(Exception):
    """A step's resolved params do not fit the declared schema, or cannot be kept."""


class ResultError(ParamsError):
    """What the other side gave as a result does not fit the declared schema, or cannot be kept."""


class ErrorClass(StrEnum):
    """Where it went wrong."""

    DEFINITION = "definition"  # the definition, or what is installed, cannot do it
    EXPRESSION = "expression"  # an expression, or the params that it gave
    TRANSPORT = "transport"  # the other side, or the way there
    TIMEOUT = "timeout"  # nobody answered, or nothing was done, in time
    AUTHORIZATION = "authorization"  # policy, people or the other side do not let us
    CONSISTENCY = "consistency"  # the engine's own rules: two wanted what only one may


class ErrorCode(StrEnum):
    """What went wrong; stable, since runbooks and evidence name it. Each belongs to one class."""

    DEFINITION = "definition"
    EXPRESSION = "expression"
    COST = "cost"  # it would take more steps, or memory, than an expression may
    PARAMS = "params"  # they do not fit the verb's schema
    UNRECORDABLE = "unrecordable"  # they cannot be put on record
    REFUSED = "refused"  # a plain no, and nothing was done
    NOT_TAKEN = "not_taken"  # the request never got there
    UNAVAILABLE = "unavailable"  # nothing was done; later it may work
    BLOCKED = "blocked"  # somebody has to mend something first
    OUTCOME_UNKNOWN = "outcome_unknown"  # it may or may not have happened
    RESULT = "result"  # it does not fit the verb's schema
    FAILED = "failed"  # the other side says that it could not do it
    UNEXPECTED = "unexpected"  # a handler raised what it should not
    NO_ANSWER = "no_answer"  # to a request, or until the wait's deadline
    EXPIRED = "expired"  # nobody decided in time; expiry is never consent
    NOT_BEGUN = "not_begun"  # until the effect's deadline
    SLA = "sla"  # the run's time is over
    DENIED = "denied"  # by policy
    BUDGET = "budget"  # too little is left of one
    REJECTED = "rejected"  # by people
    CHANGES_REQUESTED = "changes_requested"  # by people: rejected, since something should be otherwise
    NO_POLICY = "no_policy"  # policy gave no usable answer
    UNAUTHENTICATED = "unauthenticated"  # the other side does not know us (401)
    FORBIDDEN = "forbidden"  # the other side does not let us (403)
    ILLEGAL_TRANSITION = "illegal_transition"
    LEASE_LOST = "lease_lost"
    KEY_IN_USE = "key_in_use"


_CODES: Mapping[ErrorClass, tuple[ErrorCode, ...]] = {
    ErrorClass.DEFINITION: (ErrorCode.DEFINITION,),
    ErrorClass.EXPRESSION: (ErrorCode.EXPRESSION, ErrorCode.COST, ErrorCode.PARAMS, ErrorCode.UNRECORDABLE),
    ErrorClass.TRANSPORT: (
        ErrorCode.REFUSED,
        ErrorCode.NOT_TAKEN,
        ErrorCode.UNAVAILABLE,
        ErrorCode.BLOCKED,
        ErrorCode.OUTCOME_UNKNOWN,
        ErrorCode.RESULT,
        ErrorCode.FAILED,
        ErrorCode.UNEXPECTED,
    ),
    ErrorClass.TIMEOUT: (ErrorCode.NO_ANSWER, ErrorCode.EXPIRED, ErrorCode.NOT_BEGUN, ErrorCode.SLA),
    ErrorClass.AUTHORIZATION: (
        ErrorCode.DENIED,
        ErrorCode.BUDGET,
        ErrorCode.REJECTED,
        ErrorCode.CHANGES_REQUESTED,
        ErrorCode.NO_POLICY,
        ErrorCode.UNAUTHENTICATED,
        ErrorCode.FORBIDDEN,
    ),
    ErrorClass.CONSISTENCY: (ErrorCode.ILLEGAL_TRANSITION, ErrorCode.LEASE_LOST, ErrorCode.KEY_IN_USE),
}
CLASS_OF: Mapping[ErrorCode, ErrorClass] = {code: each for each, codes in _CODES.items() for code in codes}
"""The one class to which each code belongs."""


def class_of(code: str) -> str:
    """Return the class of a code as it is stored, "" for none."""
    return str(CLASS_OF[ErrorCode(code)]) if code else ""


@dataclass(frozen=True)
class StepError:
    """Why a step failed: a code, and a sentence for people, which may quote what the other side said."""

    code: ErrorCode
    message: str

    @property
    def error_class(self) -> ErrorClass:
        """Return the class of its code."""
        return CLASS_OF[self.code]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "StepError":
        """Read a stored error; raise ValueError where class and code do not go together."""
        error = cls(ErrorCode(document["code"]), document["message"])
        if document["class"] != error.error_class:
            raise ValueError(f"{error.code} is an error of {error.error_class}, not of {document['class']}")
        return error

    def document(self) -> dict[str, str]:
        """Return it as it is stored and as a runbook sees it, but for its step."""
        return {"class": str(self.error_class), "code": str(self.code), "message": self.message}

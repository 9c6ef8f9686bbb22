"""Errors of steps: which error code an exception of handlers, the gate and the planner means. Pure."""

from policy.contract import PolicyUnavailableError
from receipts.errors import ReceiptsError
from runtime.definitions.cel.outcomes import ExpressionError, TooCostlyError
from runtime.definitions.problems import DefinitionError
from runtime.handlers import (
    BlockedError,
    HandlerError,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.model.effect import KeyInUseError, LeaseLostError
from runtime.model.states import IllegalTransitionError
from runtime.model.steps import ErrorCode, ParamsError, ResultError, StepError

_CODES: tuple[tuple[type[Exception], ErrorCode], ...] = (
    (NotTakenError, ErrorCode.NOT_TAKEN),
    (TransientError, ErrorCode.UNAVAILABLE),
    (BlockedError, ErrorCode.BLOCKED),
    (RefusedError, ErrorCode.REFUSED),
    (OutcomeUnknownError, ErrorCode.OUTCOME_UNKNOWN),
    (TimeoutError, ErrorCode.NO_ANSWER),
    (ResultError, ErrorCode.RESULT),
    (ParamsError, ErrorCode.PARAMS),
    (TooCostlyError, ErrorCode.COST),
    (ExpressionError, ErrorCode.EXPRESSION),
    (DefinitionError, ErrorCode.DEFINITION),
    (ReceiptsError, ErrorCode.UNRECORDABLE),
    (PolicyUnavailableError, ErrorCode.NO_POLICY),
    (IllegalTransitionError, ErrorCode.ILLEGAL_TRANSITION),
    (LeaseLostError, ErrorCode.LEASE_LOST),
    (KeyInUseError, ErrorCode.KEY_IN_USE),
)
"""The first that fits counts: the narrower stand before the wider."""
_SAID = {401: ErrorCode.UNAUTHENTICATED, 403: ErrorCode.FORBIDDEN}
"""What a plain no means where the handler tells its HTTP status."""
_OWN_WORDS = (HandlerError, ParamsError, DefinitionError, ReceiptsError, PolicyUnavailableError)
"""What says by itself what is wrong, in words that people understand."""


def step_error(error: Exception) -> StepError:
    """Return what an exception means for its step. Its message is not cleaned: it may quote what nobody may see."""
    return StepError(_code(error), describe(error))


def describe(error: Exception) -> str:
    """Return what an error says, uncleaned."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) if isinstance(error, _OWN_WORDS) else f"{type(error).__name__}: {error}"


def _code(error: Exception) -> ErrorCode:
    if isinstance(error, RefusedError | BlockedError) and error.metadata and error.metadata.status in _SAID:
        return _SAID[error.metadata.status]
    return next((code for kind, code in _CODES if isinstance(error, kind)), ErrorCode.UNEXPECTED)

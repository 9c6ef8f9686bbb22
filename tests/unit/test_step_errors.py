"""The six classes of a step's errors, and which of them each exception is."""

import pytest

from policy.contract import PolicyUnavailableError
from receipts.canonical import CanonicalError
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.problems import DefinitionError, InvalidDefinitionsError
from runtime.handlers import (
    BlockedError,
    HandlerError,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.model.effect import KeyInUseError, LeaseLostError
from runtime.model.states import IllegalTransitionError
from runtime.model.steps import CLASS_OF, ErrorClass, ErrorCode, ParamsError, ResultError, StepError
from runtime.planning.step_errors import step_error


def _answered(error: HandlerError, status: int) -> HandlerError:
    error.metadata = Metadata(status=status)
    return error


def test_every_code_belongs_to_one_class_and_every_class_has_one() -> None:
    assert set(CLASS_OF) == set(ErrorCode)
    assert set(CLASS_OF.values()) == set(ErrorClass)


@pytest.mark.parametrize(
    ("raised", "error_class", "code"),
    [
        (DefinitionError("no"), "definition", "definition"),
        (InvalidDefinitionsError([]), "definition", "definition"),
        (ExpressionError("no such key: lei"), "expression", "expression"),
        (ParamsError("params of ask: /lei: too short"), "expression", "params"),
        (CanonicalError("a float of infinite size"), "expression", "unrecordable"),
        (ResultError("result: /lei: too short"), "transport", "result"),
        (RefusedError("unknown client"), "transport", "refused"),
        (_answered(RefusedError("unknown client"), 404), "transport", "refused"),
        (NotTakenError("no connection"), "transport", "not_taken"),
        (TransientError("busy"), "transport", "unavailable"),
        (BlockedError("the bot is not in the channel"), "transport", "blocked"),
        (OutcomeUnknownError("reset"), "transport", "outcome_unknown"),
        (KeyError("lei"), "transport", "unexpected"),
        (TimeoutError(), "timeout", "no_answer"),
        (_answered(BlockedError("bad token"), 401), "authorization", "unauthenticated"),
        (_answered(RefusedError("not yours"), 403), "authorization", "forbidden"),
        (PolicyUnavailableError("late"), "authorization", "no_policy"),
        (IllegalTransitionError("no"), "consistency", "illegal_transition"),
        (LeaseLostError("eff_1"), "consistency", "lease_lost"),
        (KeyInUseError("k"), "consistency", "key_in_use"),
    ],
)
def test_an_exception_is_an_error_of_one_class(raised: Exception, error_class: str, code: str) -> None:
    error = step_error(raised)
    assert (error.error_class, error.code) == (error_class, code)


def test_what_the_other_side_said_in_passing_is_no_refusal_of_ours() -> None:
    assert step_error(_answered(TransientError("busy"), 403)).code is ErrorCode.UNAVAILABLE


def test_an_error_of_the_house_speaks_for_itself_and_another_is_named() -> None:
    assert step_error(RefusedError("unknown client")).message == "unknown client"
    assert step_error(ParamsError("params of ask: /lei: too short")).message == "params of ask: /lei: too short"
    assert step_error(TimeoutError()).message == "no answer in time"
    assert step_error(KeyError("lei")).message == "KeyError: 'lei'"


@pytest.mark.parametrize("code", list(ErrorCode))
def test_an_error_is_stored_with_its_class_and_read_as_it_was(code: ErrorCode) -> None:
    error = StepError(code, "why")
    assert error.document() == {"class": str(CLASS_OF[code]), "code": str(code), "message": "why"}
    assert StepError.of(error.document()) == error


def test_a_class_to_which_the_code_does_not_belong_is_refused() -> None:
    with pytest.raises(ValueError, match="rejected is an error of authorization, not of timeout"):
        StepError.of({"class": "timeout", "code": "rejected", "message": ""})

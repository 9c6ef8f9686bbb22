"""Who edited what is asked for does not sign it unless policy says so: an answer that leaves that open is none."""

from policy.model import Answer, PolicyUnavailableError, Question


def expect_apart(question: Question, answer: Answer) -> None:
    """Raise PolicyUnavailableError where people are asked, and nothing keeps who edited the effect from signing it."""
    asked, edited = answer.requirement, question.edited
    if asked is None or edited is None or asked.editors_may_sign:
        return
    if left := sorted(set(edited.by).difference(asked.exclude)):
        raise PolicyUnavailableError(f"requirement.exclude: {', '.join(left)} edited it, and may not sign it")

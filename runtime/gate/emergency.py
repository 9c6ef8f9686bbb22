"""Rollback of the policy: the previous version is asked, by its own rules, break-glass among them.

So a policy that denies everything locks nobody out. It holds for every effect of a rollback's run, cards too.
"""

from collections.abc import Sequence

from policy.contract import PolicyUnavailableError, Question, Verdict
from runtime.engine import Engine
from runtime.named_people import asked_with_names
from runtime.store import policy_versions


async def ask_version_before(engine: Engine, question: Question) -> Verdict:
    """Return the verdict of the previous version; raise PolicyUnavailableError.

    The policy in force is asked where there is none before it, and once the run has done its rollback.
    """
    async with engine.pool.connection() as conn:
        there = await policy_versions.in_force(conn)
        is_done = await policy_versions.is_activated_by(conn, question.run.id)
        before = None if there is None or is_done else there.before
        text = None if before is None else await policy_versions.text_of(conn, before)
    if there is None or text is None:
        return await engine.ask(question)

    async def ask(questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        return [await engine.unserved.ask(text, one) for one in questions]

    (verdict,) = await asked_with_names(engine.pool, ask, [question], await ask([question]))
    if isinstance(verdict, PolicyUnavailableError):
        raise verdict
    return verdict.model_copy(update={"in_force": there.version})

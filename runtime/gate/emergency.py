"""Rollback of the policy: the previous version is asked, by its own rules, break-glass among them.

So a policy that denies everything locks nobody out. It holds for every effect of a rollback's run, cards too.
"""

from policy.contract import Question, Verdict
from runtime.engine import Engine
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
    verdict = await engine.unserved.ask(text, question)
    return verdict.model_copy(update={"in_force": there.version})

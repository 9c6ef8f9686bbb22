"""What people say in the console, without a browser."""

from collections.abc import Sequence
from uuid import uuid4

from runtime.model.console import ConsoleRole
from runtime.services.clicks import ClickOutcome
from runtime.services.console_acts import ActForm, ActName, ActOutcome, ConsoleActs, Subject
from runtime.services.console_requests import ConsoleRequests, RequestForm, Said, SignHere
from runtime.services.console_sessions import ConsoleViewer
from tests.bench import TENANT, Bench
from tests.integration.console_stage import ISSUER


def officer(person: str, subject: str = "") -> ConsoleViewer:
    """Return somebody who may answer in the console, by an account of their own unless another is named."""
    roles = frozenset({ConsoleRole.OFFICER})
    return ConsoleViewer(f"ses_{person}", person, person.title(), roles, ISSUER, subject or f"s-{person}")


async def say_in_console(
    bench: Bench,
    viewer: ConsoleViewer,
    approval_id: str,
    says: str = "approve",
    reason: str = "read on the page",
    key: str = "",
) -> ClickOutcome | SignHere:
    """Open a request's page, and send its form, whose key is another each time unless one is given."""
    desk = ConsoleRequests(bench.engine, TENANT)
    page = await desk.page(approval_id, viewer)
    assert page
    form = RequestForm(approval_id, Said(says), reason, page.view.stamp, page.shown, key or uuid4().hex)
    found = await desk.send(form, viewer)
    assert found
    return found


async def answer_in_console(
    bench: Bench, person: str, approval_id: str, says: str = "approve", reason: str = "read on the page"
) -> ClickOutcome:
    """Answer a request in the console; return what became of it."""
    found = await say_in_console(bench, officer(person), approval_id, says, reason)
    assert isinstance(found, ClickOutcome)
    return found


async def cancel_in_console(bench: Bench, runs: Sequence[str], key: str) -> list[ActOutcome]:
    """Have Omar cancel runs by one form."""
    omar = ConsoleViewer("ses_omar", "omar", "Omar", frozenset({ConsoleRole.OPERATOR}), ISSUER, "s-omar")
    form = ActForm(ActName.CANCEL, "not needed", key)
    return await ConsoleActs(bench.engine, TENANT).do_many(form, [Subject(run) for run in runs], omar)

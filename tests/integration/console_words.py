"""What people say in the console, without a browser."""

from uuid import uuid4

from runtime.model.console import ConsoleRole
from runtime.services.clicks import ClickOutcome
from runtime.services.console_requests import ConsoleRequests, RequestForm, Said, SignHere
from runtime.services.console_sessions import ConsoleViewer
from tests.bench import TENANT, Bench

ISSUER = "https://id.example"


def officer(person: str, subject: str = "") -> ConsoleViewer:
    """Return somebody who may answer in the console, by an account of their own unless another is named."""
    roles = frozenset({ConsoleRole.OFFICER})
    return ConsoleViewer(f"ses_{person}", person, person.title(), roles, ISSUER, subject or f"s-{person}")


async def say_in_console(
    bench: Bench, viewer: ConsoleViewer, approval_id: str, says: str = "approve", reason: str = "read on the page"
) -> ClickOutcome | SignHere:
    """Open a request's page, and send its form."""
    desk = ConsoleRequests(bench.engine, TENANT)
    page = await desk.page(approval_id, viewer)
    assert page
    form = RequestForm(approval_id, Said(says), reason, page.view.stamp, page.shown, uuid4().hex)
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

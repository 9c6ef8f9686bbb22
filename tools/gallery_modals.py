"""Modals and pages for the gallery.

Modals are those of requests, forms and metrics. Pages are those that a browser shows outside Slack: where one signs,
installs, or follows a link.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.listeners.oauth import NO_LINK, installed, reason, refused
from bot.views.cancel_undo import cancel_modal, undo_modal
from bot.views.delegation import delegation_modal
from bot.views.details import details_modal
from bot.views.edits import edit_modal
from bot.views.forms import chooser_modal, fields_of, form_modal
from bot.views.metrics import metrics_modal
from bot.views.more_menu import ASK, CHANGES, HAND, WITHDRAW, reply_modal, written_act_modal
from bot.views.step_repair import repair_modal
from bot.views.vote_modals import break_glass_modal, reason_modal, signing_modal
from bot.views.wording import headline
from edge.links import LinkPage
from edge.passkeys import page_of
from runtime.model.metrics import GroupMetrics, Metrics, PersonMetrics, Spread
from runtime.model.run import RepairAction
from runtime.model.undo import Item, Standing
from runtime.model.votes import VoteVerdict
from runtime.services.compensation import UndoView
from runtime.services.editing import EditForm
from runtime.services.passkey_ceremonies import Ceremony, Closed, Page, RegistrationPage, SigningPage
from runtime.services.request_actions import CancelView
from runtime.services.requests import Form
from runtime.services.step_repair import StepRepairView
from tools.samples import ASKED, NOW, QUESTION, SAMPLES

_LINK = "https://countersign.example/passkeys/8Fq2"
_TRIGGER = {
    "required": ["client", "reason", "copies", "until"],
    "properties": {
        "client": {"type": "string", "title": "Client", "description": "As the register has it."},
        "reason": {"type": "string", "maxLength": 2000, "description": "What the client needs it for."},
        "copies": {"type": "integer"},
        "until": {"type": "string", "format": "date"},
        "urgent": {"type": "boolean"},
    },
}
_EDITED = {
    "required": ["priority", "assignment_group", "until"],
    "properties": {
        "priority": {"type": "integer"},
        "assignment_group": {"enum": ["Network", "Service Desk", "Hardware"]},
        "until": {"type": "string", "format": "date"},
        "note": {"type": "string"},
    },
}
_PRESENT = {"priority": 2, "assignment_group": "Network", "until": "2027-03-31", "note": "The tunnel in Oslo."}
FORM = Form("certificate", 3, "Register extract", "Ask for certified copies of an extract.", "people.form", _TRIGGER)
FAULTY = "request-form-faults"
FILLED = {"Client": "Halvorsen Seefracht GmbH", "Reason": "A tender in Bergen.", "Copies": "few", "Until": "2026-01-31"}
"""What is entered into this form by the labels of its fields, and what is wrong with it by their names."""
FAULTS = {"copies": "Please give a whole number, such as 3.", "until": "Please choose a day that is yet to come."}


def modals() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each modal by its name."""
    asked, urgent = SAMPLES["pending"], SAMPLES["break-glass-allowed"]
    yield "show-all", details_modal(SAMPLES["half-signed"], 0)
    yield "approve-form", reason_modal(asked, VoteVerdict.APPROVE, None)
    yield "reject-form", reason_modal(asked, VoteVerdict.REJECT, None)
    yield "review-form", reason_modal(SAMPLES["break-glass-review"], VoteVerdict.REJECT, None)
    yield "to-sign-link", signing_modal(asked, _LINK)
    yield "to-sign-alone", signing_modal(asked, _LINK, uses_break_glass=True)
    yield "break-glass-form", break_glass_modal(urgent, None, left=2, over=False)
    for name, saying in (("ask", ASK), ("changes", CHANGES), ("withdraw", WITHDRAW), ("hand", HAND)):
        yield f"{name}-form", written_act_modal(saying, asked, None, over=False)
    yield "reply-form", reply_modal(asked, QUESTION, None)
    edits = EditForm(asked.approval_id, asked.stamp, "Incident triage (INC0010001)", _EDITED, _PRESENT)
    yield "edit-form", edit_modal(edits, headline(asked), asked.digest[:16], None, over=False)
    canceled = CancelView(asked.run_id, "Incident triage (incident-triage v2)", "INC0010001")
    yield "cancel-form", cancel_modal(canceled, None, over=False)
    yield "undo-form", undo_modal(_undo(), None)
    view = StepRepairView(asked.run_id, "labels", 3, "Incident triage (INC0010001)", "answered 403", "refused")
    yield "repair-form", repair_modal(view, RepairAction.SUPPLY, None)
    yield "delegate-form", delegation_modal(["desk-leads", "heads"], None, NOW)
    yield "request-choose", chooser_modal([FORM], None)
    for name in ("request-form", FAULTY):
        yield name, form_modal(FORM, fields_of(_TRIGGER)[0], None)
    yield "metrics", metrics_modal(_metrics())


def _undo() -> UndoView:
    moved = Item("assignment", "servicenow::assign", ASKED.target, Standing.POSSIBLE, "", by="restore_assignment")
    told = Item("mail", "mail::send", "rita@meridian.example", Standing.IRREVERSIBLE, "a mail that was sent stays sent")
    return UndoView("apr-1", ASKED.run_id, "assignment", (moved, told))


def _metrics() -> Metrics:
    soon, late, none = Spread(240, 5400), Spread(3000, 93_600), Spread(None, None)
    leads = GroupMetrics("desk-leads", "medium", 41, 30, 4, 2, 1, 4, 1, soon, late, 9, 2, 0)
    heads = GroupMetrics("heads", "high", 3, 1, 0, 0, 0, 2, 0, soon, none, 1, 1, 1)
    people = [PersonMetrics("anna", "Anna Berg", ("desk-leads",), 4, 22, 17, 2, late)]
    return Metrics(NOW - timedelta(days=30), NOW, [leads, heads], people)


_CEREMONY = Ceremony("Y2hhbGxlbmdl", "countersign.example", ("a2V5",))


def pages() -> Iterator[tuple[str, bytes]]:
    """Yield each page by its name."""
    until = NOW + timedelta(minutes=5)
    signing = SigningPage(SAMPLES["to-sign"], "Anna Berg", "It is the tunnel again.", "", until, _CEREMONY)
    alone = replace(signing, view=SAMPLES["break-glass-allowed"], reason="The tunnel is down.", ticket="INC0010001")
    unknown = replace(signing, ceremony=replace(_CEREMONY, credential_ids=()))
    registration = RegistrationPage("anna", "Anna Berg", "Olga Kern", until, replace(_CEREMONY, credential_ids=()))
    shown: dict[str, Page | Closed] = {
        "passkey": signing,
        "passkey-break-glass": alone,
        "passkey-none": unknown,
        "passkey-new": registration,
        "passkey-expired": Closed.EXPIRED,
        "passkey-opened": Closed.USED,
    }
    for name, page in shown.items():
        yield name, bytes(page_of(page).body)
    yield "link-page", bytes(LinkPage("A0APP").response().body)
    yield "installed", installed("Meridian Bank").body.encode()
    yield "install-refused", refused(200, reason("access_denied")).body.encode()
    yield "install-expired", refused(403, NO_LINK).body.encode()

"""The pages that a browser shows outside Slack, for the gallery: where one signs, installs, or follows a link."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from bot.listeners.installation_pages import NO_LINK, installed, reason, refused
from edge.routes.link_page import LinkPage
from edge.routes.passkey_pages import page_of
from runtime.services.passkeys_model import Ceremony, Closed, Page, RegistrationPage, SigningPage
from tools.samples import NOW, SAMPLES

_CEREMONY = Ceremony("Y2hhbGxlbmdl", "countersign.example", ("a2V5",))


def pages() -> Iterator[tuple[str, bytes]]:
    """Yield each page by its name."""
    until = NOW + timedelta(minutes=5)
    signing = SigningPage(SAMPLES["to-sign"], "Anna Berg", "It is the tunnel again.", "", until, _CEREMONY)
    alone = replace(signing, view=SAMPLES["glass"], reason="The tunnel is down.", ticket="INC0010001")
    unknown = replace(signing, ceremony=replace(_CEREMONY, credential_ids=()))
    registration = RegistrationPage("anna", "Anna Berg", "Olga Kern", until, replace(_CEREMONY, credential_ids=()))
    shown: dict[str, Page | Closed] = {
        "passkey": signing,
        "passkey-glass": alone,
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

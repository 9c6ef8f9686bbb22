"""Notifications: each kind of payload has what applies it, and that takes what is recorded of the kind."""

from typing import get_args, get_type_hints

import pytest

from runtime.inbox import inbox
from runtime.model.notification import Payload
from runtime.model.payloads import PayloadModel

KINDS: dict[str, type[PayloadModel]] = {form.model_fields["kind"].default: form for form in get_args(Payload)}


def test_every_kind_is_applied_and_no_other() -> None:
    assert inbox.APPLY.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_what_applies_a_kind_takes_its_payload(kind: str) -> None:
    _, taken, *_ = get_type_hints(inbox.APPLY[kind]).values()
    assert KINDS[kind] in (get_args(taken) or (taken,))

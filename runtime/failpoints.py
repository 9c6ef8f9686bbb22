"""Named points at which a test ends or stalls the process, to show that nothing is lost there. Off, they do nothing.

No setting arms them: only a program of the tests, which runs ours, hangs a hook in.
"""

from collections.abc import Callable
from enum import StrEnum


class Point(StrEnum):
    """Every commit (`…ing` stands before it, `…ed` after it) and every call to the outside."""

    TRIGGER_CLAIMING = "trigger.claiming"
    TRIGGER_CLAIMED = "trigger.claimed"
    RUN_STARTING = "run.starting"
    RUN_STARTED = "run.started"
    EFFECT_LEASED = "effect.leased"
    POLICY_ASKING = "policy.asking"
    POLICY_ANSWERED = "policy.answered"
    POLICY_TEXT_KEPT = "policy.text_kept"
    POLICY_ACTIVATING = "policy.activating"
    POLICY_ACTIVATED = "policy.activated"
    EFFECT_DENYING = "effect.denying"
    EFFECT_DENIED = "effect.denied"
    EFFECT_DEFERRING = "effect.deferring"
    EFFECT_DEFERRED = "effect.deferred"
    EFFECT_POSTPONED = "effect.postponed"
    ATTEMPT_BEGINNING = "attempt.beginning"
    ATTEMPT_BEGUN = "attempt.begun"
    CONNECTOR_CALLING = "connector.calling"
    CONNECTOR_CALLED = "connector.called"
    ATTEMPT_ENDING = "attempt.ending"
    ATTEMPT_ENDED = "attempt.ended"
    LOOKING_BACK = "doubt.looking_back"
    LOOKED_BACK = "doubt.looked_back"
    READ_LEASED = "read.leased"
    READ_CALLING = "read.calling"
    READ_CALLED = "read.called"
    READ_ENDING = "read.ending"
    READ_ENDED = "read.ended"
    RECLAIMING = "effect.reclaiming"
    RECLAIMED = "effect.reclaimed"
    NOTIFICATION_RECORDING = "notification.recording"
    NOTIFICATION_RECORDED = "notification.recorded"
    NOTIFICATION_CLAIMED = "notification.claimed"
    NOTIFICATION_APPLYING = "notification.applying"
    NOTIFICATION_APPLIED = "notification.applied"
    CARD_POSTING = "card.posting"
    CARD_POSTED = "card.posted"
    CARD_REMEMBERING = "card.remembering"
    CARD_REMEMBERED = "card.remembered"
    LOG_SEQUENCING = "log.sequencing"
    LOG_SEQUENCED = "log.sequenced"
    LOG_SIGNING = "log.signing"
    LOG_SIGNED = "log.signed"
    LOG_PUBLISHED = "log.published"
    BUNDLE_BEGINNING = "bundle.beginning"
    BUNDLE_BEGUN = "bundle.begun"
    BUNDLE_FORGETTING = "bundle.forgetting"
    BUNDLE_FORGOT = "bundle.forgot"
    ARCHIVE_PUTTING = "archive.putting"
    ARCHIVE_PUT = "archive.put"
    BUNDLE_STORING = "bundle.storing"
    BUNDLE_STORED = "bundle.stored"
    BUNDLE_FAILED = "bundle.failed"


Hook = Callable[[Point], None]

_hooks: list[Hook] = []


def at(point: Point) -> None:
    """Tell whoever listens that the process is here."""
    for hook in _hooks:
        hook(point)


def arm(hook: Hook) -> None:
    """Have the hook called at every point from now on."""
    _hooks.append(hook)

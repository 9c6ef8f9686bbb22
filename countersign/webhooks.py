"""The subscriptions that the settings name: what the runtime tells, and where it goes."""

from countersign.settings import Settings
from countersign.subscriptions import SubscriptionEntry, SubscriptionsFile, read_subscriptions
from edge.courier import Receiver
from edge.webhook_signing import secret_of
from runtime.model.subscription import Subscription


def make_subscriptions(settings: Settings) -> tuple[tuple[Subscription, ...], dict[str, Receiver]]:
    """Return the subscriptions with their receivers; raise SubscriptionsError over any fault in the file."""
    entries = load_subscriptions(settings).subscriptions
    receivers = {entry.name: _receiver(settings, entry) for entry in entries}
    return tuple(entry.of_runtime() for entry in entries), receivers


def load_subscriptions(settings: Settings) -> SubscriptionsFile:
    """Return what the tenant's file says, or raise SubscriptionsError; nothing where there is no file."""
    if settings.subscriptions is None:
        return SubscriptionsFile()
    return read_subscriptions(settings.subscriptions, settings.webhook_secrets)


def _receiver(settings: Settings, entry: SubscriptionEntry) -> Receiver:
    secrets = (settings.webhook_secrets[name].get_secret_value() for name in entry.secret)
    return Receiver(entry.to, tuple(map(secret_of, secrets)), entry.inside)

"""By which names a new try of a held step goes: another effect, under the key of the first unless that was answered.

The key stays where nothing was done under it, so nothing is done twice: what failed, or what people say did not happen,
gives its key back. It stays where it was done and gave a wrong result, too: the gate then returns that result, and
acts no second time. A durable verb whose request was made, and whose answer did not come or was a failure, is asked
again: that is another request, under a key of its own. Pure.
"""

from dataclasses import replace

from runtime.definitions.model import Kind
from runtime.model.run import Tried
from runtime.planning.values import Proposal


def renamed(proposal: Proposal, tried: Tried) -> Proposal:
    """Return what a step wants that has wanted something before."""
    nth, key = tried.effects + 1, proposal.idempotency_key
    asked = tried.done and proposal.verb.kind is Kind.DURABLE
    return replace(proposal, nth=nth, idempotency_key=f"{key}#{nth}" if asked else key)

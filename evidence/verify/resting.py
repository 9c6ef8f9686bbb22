"""Acts of the tenant on which votes rest: passkeys were registered by them, and delegations recorded."""

from collections.abc import Iterator, Sequence

from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts
from receipts.chain import Leaf, is_sound
from receipts.tenant_acts import chain_of


def acts_of_votes(facts: Facts) -> Iterator[tuple[str, Leaf]]:
    """Give each act on which a vote rests, with the member that has it."""
    for approval in facts.approvals.values():
        for vote in approval.votes:
            for rests_on in (vote.record.passkey, vote.record.delegation):
                for leaf in rests_on.acts if rests_on else ():
                    yield approval.name, leaf


def demand_of_tenant(facts: Facts, name: str, whose: str, acts: Sequence[Leaf]) -> None:
    """Raise unless each act gives its hash and is one of the tenant's chain."""
    for leaf in acts:
        if not is_sound(leaf) or leaf.run_id != chain_of(facts.contents.run.tenant):
            raise BrokenError(name, f"{whose}: leaf {leaf.seq} is not one of the tenant's chain")

"""What people are asked and what they say: approvals, requirements, votes, delegations."""

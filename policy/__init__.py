"""The question put to policy, the answer parsed strictly, and the OPA client that carries both."""

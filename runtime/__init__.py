"""Durable runs: definitions, the pure planner, the one gate, the inbox and the outbox, and the store."""

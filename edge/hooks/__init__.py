"""Outgoing webhooks: signed, and sent to nowhere that they are not meant for."""

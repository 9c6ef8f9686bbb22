"""HTTP for callers: the server with its limits, messages, signatures, problems; and webhooks that are sent out."""

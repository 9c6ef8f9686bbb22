"""HTTP for callers: the server with its limits, one file for each resource, signatures; webhooks that are sent out."""

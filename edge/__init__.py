"""HTTP for callers: routes, messages, signing, problems."""

"""What to do about the cause of an error, whichever check met it."""

import re

_CAUSES = (
    (
        r"unsupported startup parameter",
        "Set COUNTERSIGN_DATABASE_POOLER=transaction: COUNTERSIGN_DATABASE_URL leads to a pooler, such as PgBouncer.",
    ),
    (
        r"authentication failed|no password supplied|role \".*\" does not exist|no such user",
        "Set COUNTERSIGN_DATABASE_URL to a user and password that PostgreSQL accepts.",
    ),
    (
        r"FATAL:.*database \".*\" does not exist|no such database",
        "Create the database, or name another one in COUNTERSIGN_DATABASE_URL.",
    ),
    (
        r"countersign migrate|relation \".*\" does not exist|column \".*\" does not exist",
        "Run `countersign migrate`.",
    ),
    (r"too many (clients|connections)|remaining connection slots", "Lower COUNTERSIGN_DATABASE_CONNECTIONS."),
    (
        r"OPA at .*HTTP status 401",
        "Set COUNTERSIGN_OPA_TOKEN, or COUNTERSIGN_OPA_CERTIFICATE and its key, to what OPA accepts.",
    ),
    (
        r"OPA at .*certificate",
        "Set COUNTERSIGN_OPA_CA to the authority of OPA's certificate, and ours in COUNTERSIGN_OPA_CERTIFICATE.",
    ),
    (
        r"OPA at .*(Cannot connect|no answer within|refused|Disconnected)",
        "Start OPA, or set COUNTERSIGN_OPA_URL to where it runs and COUNTERSIGN_OPA_TIMEOUT to how long it may take.",
    ),
    (r"OPA at ", "Serve the bundle that `python -m policy` builds, as docs/policy.md says."),
    (r"^COUNTERSIGN_\w+\b", "Correct the setting that the message names."),
)


def remedy_of(why: str, otherwise: str) -> str:
    """Return what to do about an error that says `why`; `otherwise` where its cause is not known."""
    return next((remedy for cause, remedy in _CAUSES if re.search(cause, why)), otherwise)

"""Who tests are in the database: a superuser to look and to meddle, and for what is under test the program's login."""

PROGRAM = "test_program"


def as_program(dsn: str) -> str:
    """Return the DSN with a login that has the program's rights and no others."""
    return dsn.replace("//postgres:@", f"//{PROGRAM}:@", 1)

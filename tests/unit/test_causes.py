"""The hint of doctor is that of the cause, in the words in which servers tell it."""

import pytest

from countersign.doctor.diagnosis import remedy_of

OPA = "policy unavailable: OPA at http://opa:8181: "


@pytest.mark.parametrize(
    ("why", "names"),
    [
        ("the database cannot be used: FATAL:  unsupported startup parameter: options", "COUNTERSIGN_DATABASE_POOLER"),
        ('connection failed: FATAL:  password authentication failed for user "u"', "a user and password"),
        ('connection failed: FATAL:  database "countersign" does not exist', "Create the database"),
        ('relation "runs" does not exist', "countersign migrate"),
        ("FATAL:  sorry, too many clients already", "COUNTERSIGN_DATABASE_CONNECTIONS"),
        (f"{OPA}HTTP status 401: it wants a token, or another one", "COUNTERSIGN_OPA_TOKEN"),
        (f"{OPA}Cannot connect to host opa:8181 [SSLCertVerificationError: certificate]", "COUNTERSIGN_OPA_CA"),
        (f"{OPA}no answer within 500 ms", "COUNTERSIGN_OPA_TIMEOUT"),
        (f"{OPA}result: undefined", "python -m policy"),
        ("COUNTERSIGN_SLACK_CHANNEL is not set", "the setting that the message names"),
    ],
)
def test_the_cause_decides_the_hint(why: str, names: str) -> None:
    assert names in remedy_of(why, "something else")


def test_a_cause_that_is_not_known_has_the_hint_of_its_check() -> None:
    assert remedy_of("something odd", "Look at it.") == "Look at it."

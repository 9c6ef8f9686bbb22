"""What was written before the first release is refused in one sentence that names it, and read no further."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evidence.report import ReportError, report_on
from evidence.statement import PAYLOAD_TYPE
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack
from receipts import canonical
from receipts.signing import sign_envelope
from tests.unit.evidence_sample import Office
from tests.unit.test_evidence_verify import signed, unpacked


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def fault(office: Office, path: Path) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(path, office.public)
    return caught.value


EARLIER = [
    ("urn:countersign:evidence-bundle:v1", "this bundle was written before release 0.2.0 (format 1)"),
    ("urn:countersign:evidence-bundle:v2", "this bundle was written before release 0.2.0 (format 2)"),
    ("urn:countersign:evidence-export:v1", "this export was written before release 0.2.0 (format 1)"),
]


@pytest.mark.parametrize(("kind", "says"), EARLIER)
def test_what_was_written_before_the_release_is_named_whatever_it_says(office: Office, kind: str, says: str) -> None:
    """As of a statement of then: with `builder_version`, and the key's id in the envelope in format 1 of bundles."""

    def earlier(statement: dict[str, Any]) -> None:
        statement.update(predicateType=kind)
        statement["predicate"].update(builder_version=kind[-1])

    for path in (signed(office, earlier), signed(office, lambda statement: statement.update(predicateType=kind))):
        error = fault(office, path)
        assert (error.step, error.rule, error.member) == (3, "statement.form", "")
        assert error.what == f"{says}; this program does not read it"
    members = unpacked(office)
    payload = canonical.loads(base64.b64decode(json.loads(members["statement.dsse.json"])["payload"]))
    named = sign_envelope(
        PAYLOAD_TYPE, canonical.dumps(payload | {"predicateType": kind}), office.key, keyid=office.key.public.key_id
    )
    error = fault(office, office.write(pack(members | {"statement.dsse.json": named})))
    assert (error.rule, error.what) == ("statement.form", f"{says}; this program does not read it")


@pytest.mark.parametrize(("kind", "says"), EARLIER[:2])
def test_no_report_is_made_of_an_earlier_bundle_with_a_key_or_without(office: Office, kind: str, says: str) -> None:
    path = signed(office, lambda statement: statement.update(predicateType=kind))
    with pytest.raises(ReportError, match=re.escape(says)):
        report_on(path, None)
    assert says in report_on(path, trust_of(office.public)).page.decode()


def test_a_name_that_quotes_an_earlier_type_is_no_earlier_bundle(office: Office) -> None:
    quoted = '"predicateType":"urn:countersign:evidence-bundle:v2"'
    error = fault(office, signed(office, lambda statement: statement["predicate"].update(tenant=quoted)))
    assert (error.rule, error.member) == ("run.stated", "run.json")

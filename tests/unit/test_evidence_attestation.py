"""Beside a bundle stands a statement about it that the tools of others take."""

import base64
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from evidence.build import MEDIA_TYPE, Sealed, attest, build
from receipts import canonical
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import Office


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


@pytest.fixture
def sealed(office: Office) -> Sealed:
    return build(bound().dossier(), office.key)


def test_it_is_a_sigstore_bundle_whose_subject_is_the_file(office: Office, sealed: Sealed) -> None:
    told = canonical.loads(attest(sealed, "run-1", "acme", office.key))
    assert set(told) == {"mediaType", "verificationMaterial", "dsseEnvelope"}
    assert told["mediaType"] == MEDIA_TYPE
    assert base64.b64decode(told["verificationMaterial"]["publicKey"]["hint"]).hex() == office.key.public.key_id
    statement = canonical.loads(base64.b64decode(told["dsseEnvelope"]["payload"]))
    assert statement["subject"] == [{"name": "run-1.zip", "digest": {"sha256": sealed.sha256}}]


def test_another_librarys_verifier_takes_its_envelope(office: Office, sealed: Sealed) -> None:
    told = canonical.loads(attest(sealed, "run-1", "acme", office.key))
    made = SSlibKey.from_crypto(office.key.public.key)
    key = SSlibKey("", made.keytype, made.scheme, made.keyval)
    assert list(Envelope.from_dict(told["dsseEnvelope"]).verify([key], 1)) == [""]


def test_the_same_bundle_gives_the_same_statement(office: Office, sealed: Sealed) -> None:
    assert attest(sealed, "run-1", "acme", office.key) == attest(sealed, "run-1", "acme", office.key)

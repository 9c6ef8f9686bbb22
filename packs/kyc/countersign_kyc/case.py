"""What an onboarding knows about its client, as the operations of the connector `kyc` hand it on."""

from typing import Literal

from countersign_connector.models import Params, Remote

from countersign_kyc.lei import Lei
from countersign_kyc.register import Officer, Percent


class Entity(Remote):
    """A legal entity as GLEIF describes it."""

    lei: Lei
    legal_name: str
    jurisdiction: str
    status: str
    registration_status: str


class CompanyOfficer(Officer):
    """An officer, and the company they serve."""

    lei: Lei


class Document(Remote):
    """A document that the client gave."""

    type: str
    name: str
    sha256: str


class BeneficialOwner(Params):
    """A person, their share in percent, and why they count: what they own, or that they manage."""

    name: str
    person_id: str
    country: str
    percent: str
    basis: Literal["ownership", "management"]


class Sources(Params):
    """The state of the sources: the day of GLEIF's golden copy."""

    gleif_golden_copy: str


class Gap(Params):
    """What is missing, about whom or what, and a sentence that says so."""

    code: str
    subject: str
    msg: str


class Subsidiary(Params):
    """What a look at a subsidiary gave; `notes` say what could not be looked up, and why."""

    lei: str
    name: str
    voting_percent: str
    entity: Entity | None
    officers: list[CompanyOfficer]
    notes: list[str]


class CompiledData(Params):
    """All that a report about beneficial owners states."""

    subject: Entity
    threshold_percent: Percent
    beneficial_owners: list[BeneficialOwner]
    unresolved_percent: str
    officers: list[CompanyOfficer]
    documents: list[Document]
    sources: Sources

"""The completeness decision of an onboarding: are the beneficial owners known, and if not, what is missing. Pure.

What an onboarding knows about its client stands here, too, as the operations of the connector `kyc` hand it on.
"""

from decimal import Decimal
from typing import Literal

from countersign_connector.models import Params, Remote, read_params

from countersign_kyc.lei import Lei
from countersign_kyc.register import Holder, Officer, Percent
from countersign_kyc.ubo import Owner, Ownership, trace
from runtime.handlers import Call, Handler, JsonObject


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


_SENTENCES = {
    "ownership.circular": "{percent}% of the ownership leads back to {subject} itself",
    "ownership.not_in_register": "{percent}% is held through {subject}, whose owners the register does not list",
    "ownership.remote": "{percent}% is held through {subject} in holdings too thin to follow",
    "ownership.above_100_percent": "{percent}% is held through {subject}, whose shareholdings add up to over 100%",
    "ownership.holder_without_lei": "{percent}% is held through {subject}, which has no LEI",
    "ownership.undisclosed": "{percent}% is held by undisclosed holders of {subject}",
}


class _Parent(Remote):
    entity: Entity | None


class _Hierarchy(Remote):
    root: Entity
    ultimate_parent: _Parent
    golden_copy: str


class _Officers(Remote):
    officers: list[CompanyOfficer]


class _Company(Remote):
    lei: Lei
    holders: list[Holder]


class _Shareholdings(Remote):
    companies: list[_Company]


class _Documents(Remote):
    documents: list[Document]


class EvaluateParams(Params):
    """All that was found out about a client."""

    case_id: str
    threshold_percent: Percent
    required_documents: list[str]
    hierarchy: _Hierarchy
    officers: _Officers
    shareholdings: _Shareholdings
    client_documents: _Documents


def handlers() -> dict[str, Handler]:
    """Return the operation that decides."""

    async def evaluate(call: Call) -> JsonObject:
        return evaluation(read_params(EvaluateParams, call))

    return {"kyc::evaluate_ubo_completeness": Handler(evaluate, writes=False)}


def evaluation(params: EvaluateParams) -> JsonObject:
    """Decide whether the beneficial owners are known; the gaps say what is missing where they are not."""
    root = params.hierarchy.root
    ownership = trace(root.lei, {company.lei: company.holders for company in params.shareholdings.companies})
    gaps = [*_entity_gaps(params), *_ownership_gaps(ownership, params), *_document_gaps(params)]
    compiled = CompiledData(
        subject=root,
        threshold_percent=params.threshold_percent,
        beneficial_owners=_beneficial_owners(ownership, params),
        unresolved_percent=_text(ownership.unresolved_percent),
        officers=_serving(params),
        documents=params.client_documents.documents,
        sources=Sources(gleif_golden_copy=params.hierarchy.golden_copy),
    )
    return {"complete": not gaps, "gaps": gaps, "compiled_data": compiled.model_dump()}


def _entity_gaps(params: EvaluateParams) -> list[JsonObject]:
    root = params.hierarchy.root
    gaps = []
    if root.status != "ACTIVE":
        gaps.append(_gap("entity.not_active", root.lei, f"GLEIF gives the entity's status as {root.status}"))
    if root.registration_status != "ISSUED":
        said = f"GLEIF gives the LEI registration's status as {root.registration_status}"
        gaps.append(_gap("entity.lei_not_current", root.lei, said))
    if not _serving(params):
        gaps.append(_gap("officers.none", root.lei, "The register lists no serving officer"))
    return gaps


def _ownership_gaps(ownership: Ownership, params: EvaluateParams) -> list[JsonObject]:
    """List every broken chain once they could together hide an owner at the threshold, and a parent not met."""
    gaps = []
    if ownership.unresolved_percent >= Decimal(params.threshold_percent):
        for (code, subject), share in sorted(ownership.unresolved.items()):
            gaps.append(_gap(code, subject, _SENTENCES[code].format(percent=_text(share), subject=subject)))
    parent = params.hierarchy.ultimate_parent.entity
    holders = {holder.lei for company in params.shareholdings.companies for holder in company.holders}
    if parent and parent.lei not in holders:
        said = f"GLEIF's ultimate parent {parent.legal_name} is not in the chain of shareholdings"
        gaps.append(_gap("hierarchy.parent_not_in_chain", parent.lei, said))
    return gaps


def _document_gaps(params: EvaluateParams) -> list[JsonObject]:
    given = {document.type for document in params.client_documents.documents}
    missing = [kind for kind in params.required_documents if kind not in given]
    return [_gap("documents.missing", kind, f"The client has not given the document {kind}") for kind in missing]


def _beneficial_owners(ownership: Ownership, params: EvaluateParams) -> list[BeneficialOwner]:
    """Return who reaches the threshold or, where nobody does, the serving officers in their stead."""
    owners = ownership.beneficial(Decimal(params.threshold_percent))
    if owners:
        return [_owner(owner) for owner in owners]
    names = dict.fromkeys(officer.name for officer in _serving(params))
    return [BeneficialOwner(name=name, person_id="", country="", percent="0", basis="management") for name in names]


def _owner(owner: Owner) -> BeneficialOwner:
    return BeneficialOwner(
        name=owner.name,
        person_id=owner.person_id,
        country=owner.country,
        percent=_text(owner.percent),
        basis="ownership",
    )


def _serving(params: EvaluateParams) -> list[CompanyOfficer]:
    root = params.hierarchy.root.lei
    return [officer for officer in params.officers.officers if officer.lei == root and not officer.resigned_on]


def _gap(code: str, subject: str, message: str) -> JsonObject:
    return {"code": code, "subject": subject, "msg": message}


def _text(percent: Decimal) -> str:
    """Write a percentage in plain digits, to four places at most."""
    text = f"{percent:.4f}".rstrip("0").rstrip(".")
    return text or "0"

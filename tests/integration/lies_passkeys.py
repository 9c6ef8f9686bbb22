"""What somebody tells who holds the key of evidence but nobody's passkey, and what passkeys are misused for."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from webauthn.helpers import bytes_to_base64url

from receipts import canonical
from receipts.passkey_records import SignedWords, challenge_of, signed_document
from tests.authenticator import USER_PRESENT, Authenticator
from tests.integration.forger import Bend, Forged, Json, Lie, later, sound
from tests.integration.policies_stage import ALONE, SIGNERS, authenticator

SAM, PAM = SIGNERS["sam"], SIGNERS["pam"]
_RUN, _ALONE = "signed", "signed_alone"


def _vote(forged: Forged, person: str = "sam") -> Json:
    return next(vote for vote in forged.approval()["votes"] if vote["person"] == person)


def _document(forged: Forged, **differing: str) -> Mapping[str, str]:
    """Return what was signed, but for some of it."""
    return {**_plain(forged, _vote(forged)), **differing}


def _plain(forged: Forged, vote: Json) -> dict[str, str]:
    """Return what is signed with a vote that is like any other."""
    approval, requirement = forged.approval(), forged.approval()["requirement"]
    stamp = canonical.digest([approval["digest"], requirement, "requested"])[:16]
    return signed_document(
        approval_id=approval["id"],
        digest=approval["digest"],
        stamp=stamp,
        requirement=requirement,
        verdict="approve",
        nonce=vote["passkey"]["nonce"],
        said=SignedWords(vote["person_name"], vote["reason"]),
    )


def _sam() -> Authenticator:
    return SAM


def _signed(using: Callable[[], Authenticator] = _sam, said: Mapping[str, Any] | None = None, **document: str) -> Bend:
    """Have the vote signed again; `said` are members of the client data, `document` what was signed, told otherwise.

    `using` is asked late: which passkeys signed is known once the runs are there.
    """

    def bend(forged: Forged) -> None:
        challenge = bytes_to_base64url(challenge_of(_document(forged, **document)))
        made = using().sign(challenge, **(said or {})).model_dump(exclude={"nonce"})
        _vote(forged)["passkey"].update(made)

    return bend


def _like_sam(**differing: Any) -> Authenticator:
    """Return an authenticator with the key of sam's that does something else otherwise."""
    made = replace(SAM, **differing)
    made.__dict__["key"] = SAM.key
    return made


def _compressed(forged: Forged) -> None:
    """Have the key been registered with one coordinate alone, from which the other follows."""
    point = SAM.key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    key = bytes.fromhex("3039301306072a8648ce3d020106082a8648ce3d030107032200") + point
    _registered(data={"public_key": bytes_to_base64url(key)})(forged)


def _forger() -> Authenticator:
    """Return an authenticator that says it is sam's, and has another key."""
    return authenticator(credential_id=SAM.credential_id)


def _registered(**changes: Any) -> Bend:
    """Tell something else of the registration, soundly."""

    def bend(forged: Forged) -> None:
        passkey = _vote(forged)["passkey"]
        leaf = {**passkey["acts"][0], **{name: value for name, value in changes.items() if name != "data"}}
        leaf["data"] = {**leaf["data"], **changes.get("data", {})}
        passkey["acts"] = [sound(leaf)]

    return bend


def _registered_later(forged: Forged) -> None:
    _registered(at=later(_vote(forged)["at"], seconds=1))(forged)


def _in_one_place(forged: Forged) -> None:
    """Let two registrations have been one leaf of the tenant's chain."""
    sams, pams = (_vote(forged, person)["passkey"] for person in SIGNERS)
    pams["acts"] = [sound({**pams["acts"][0], "seq": sams["acts"][0]["seq"]})]


def _revoked(forged: Forged) -> None:
    acts = _vote(forged)["passkey"]["acts"]
    data = {name: acts[0]["data"][name] for name in ("credential_id", "person", "reason", "policy")}
    acts.append(sound({**acts[0], "seq": acts[0]["seq"] + 1, "event": "passkey.revoked", "data": data}))


def _told_otherwise(forged: Forged) -> None:
    _vote(forged)["passkey"]["acts"][0]["data"]["invited_by"] = "nobody"


def _foreign(forged: Forged) -> None:
    """Sign with the passkey of somebody else, which is theirs."""
    _vote(forged)["passkey"] = copy.deepcopy(_vote(forged, "pam")["passkey"])
    _signed(lambda: PAM)(forged)


def _of_another(forged: Forged) -> None:
    """Let the passkey of somebody else have been the voter's own, but for its registration."""
    _foreign(forged)
    _vote(forged)["passkey"]["credential_id"] = SAM.id


def _clicked(forged: Forged) -> None:
    """Let the vote be a click that says that it is more."""
    del _vote(forged)["passkey"]
    _vote(forged)["signed_with"] = "passkey"


def _unsigned(forged: Forged) -> None:
    del _vote(forged)["passkey"]
    for decision in forged.decisions.values():
        for vote in decision["input"]["votes"]:
            if vote["person"] == "sam":
                vote.pop("signed_with", None)


def _told_of_a_click(forged: Forged) -> None:
    for decision in forged.decisions.values():
        for vote in decision["input"]["votes"]:
            vote.pop("signed_with", None)


def _asked_for_less(forged: Forged) -> None:
    """Let policy have asked for one signature, of whomever."""
    for requirement in (
        forged.approval()["requirement"],
        *(decision["answer"]["requirement"] for decision in forged.decisions.values()),
    ):
        if requirement:
            requirement["quorum"] = 1


def _by_one_link(forged: Forged) -> None:
    """Let two people have signed by one link."""
    vote = _vote(forged, "pam")
    vote["passkey"]["nonce"] = _vote(forged)["passkey"]["nonce"]
    challenge = bytes_to_base64url(challenge_of(_plain(forged, vote)))
    vote["passkey"].update(PAM.sign(challenge).model_dump(exclude={"nonce"}))


def signed_before(count: int) -> Bend:
    """Return what has sam have signed before, at this count of their authenticator, and have taken that back."""

    def bend(forged: Forged) -> None:
        vote, asked = _vote(forged), forged.leaf("approval.requested")
        counted = forged.leaf("vote.counted", person="sam")
        first = copy.deepcopy(vote) | {"reason": "read at first"}
        first["passkey"]["nonce"] = "0" * 32
        challenge = bytes_to_base64url(challenge_of(_document(forged, nonce="0" * 32, reason=first["reason"])))
        first["passkey"].update(_like_sam(count=count - 1).sign(challenge).model_dump(exclude={"nonce"}))
        forged.approval()["votes"].insert(0, first)
        taken_back = {**copy.deepcopy(counted), "event": "vote.withdrawn"}
        taken_back["data"] = {"approval_id": forged.approval()["id"], "person": "sam", "reason": "read it once more"}
        place = forged.leaves.index(asked) + 1
        forged.leaves[place:place] = [{**copy.deepcopy(counted), "at": asked["at"]}, {**taken_back, "at": asked["at"]}]
        first["at"] = asked["at"]

    return bend


def _signed_alone(**differing: str | None) -> Bend:
    """Have the vote that used break-glass signed anew; what is None was not signed."""

    def bend(forged: Forged) -> None:
        vote = _vote(forged, "ivy")
        said = {**_plain(forged, vote), "break_glass": vote["break_glass"]["ticket"]}
        said = {name: value for name, value in {**said, **differing}.items() if value is not None}
        vote["passkey"].update(ALONE.sign(bytes_to_base64url(challenge_of(said))).model_dump(exclude={"nonce"}))

    return bend


def _clicked_before(forged: Forged) -> None:
    """Let sam have approved with a click before, and have taken that back."""
    signed_before(1)(forged)
    del forged.approval()["votes"][0]["passkey"]


def _untold(forged: Forged) -> None:
    """Let the vote that used break-glass have been like any other."""
    told = [one for decision in forged.decisions.values() for one in decision["input"]["votes"]]
    for vote in (*forged.approval()["votes"], *told, *(leaf["data"] for leaf in forged.all("vote.counted"))):
        vote.pop("break_glass", None)


def _lies(rule: str, run: str = _RUN, **bends: Bend) -> dict[str, Lie]:
    return {name.replace("_", " "): (rule, run, bend) for name, bend in bends.items()}


SIGNED: dict[str, Lie] = {
    **_lies(
        "passkeys.signed",
        forged=_signed(_forger),
        replayed_from_another_approval=_signed(approval_id="apr_other"),
        over_another_action=_signed(digest="0" * 64),
        over_another_state=_signed(stamp="0" * 16),
        over_another_requirement=_asked_for_less,
        to_reject=_signed(verdict="reject"),
        to_break_the_glass=_signed(break_glass="INC-7"),
        for_another_reason=_signed(reason="because"),
        under_another_name=_signed(person_name="Somebody"),
        a_reason_that_was_changed=lambda f: _vote(f).update(reason="seen and not checked"),
        a_printed_name_that_was_changed=lambda f: _vote(f).update(person_name="Somebody"),
        by_another_link=_signed(nonce="00"),
        by_one_link_for_two=_by_one_link,
        on_another_page=_signed(said={"origin": "https://elsewhere.example"}),
        in_a_frame=_signed(said={"crossOrigin": True}),
        in_a_frame_of_another_page=_signed(said={"topOrigin": "https://elsewhere.example"}),
        for_another_party=_signed(lambda: _like_sam(rp_id="elsewhere.example")),
        by_nobody_verified=_signed(lambda: _like_sam(flags=USER_PRESENT)),
        at_a_registration=_signed(said={"type": "webauthn.create"}),
        with_a_key_of_another_kind=_registered(data={"algorithm": -257}),
        registered_for_another_page=_registered(data={"origin": "https://elsewhere.example"}),
        by_a_twin=signed_before(1_000_000),
        with_a_number_that_is_none=_signed(said={"count": float("nan")}),
        nested_without_end=_signed(said={"more": [[] for _ in range(101)]}),
        with_a_key_in_another_spelling=_compressed,
        over_a_list=lambda f: _vote(f)["passkey"].update(client_data="W10"),
        no_signature=lambda f: _vote(f)["passkey"].update(signature="AAAA"),
        no_client_data=lambda f: _vote(f)["passkey"].update(client_data="e30"),
        no_json=lambda f: _vote(f)["passkey"].update(client_data="AAAA"),
        no_authenticator_data=lambda f: _vote(f)["passkey"].update(authenticator_data="AAAA"),
        base64_of_another_spelling=lambda f: _vote(f)["passkey"].update(signature="AB"),
    ),
    **_lies(
        "passkeys.signed",
        _ALONE,
        glass_signed_as_any_approval=_signed_alone(break_glass=None),
        glass_by_another_ticket_than_was_signed=_signed_alone(break_glass="INC-8"),
        glass_for_another_reason_than_was_signed=_signed_alone(reason="because"),
    ),
    **_lies("approvals.consent", _ALONE, broken_glass_told_as_any_approval=_untold),
    **_lies(
        "passkeys.registered",
        foreign=_foreign,
        of_another=_of_another,
        registered_later=_registered_later,
        revoked_before=_revoked,
        told_otherwise=_told_otherwise,
        of_another_tenant=_registered(run_id="tenant_other"),
        registered_by_another=_registered(actor={"id": "pam", "kind": "person"}),
        registered_for_another=_registered(data={"person": "pam"}),
        no_registration=_registered(event="passkey.revoked"),
        in_no_form=_registered(data={"algorithm": -35}),
    ),
    **_lies("passkeys.logged", in_one_place=_in_one_place),
    **_lies("votes.signed", a_click_that_says_more=_clicked, a_click_that_was_taken_back=_clicked_before),
    **_lies("votes.signed", as_policy_is_told=lambda f: _vote(f).update(signed_with="passkey")),
    **_lies("approvals.consent", not_signed=_unsigned),
    **_lies("acts.approved", policy_was_told_of_clicks=_told_of_a_click),
}

GROUPS = {"signed": SIGNED}

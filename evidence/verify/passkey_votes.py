"""Votes that were signed with a passkey. Nothing but the bundle is needed to check one."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from evidence import names
from evidence.log_proofs import check_acts
from evidence.verify.audit_log import checkpoint_of
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts, Requested
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.vote_forms import PasskeyForm, VoteForm
from evidence.verify.votes import acts_of_votes, demand_of_tenant
from receipts import canonical
from receipts.chain import Leaf
from receipts.errors import LogError, ReceiptsError
from receipts.passkey_records import (
    PasskeyRegistered,
    SignedWords,
    challenge_of,
    from_base64url,
    rp_id_of,
    signed_document,
)
from receipts.tenant_acts import act_of

_PRESENT_AND_VERIFIED = 0x05
_FLAGS, _COUNTER, _LEAST = 32, 33, 37
"""Where authenticator data has its flags and its counter, behind the hash of the relying party's id, and its length."""
_MOST_BRACKETS = 100


def _signed(facts: Facts) -> Iterator[tuple[Requested, VoteForm, PasskeyForm]]:
    for approval in facts.approvals.values():
        for vote in approval.votes:
            if vote.record.passkey is not None:
                yield approval, vote.record, vote.record.passkey


@rule(
    "votes.signed",
    "Each vote that approves what had to be signed with a passkey (`sign_with`) has its `passkey`. No vote on an"
    " approval has `signed_with`, which is what policy is told.",
)
def _as_asked(facts: Facts) -> str:
    for approval in facts.approvals.values():
        for vote in (vote.record for vote in approval.votes):
            if vote.signed_with is not None:
                raise BrokenError(approval.name, f"the vote of {vote.person} says `signed_with`")
            if approval.record.requirement.sign_with and vote.verdict == "approve" and vote.passkey is None:
                raise BrokenError(approval.name, f"the vote of {vote.person} is not signed with a passkey")
    return counted(sum(1 for _ in _signed(facts)), "signature")


@rule(
    "passkeys.registered",
    "The first of a passkey's `acts` is the leaf of the tenant's chain with which the person who voted registered it,"
    " before the vote; no act revokes it. Each gives its hash.",
)
def _registered(facts: Facts) -> str:
    for approval, vote, passkey in _signed(facts):
        whose = f"the passkey of {vote.person}"
        demand_of_tenant(facts, approval.name, whose, passkey.acts)
        registered = _registration(approval.name, passkey.acts[0])
        known = (registered.person, passkey.acts[0].actor.id, passkey.acts[0].actor.kind, registered.credential_id)
        if known != (vote.person, vote.person, "person", passkey.credential_id):
            raise BrokenError(approval.name, f"{whose} is not theirs: {registered.person} registered another")
        if passkey.acts[0].at > vote.at:
            raise BrokenError(approval.name, f"{whose} was registered after they had voted")
        if len(passkey.acts) > 1:
            raise BrokenError(approval.name, f"{whose} had been revoked")
    return counted(sum(1 for _ in _signed(facts)), "signature")


def _registration(name: str, leaf: Leaf) -> PasskeyRegistered:
    try:
        act = act_of(leaf)
    except ReceiptsError as error:
        raise BrokenError(name, str(error)) from error
    if not isinstance(act, PasskeyRegistered):
        raise BrokenError(name, f"{leaf.event} registers no passkey")
    return act


@rule(
    "passkeys.signed",
    "The registered key (ES256, EdDSA or RS256, in its one spelling in DER) made the `signature` over"
    " `authenticator_data` and the SHA-256 of `client_data`. That is of type `webauthn.get`, of the origin of the"
    " registration and in no frame of another page (`crossOrigin`, `topOrigin`), and has as challenge the SHA-256"
    " of the canonical form of `approval_id`, `digest`, `stamp` (the first 16 hex digits of the digest of the"
    " approval's digest, requirement and `requested`), `requirement` (its digest), `verdict`, `person_name`, `reason`"
    " and `nonce`; of a vote that uses break-glass, and of no other, with `break_glass` (its ticket). The"
    " authenticator data is of the origin's host, of a user who was present, and verified. No two votes have one"
    " nonce. From vote to vote the counter of a passkey goes on, where it counts at all. `client_data` is JSON with a"
    " hundred brackets at most.",
)
def _signatures(facts: Facts) -> str:
    nonces = set[str]()
    for approval, vote, passkey in _signed(facts):
        registered = _registration(approval.name, passkey.acts[0])
        if passkey.nonce in nonces:
            raise BrokenError(approval.name, f"the signature of {vote.person} was given before, for another vote")
        nonces.add(passkey.nonce)
        try:
            _check(approval, vote, passkey, registered)
        except (ValueError, InvalidSignature, UnsupportedAlgorithm) as error:
            what = str(error) or "the key of their passkey has not made it"
            raise BrokenError(approval.name, f"the signature of {vote.person}: {what}") from error
    _check_counters(facts)
    return counted(sum(1 for _ in _signed(facts)), "signature")


def _check_counters(facts: Facts) -> None:
    """Raise where an authenticator had signed more often before than it says: then there are two of it."""
    signed = [(vote.leaf, vote.record, approval) for approval in facts.approvals.values() for vote in approval.votes]
    counters = dict[str, int]()
    for _, vote, approval in sorted(signed, key=lambda one: one[0].seq):
        if vote.passkey is None:
            continue
        before, data = counters.get(vote.passkey.credential_id, 0), from_base64url(vote.passkey.authenticator_data)
        count = counters[vote.passkey.credential_id] = int.from_bytes(data[_COUNTER:_LEAST], "big")
        if (before or count) and count <= before:
            raise BrokenError(approval.name, f"the signature of {vote.person}: its authenticator had signed more often")


def _check(approval: Requested, vote: VoteForm, passkey: PasskeyForm, registered: PasskeyRegistered) -> None:
    client_data, data = from_base64url(passkey.client_data), from_base64url(passkey.authenticator_data)
    said = _client_data(client_data)
    if said.get("type") != "webauthn.get":
        raise ValueError("it is no signature of a passkey")
    if said.get("origin") != registered.origin:
        raise ValueError(f"it was made on another page than one of {registered.origin}")
    is_own = any(said.get("crossOrigin") is own for own in (None, False))
    if not is_own or said.get("topOrigin") not in (None, registered.origin):
        raise ValueError("it was made in a frame of another page")
    if _bytes_of(said.get("challenge")) != challenge_of(_document(approval, vote, passkey)):
        raise ValueError("it is over something else than this approval as it was")
    if len(data) < _LEAST or data[:_FLAGS] != hashlib.sha256(rp_id_of(registered.origin).encode()).digest():
        raise ValueError("it was made for somebody else than the registration")
    if data[_FLAGS] & _PRESENT_AND_VERIFIED != _PRESENT_AND_VERIFIED:
        raise ValueError("its authenticator has not verified who signed")
    _verify(registered, from_base64url(passkey.signature), data + hashlib.sha256(client_data).digest())


def _client_data(data: bytes) -> dict[str, Any]:
    text = data.decode()
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise ValueError("its client data has too many brackets")
    said = json.loads(text, parse_int=float, parse_constant=_refuse)
    if not isinstance(said, dict):
        raise ValueError("its client data is no object")  # noqa: TRY004 - a value from outside
    return said


def _refuse(constant: str) -> None:
    raise ValueError(f"its client data has {constant}, which is no JSON")


def _bytes_of(challenge: object) -> bytes:
    return from_base64url(challenge) if isinstance(challenge, str) else b""


def _document(approval: Requested, vote: VoteForm, passkey: PasskeyForm) -> dict[str, str]:
    record, requirement = approval.record, approval.record.requirement.model_dump()
    break_glass = vote.break_glass
    return signed_document(
        approval_id=record.id,
        digest=record.digest,
        stamp=canonical.digest([record.digest, requirement, "requested"])[:16],
        requirement=requirement,
        verdict=vote.verdict,
        nonce=passkey.nonce,
        said=SignedWords(vote.person_name, vote.reason, break_glass.ticket if break_glass else ""),
    )


def _verify(registered: PasskeyRegistered, signature: bytes, signed: bytes) -> None:
    """Raise InvalidSignature unless the key, of the kind that its algorithm says, made the signature."""
    spelled = from_base64url(registered.public_key)
    key = load_der_public_key(spelled)
    if key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != spelled:
        raise ValueError("its key is not in its one spelling")
    match registered.algorithm, key:
        case -7, ec.EllipticCurvePublicKey(curve=ec.SECP256R1()):
            key.verify(signature, signed, ec.ECDSA(SHA256()))
        case -8, ed25519.Ed25519PublicKey():
            key.verify(signature, signed)
        case -257, rsa.RSAPublicKey():
            key.verify(signature, signed, padding.PKCS1v15(), SHA256())
        case _:
            raise ValueError("its key is not of the kind that its algorithm says")


@rule(
    "passkeys.logged",
    "Where the leaves stand in a log, `log/acts.json` gives each act of a vote's `passkey` or `delegation` its place in"
    " it, in the order of the tenant's chain, and they and its hashes give the checkpoint's root. It is there for no"
    " others.",
)
def _logged(facts: Facts) -> str:
    checkpoint, contents = checkpoint_of(facts.contents), facts.contents
    acts = dict[int, str]()
    for name, leaf in acts_of_votes(facts):
        if acts.setdefault(leaf.seq, leaf.hash) != leaf.hash:
            raise BrokenError(name, f"leaf {leaf.seq} of the tenant's chain is told in two ways")
    if checkpoint is None or not acts:
        if names.ACTS in contents.members:
            raise BrokenError(names.ACTS, "is about no act that a vote rests on")
        return "no act" if checkpoint else "no log"
    try:
        check_acts(acts, contents.member(names.ACTS), checkpoint.head)
    except LogError as error:
        raise BrokenError(names.ACTS, str(error)) from error
    return counted(len(acts), "act")


RULES: tuple[Rule[Facts], ...] = (_as_asked, _registered, _signatures, _logged)

// Step 8: votes that were signed with a passkey.

import {fromBase64Url, fromHex, fromUtf8, joined, sha256, toHex, toUtf8} from "./bytes.js";
import {digestOf, same} from "./canonical.js";
import {memberOf} from "./contents.js";
import {Broken, Misshapen} from "./errors.js";
import {approvalsOf, eachVote} from "./facts.js";
import {ACTS} from "./names.js";
import {checkInclusion} from "./proofs.js";
import {asMember} from "./rules.js";
import {anything, demand, mapping, parse} from "./shapes.js";
import {ACTS_SHAPE, PASSKEY_REGISTERED_SHAPE} from "./shapes.generated.js";
import {demandOfTenant} from "./votes.js";

/** What had to be signed with a passkey was, as far as it approves. */
export function demandSigned(facts) {
  eachVote(facts, ({name, record: {requirement}}, {record: {person, verdict, passkey, signed_with}}) => {
    if (signed_with !== undefined) throw new Broken(name, `the vote of ${person} says \`signed_with\``);
    if (requirement.sign_with !== undefined && verdict === "approve" && passkey === undefined) {
      throw new Broken(name, `the vote of ${person} is not signed with a passkey`);
    }
  });
}

/** Return the votes that were signed with a passkey, each with its approval. */
function signedVotes(facts) {
  const found = [];
  eachVote(facts, (approval, {record}) => record.passkey !== undefined && found.push([approval, record]));
  return found;
}

/** Return what a leaf says with which a passkey was registered, or raise. */
function registrationOf(name, {event, data}) {
  if (event !== "passkey.registered") throw new Broken(name, `${event} registers no passkey`);
  try {
    PASSKEY_REGISTERED_SHAPE(data, "");
  } catch (error) {
    throw new Broken(name, `${event} is not in its form: ${error.message}`);
  }
  return data;
}

/** Each passkey was registered by who voted with it, before that, and had not been revoked. */
export async function demandPasskeysRegistered(facts) {
  for (const [{name}, {person, at, passkey: {acts, credential_id}}] of signedVotes(facts)) {
    const whose = `the passkey of ${person}`, [first] = acts;
    await demandOfTenant(facts, name, whose, acts);
    const registered = registrationOf(name, first);
    const known = [registered.person, first.actor.id, first.actor.kind, registered.credential_id];
    if (!same(known, [person, person, "person", credential_id])) {
      throw new Broken(name, `${whose} is not theirs: ${registered.person} registered another`);
    }
    if (first.at > at) throw new Broken(name, `${whose} was registered after they had voted`);
    if (acts.length > 1) throw new Broken(name, `${whose} had been revoked`);
  }
}

/** Where browsers let passkeys be used; the host is what they are used for. */
const ORIGIN = /^(?:https:\/\/([a-z0-9.-]+)|http:\/\/(localhost))(?::[0-9]{1,5})?$/;
const MOST_BRACKETS = 100;

/** How each kind of key is read, and how it verifies, by its COSE number. */
const PASSKEY_KEYS = new Map([
  [-7, [{name: "ECDSA", namedCurve: "P-256"}, {name: "ECDSA", hash: "SHA-256"}]],
  [-8, [{name: "Ed25519"}, {name: "Ed25519"}]],
  [-257, [{name: "RSASSA-PKCS1-v1_5", hash: "SHA-256"}, {name: "RSASSA-PKCS1-v1_5"}]],
]);

/** Return an ECDSA signature in DER as the browser takes it: both numbers of 32 bytes, one after the other. */
function fromDer(der) {
  const numbers = [];
  demand(der[0] === 0x30 && der[1] === der.length - 2 && der.length < 130, "", "no signature in DER");
  for (let place = 2; place < der.length;) {
    const size = der[place + 1], number = der.subarray(place + 2, place + 2 + size);
    const isSpelledOut = number.length === size && size > 0 && !(number[0] & 0x80)
      && !(size > 1 && number[0] === 0 && !(number[1] & 0x80));
    const digits = number[0] === 0 ? number.subarray(1) : number;
    demand(der[place] === 0x02 && isSpelledOut && digits.length <= 32, "", "no number in DER");
    numbers.push(joined(new Uint8Array(32 - digits.length), digits));
    place += 2 + size;
  }
  demand(numbers.length === 2, "", "no two numbers");
  return joined(...numbers);
}

/** Return whether the registered key made a signature. */
async function isByPasskey({algorithm, public_key}, signature, signed) {
  const [kind, how] = PASSKEY_KEYS.get(algorithm);
  const spelled = fromBase64Url(public_key);
  const key = await crypto.subtle.importKey("spki", spelled, kind, true, ["verify"]);
  const again = new Uint8Array(await crypto.subtle.exportKey("spki", key));
  demand(toHex(again) === toHex(spelled), "", "its key is not in its one spelling");
  return crypto.subtle.verify(how, key, algorithm === -7 ? fromDer(signature) : signature, signed);
}

/** Return the challenge for a vote: the digest of what its person signs. */
async function challengeFor({id, digest, requirement}, {verdict, reason, person_name, break_glass: breakGlass, passkey}) {
  const said = {verdict, reason, person_name, nonce: passkey.nonce};
  const alone = breakGlass === undefined ? {} : {break_glass: breakGlass.ticket};
  const stamp = (await digestOf([digest, requirement, "requested"])).slice(0, 16);
  return digestOf({approval_id: id, digest, stamp, requirement: await digestOf(requirement), ...said, ...alone});
}

/** Raise, saying why, unless a vote's signature is over its approval as it was, on the right page, by a verified user. */
async function demandSignature(record, vote) {
  const {passkey} = vote, {origin, ...registered} = passkey.acts[0].data;
  const clientData = fromBase64Url(passkey.client_data), data = fromBase64Url(passkey.authenticator_data);
  const brackets = fromUtf8(clientData).replace(/[^[{]/g, "").length;
  demand(brackets <= MOST_BRACKETS, "", "its client data has too many brackets");
  const said = JSON.parse(fromUtf8(clientData));
  mapping(anything)(said, "its client data");
  demand(said.type === "webauthn.get", "", "it is no signature of a passkey");
  demand(said.origin === origin, "", `it was made on another page than one of ${origin}`);
  const isInOwnPage = (said.crossOrigin ?? false) === false && (said.topOrigin ?? origin) === origin;
  demand(isInOwnPage, "", "it was made in a frame of another page");
  demand(typeof said.challenge === "string", "", "it is over nothing");
  const isOverIt = toHex(fromBase64Url(said.challenge)) === (await challengeFor(record, vote));
  demand(isOverIt, "", "it is over something else than this approval as it was");
  const [, secure, local] = ORIGIN.exec(origin), party = await sha256(toUtf8(secure ?? local));
  demand(data.length >= 37 && toHex(data.subarray(0, 32)) === party, "", "it was made for somebody else");
  demand((data[32] & 5) === 5, "", "its authenticator has not verified who signed");
  const signed = joined(data, fromHex(await sha256(clientData)));
  const isTheirs = await isByPasskey(registered, fromBase64Url(passkey.signature), signed);
  demand(isTheirs, "", "the key of their passkey has not made it");
}

/** Each signature with a passkey holds, and was given once. */
export async function demandSignatures(facts) {
  const nonces = new Set();
  for (const [{name, record}, vote] of signedVotes(facts)) {
    const {person, passkey: {nonce}} = vote;
    if (nonces.has(nonce)) throw new Broken(name, `the signature of ${person} was given before, for another vote`);
    nonces.add(nonce);
    try {
      await demandSignature(record, vote);
    } catch (error) {
      throw new Broken(name, `the signature of ${vote.person}: ${error.message}`);
    }
  }
  demandCounters(facts);
}

/** No authenticator had signed more often before than it says: then there were two of it. */
function demandCounters(facts) {
  const counters = new Map(), votes = approvalsOf(facts).flatMap((approval) =>
    approval.votes.map(({record, leaf}) => ({name: approval.name, record, leaf})));
  for (const {name, record: {person, passkey}} of votes.sort((one, other) => one.leaf.seq - other.leaf.seq)) {
    if (passkey === undefined) continue;
    const data = fromBase64Url(passkey.authenticator_data), count = new DataView(data.buffer).getUint32(33);
    const before = counters.get(passkey.credential_id) ?? 0;
    if ((before || count) && count <= before) {
      throw new Broken(name, `the signature of ${person}: its authenticator had signed more often`);
    }
    counters.set(passkey.credential_id, count);
  }
}

/** Return where acts stand in the log, by their index, or raise. */
function placedActs(acts, places) {
  const asked = [...acts.keys()].sort((one, other) => one - other);
  if (!same(places.map(({seq}) => seq), asked)) {
    throw new Misshapen("it is not about the acts that votes rest on, in their order");
  }
  const found = new Map(places.map(({seq, index}) => [BigInt(index), fromHex(acts.get(seq))]));
  if (found.size !== acts.size) throw new Misshapen("two acts have one place in the log");
  return found;
}

/** The acts that votes rest on stand in the log. */
export async function demandActsLogged(facts) {
  const {bundle, checkpoint} = facts;
  const acts = new Map();
  eachVote(facts, ({name}, {record: {passkey, delegation}}) => {
    for (const {seq, hash} of [...(passkey?.acts ?? []), ...(delegation?.acts ?? [])]) {
      if ((acts.get(seq) ?? hash) !== hash) throw new Broken(name, `leaf ${seq} of the tenant's chain is told in two ways`);
      acts.set(seq, hash);
    }
  });
  if (!checkpoint || !acts.size) {
    if (bundle.members.has(ACTS)) throw new Broken(ACTS, "is about no act that a vote rests on");
    return;
  }
  const {places, proof} = parse(ACTS_SHAPE, ACTS, memberOf(bundle, ACTS));
  await asMember(ACTS, async () => checkInclusion(checkpoint, placedActs(acts, places), proof));
}

// Steps 1 to 4: the file, its signature, the statement and the members that it names.

import {sha256} from "./bytes.js";
import {same} from "./canonical.js";
import {memberOf} from "./contents.js";
import {Broken, Misshapen} from "./errors.js";
import {COUNTED, FORMAT, MAX_SIZE, STATEMENT} from "./names.js";
import {parse} from "./shapes.js";
import {MEMBERS, STATEMENT_SHAPE} from "./shapes.generated.js";
import {keysOf, largestEnvelope, openEnvelope} from "./signing.js";
import {unpack} from "./zipform.js";

/** Step 1. */
export async function checkZip(bundle) {
  if (bundle.file.size > MAX_SIZE) throw new Broken("", `the archive is larger than ${MAX_SIZE} bytes`);
  const bytes = new Uint8Array(await bundle.file.arrayBuffer());
  bundle.sha256 = await sha256(bytes);
  bundle.members = unpack(bytes);
  return `${bundle.members.size} members, plainly stored`;
}

/** Step 2. What is too large for what it would have to say is not even looked at. */
export async function checkSignature(bundle) {
  const envelope = memberOf(bundle, STATEMENT);
  if (envelope.length > largestEnvelope([...bundle.members.keys()])) {
    throw new Broken(STATEMENT, "is larger than a statement about the other members can be");
  }
  try {
    bundle.opened = await openEnvelope(envelope, keysOf(bundle.trust));
    bundle.key = bundle.opened.key;
  } catch (error) {
    if (error instanceof Misshapen || error instanceof TypeError) throw new Broken(STATEMENT, error.message);
    throw error;
  }
  return `signed by the key ${bundle.key.id}`;
}

/** The types of statements before release 0.2.0; within a text, the quotation marks would be escaped. */
const EARLIER = /"predicateType":"urn:countersign:evidence-(bundle|export):v([0-9]{1,9})"/u;

/** Raise where a statement was written before release 0.2.0. */
function refuseEarlier(payload) {
  const [, what, number] = EARLIER.exec(new TextDecoder().decode(payload)) ?? [];
  if (what === undefined) return;
  throw new Broken("", `this ${what} was written before release 0.2.0 (format ${number}); this program does not read it`);
}

/** Step 3. */
export function checkStatement(bundle) {
  refuseEarlier(bundle.opened.payload);
  const statement = parse(STATEMENT_SHAPE, STATEMENT, bundle.opened.payload), {predicate} = statement;
  if (!same([bundle.opened.keyid, predicate.key_id], ["", bundle.key.id])) {
    throw new Broken(STATEMENT, `its predicate alone must name the key, ${bundle.key.id}`);
  }
  const subjects = statement.subject.map(({name}) => name);
  if (!same(subjects, [...new Set(subjects)].sort())) {
    throw new Broken(STATEMENT, "its subjects are out of order, or one stands twice");
  }
  for (const folder of COUNTED) {
    const count = subjects.filter((name) => name.startsWith(`${folder}/`)).length;
    if (predicate.counts[folder] !== count) {
      throw new Broken(STATEMENT, "its counts are not those of its subjects");
    }
  }
  Object.assign(bundle, {statement, predicate});
  return `an in-toto Statement with ${subjects.length} subjects, in format ${FORMAT}`;
}

/** Step 4. */
export async function checkMembers(bundle) {
  const signed = new Map(bundle.statement.subject.map(({name, digest}) => [name, digest.sha256]));
  const members = new Map([...bundle.members].filter(([name]) => name !== STATEMENT));
  for (const name of [...new Set([...members.keys(), ...signed.keys()])].sort()) {
    if (!members.has(name)) throw new Broken(name, "was signed, and is not in the bundle");
    if (!signed.has(name)) throw new Broken(name, "is in the bundle, and was not signed");
    if ((await sha256(members.get(name))) !== signed.get(name)) {
      throw new Broken(name, `its SHA-256 is not the one that was signed, ${signed.get(name)}`);
    }
  }
  const folded = new Map();
  for (const name of members.keys()) {
    if (!MEMBERS.test(name)) throw new Broken(name, "is no member of a bundle");
    const other = folded.get(name.toLowerCase());
    if (other) throw new Broken(name, `differs from ${other} in case alone`);
    folded.set(name.toLowerCase(), name);
  }
  bundle.members = members;
  return "each member has the SHA-256 that was signed; none is missing, none was added";
}

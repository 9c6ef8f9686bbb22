// Steps 1 to 4: the file, its signature, the statement and the members that it names.

import {sha256} from "./bytes.js";
import {same} from "./canonical.js";
import {memberOf} from "./contents.js";
import {Broken, Misshapen} from "./errors.js";
import {COUNTED, MAX_SIZE, STATEMENT} from "./names.js";
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

/** Step 3. */
export function checkStatement(bundle) {
  const statement = parse(STATEMENT_SHAPE, STATEMENT, bundle.opened.payload);
  const {predicate} = statement, version = predicate.builder_version;
  const named = version === "1" ? [bundle.key.id, null] : ["", bundle.key.id];
  if (!same([bundle.opened.keyid, predicate.key_id ?? null], named)) {
    throw new Broken(STATEMENT, `does not name the key ${bundle.key.id} where its format does`);
  }
  const subjects = statement.subject.map(({name}) => name);
  if (!same(subjects, [...new Set(subjects)].sort())) {
    throw new Broken(STATEMENT, "its subjects are out of order, or one stands twice");
  }
  if (statement.predicateType !== `urn:countersign:evidence-bundle:v${version}`) {
    throw new Broken(STATEMENT, "its type is of another format than its predicate names");
  }
  for (const [since, folder] of COUNTED) {
    const count = subjects.filter((name) => name.startsWith(`${folder}/`)).length;
    if (!same(predicate.counts[folder], since > Number(version) ? null : count)) {
      throw new Broken(STATEMENT, "its counts are not those of its subjects");
    }
  }
  Object.assign(bundle, {statement, predicate, format: version});
  return `an in-toto Statement with ${subjects.length} subjects, in format ${version}`;
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
    if (!MEMBERS.get(bundle.format).test(name)) throw new Broken(name, "is no member of a bundle");
    const other = folded.get(name.toLowerCase());
    if (other) throw new Broken(name, `differs from ${other} in case alone`);
    folded.set(name.toLowerCase(), name);
  }
  bundle.members = members;
  return "each member has the SHA-256 that was signed; none is missing, none was added";
}

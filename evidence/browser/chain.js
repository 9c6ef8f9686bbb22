// Steps 5 and 6: the run of the statement, and the audit chain, which tells the run.

import {fromUtf8, joined, sha256, toUtf8} from "./bytes.js";
import {canonical, same} from "./canonical.js";
import {memberOf} from "./contents.js";
import {Broken} from "./errors.js";
import {EDITED, PROGRAM, PROPOSED, RUN_ENDED, SETTLED, wordOf} from "./events.js";
import {AUDIT, DEFINITION, FORMAT, MAX_LINE, RUN, STATEMENT} from "./names.js";
import {OpenWaits, waitEnd} from "./open_waits.js";
import {demandCounted} from "./register.js";
import {brokenAt, told} from "./rules.js";
import {parse} from "./shapes.js";
import {LEAF_SHAPE, RUN_RECORD_SHAPE} from "./shapes.generated.js";

/** Step 5. */
export async function checkRun(bundle) {
  const run = parse(RUN_RECORD_SHAPE, RUN, memberOf(bundle, RUN)), {predicate} = bundle;
  for (const [what, ofRun, ofStatement] of [
    ["run_id", run.run_id, predicate.run_id],
    ["tenant", run.tenant, predicate.tenant],
    ["definition.digest", run.definition.digest, predicate.definition_digest],
    ["sealed_seq", run.sealed_seq, predicate.sealed_seq],
    ["audit_head", run.audit_head, predicate.audit_head],
  ]) {
    if (ofRun !== ofStatement) throw new Broken(RUN, `${what} is ${ofRun}, where the statement says ${ofStatement}`);
  }
  if ((await sha256(memberOf(bundle, DEFINITION))) !== run.definition.digest) {
    throw new Broken(DEFINITION, `its SHA-256 is not the digest that ${RUN} names, ${run.definition.digest}`);
  }
  bundle.run = run;
  const {name, version} = run.definition;
  return `run ${run.run_id} executed ${name} version ${version}, and ended ${wordOfRun(run)}`;
}

/** Return what people are told that a run came to. */
export const wordOfRun = ({outcome, status}) => outcome || status;

const GENESIS = "0".repeat(64);

/** Return the lines of bytes, each of which must be ended. */
function linesOf(bytes) {
  const lines = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  if (start < bytes.length) throw new Broken(AUDIT, "the last line is not ended");
  return lines;
}

/** Return the RFC 6962 leaf hash of a leaf's canonical JSON without its `hash`. */
export function leafHash(leaf) {
  const {hash, ...hashed} = leaf;
  return sha256(joined(new Uint8Array(1), toUtf8(canonical(hashed))));
}

/** Raise unless the leaves are the whole chain of this run, from genesis to the sealed head. */
async function demandChain(leaves, run) {
  let [seq, hash] = [0, GENESIS];
  const runId = leaves[0]?.run_id;
  for (const leaf of leaves) {
    if (leaf.seq !== seq + 1) {
      throw new Broken(AUDIT, `leaf ${seq + 1} is missing or out of place: leaf ${leaf.seq} stands there`);
    }
    if (leaf.run_id !== runId || ![null, runId].includes(leaf.correlation.run_id)) {
      throw new Broken(AUDIT, `leaf ${leaf.seq} belongs to another run than ${runId}`);
    }
    if (leaf.prev_hash !== hash) throw new Broken(AUDIT, `leaf ${leaf.seq}: prev_hash is not the hash of leaf ${seq}`);
    if ((await leafHash(leaf)) !== leaf.hash) {
      throw new Broken(AUDIT, `leaf ${leaf.seq}: its content does not give its hash`);
    }
    [seq, hash] = [leaf.seq, leaf.hash];
  }
  if (seq !== run.sealed_seq || hash !== run.audit_head) {
    const must = `leaf ${run.sealed_seq} (${run.audit_head})`;
    throw new Broken(AUDIT, `the chain ends at leaf ${seq} (${hash}), not at ${must}`);
  }
  if (runId !== run.run_id) throw new Broken(AUDIT, `is the chain of run ${runId}`);
}

/** Return each step of which there is word, with what it came to, in the order of the first word. */
function stepsAsTold(leaves) {
  const found = new Map();
  for (const {event, correlation: {step}, data} of leaves) {
    if (!event.startsWith("step.")) continue;
    if (!found.has(step)) found.set(step, {path: step});
    Object.assign(found.get(step), {status: wordOf(event), error: data.error === undefined ? "" : data.error});
  }
  return [...found.values()];
}

/** Return each wait, with what ended it first: word of its own, or the end of its approval, its step or its run. */
function waitsAsTold(leaves) {
  const found = [], active = new OpenWaits();
  for (const leaf of leaves) {
    for (const {made} of active.take(leaf)) Object.assign(made, {status: waitEnd(leaf), resolved_at: leaf.at});
    const isMoving = Object.hasOwn(leaf.data, "deadline");
    if (isMoving) for (const {made} of active.movedBy(leaf)) made.deadline = leaf.data.deadline;
    if (leaf.event !== "wait.opened") continue;
    const names = ["wait_id", "type", "correlation_key", "deadline"];
    const said = Object.fromEntries(names.map((name) => [name, leaf.data[name] ?? null]));
    const wait = {...said, step: leaf.correlation.step, opened_at: leaf.at, status: "active", resolved_at: null};
    found.push(wait);
    active.add(leaf, wait);
  }
  return found;
}

/** Return `run.json`; a member that no leaf tells is null. */
function runAsTold(leaves) {
  const first = leaves[0], last = leaves.at(-1), end = leaves.findLast(({event}) => RUN_ENDED.has(event));
  const queued = first.event === "run.queued" ? first.data : {};
  const member = (prefix, name) => [name, queued[`${prefix}_${name}`] ?? null];
  const members = (prefix, names) => Object.fromEntries(names.map((name) => member(prefix, name)));
  return {
    format: queued.format ?? null,
    run_id: first.run_id,
    tenant: queued.tenant ?? null,
    definition: members("definition", ["name", "version", "digest"]),
    trigger: members("trigger", ["type", "ref"]),
    requested_by: first.actor.id,
    submitted_by: queued.submitted_by ?? null,
    status: end ? wordOf(end.event) : null,
    error: end?.data.error ?? null,
    ...Object.fromEntries(["outcome", "output"].filter((name) => end && Object.hasOwn(end.data, name))
      .map((name) => [name, end.data[name]])),
    created_at: first.at,
    finished_at: end?.at ?? null,
    writes: end?.data.writes ?? null,
    steps: stepsAsTold(leaves),
    waits: waitsAsTold(leaves),
    sealed_seq: last.seq,
    audit_head: last.hash,
    ...(Object.hasOwn(queued, "mocked") ? {mocked: queued.mocked} : {}),
  };
}

/** No leaf is earlier than the one before it. */
export function demandInTime({leaves}) {
  const early = leaves.findIndex((leaf, index) => index > 0 && leaf.at < leaves[index - 1].at);
  if (early > 0) throw new Broken(AUDIT, `line ${early + 1} is earlier than the line before it`);
}

/** The chain ends with the sealing. */
export function demandEnd({leaves}) {
  if (leaves.at(-1).event !== "evidence.begun") {
    throw new Broken(AUDIT, "does not end with evidence.begun: its end was cut off");
  }
}

/** The run is what its leaves tell. */
export function demandRun({bundle, leaves}) {
  if (fromUtf8(memberOf(bundle, RUN)) !== canonical(runAsTold(leaves))) {
    throw new Broken(RUN, `is not the run that ${AUDIT} tells`);
  }
}

/** Step 6. */
export async function checkChain(bundle) {
  const lines = linesOf(memberOf(bundle, AUDIT)), {run} = bundle;
  const long = lines.findIndex(({length}) => length > MAX_LINE);
  if (long >= 0) {
    throw new Broken(AUDIT, `line ${long + 1} has ${lines[long].length} bytes, and may have ${MAX_LINE}`);
  }
  bundle.leaves = lines.map((line, index) => parse(LEAF_SHAPE, `${AUDIT} line ${index + 1}`, line));
  await demandChain(bundle.leaves, run);
  const said = bundle.leaves[0].data.format ?? null;
  if (said !== FORMAT) throw new Broken(STATEMENT, `is of format ${FORMAT}, and the chain of format ${told(said)}`);
  demandCounted(bundle);
  return `${run.sealed_seq} audit leaves, unbroken to ${run.audit_head}`;
}

const BY_OTHERS = new Set([
  "run.queued", "run.cancel_requested", "run.retry_requested", "vote.counted", "vote.refused", "vote.withdrawn", EDITED,
  "approval.handed", "question.asked", "question.answered", "task.claimed", "task.released", "wait.completed",
  "wait.progress", "notification.refused", SETTLED,
]);

/** A leaf is by the program, but for those that tell what others asked for, answered or said. */
export function demandActors({leaves}) {
  for (const leaf of leaves) {
    const {actor, event} = leaf, isOwn = same(actor, PROGRAM);
    if (!isOwn && !BY_OTHERS.has(event)) throw brokenAt(leaf, `${event} is by ${actor.id}, a ${actor.kind}`);
  }
}

/** What a leaf is about is in the definition, or was proposed or requested before, for the same step. */
export function demandAbout(facts) {
  const effects = new Map(), approvals = new Map();
  for (const leaf of facts.leaves) {
    const about = leaf.correlation, {step, effect_id, approval_id} = about;
    if (leaf.event === PROPOSED) effects.set(String(effect_id), about);
    if (leaf.event === "approval.requested") approvals.set(String(approval_id), about);
    if (step !== null && !facts.plan().knows(step)) throw brokenAt(leaf, `no step ${step} is in ${DEFINITION}`);
    const named = Object.hasOwn(leaf.data, "approval_id") ? leaf.data.approval_id : approval_id;
    if (!same(named, approval_id)) throw brokenAt(leaf, `is about approval ${approval_id}, and names ${told(named)}`);
    const effect = knownBefore(leaf, "effect", effects, effect_id);
    const approval = knownBefore(leaf, "approval", approvals, approval_id);
    if (effect && approval && effect.effect_id !== approval.effect_id) {
      throw brokenAt(leaf, `approval ${approval_id} is not of effect ${effect_id}`);
    }
  }
}

/** Return what the leaf that first named an effect or an approval is about. */
function knownBefore(leaf, what, known, id) {
  if (id === null) return null;
  const found = known.get(id), {step} = leaf.correlation;
  if (!found) throw brokenAt(leaf, `${what} ${id} was not ${what === "effect" ? "proposed" : "requested"} before`);
  if (step !== null && step !== found.step) {
    throw brokenAt(leaf, `${what} ${id} is of step ${found.step}, and not of ${step}`);
  }
  return found;
}

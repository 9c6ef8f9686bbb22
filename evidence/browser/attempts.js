// Steps 7 and 10: what was attempted, with which receipt, and in which order.

import {acted} from "./authority.js";
import {SPENT} from "./budgets.js";
import {isActed, leavesAbout, leavesOf} from "./contents.js";
import {Broken} from "./errors.js";
import {approvalsOf, calledBy, digestBefore} from "./facts.js";
import {agree, brokenAt, lineOf, stepOf} from "./rules.js";

/** Raise if the key of a receipt had served another effect, or had succeeded already. */
function demandFreshKey(name, receipt, earlier) {
  if (earlier && earlier.fingerprint !== receipt.fingerprint) {
    throw new Broken(name, `its idempotency key had served another effect, in receipt ${earlier.receipt_id}`);
  }
  if (earlier?.outcome === "success") {
    throw new Broken(name, `acted again after the success in receipt ${earlier.receipt_id}`);
  }
}

/** Step 10. */
export function checkOrder(bundle) {
  for (const [name, {started_at, finished_at}] of bundle.receipts) {
    if (started_at > finished_at) throw new Broken(name, "finished before it started");
  }
  const decided = new Map(leavesOf(bundle, "decision.recorded").map((leaf) => [leaf.data.decision_id, leaf]));
  const written = new Map(leavesOf(bundle, "receipt.written").map((leaf) => [leaf.data.receipt_id, leaf.seq]));
  const before = new Set(["approval.requested", "vote.counted", "approval.approved"]);
  const byKey = new Map();
  for (const [name, receipt] of acted(bundle)) {
    demandFreshKey(name, receipt, byKey.get(receipt.idempotency_key));
    byKey.set(receipt.idempotency_key, receipt);
    const decision = decided.get(receipt.decision_id), its = `its decision ${receipt.decision_id}`;
    if (decision.seq > written.get(receipt.receipt_id) || decision.at > receipt.started_at) {
      throw new Broken(name, `acted before ${its}`);
    }
    const about = leavesAbout(bundle, receipt.approval_id);
    const late = about.find(({event, seq}) => before.has(event) && seq > decision.seq);
    if (late) throw new Broken(name, `${late.event} (leaf ${late.seq}) came after ${its}`);
  }
  return `${byKey.size} idempotency keys, each for one effect, which came after its decision and its votes`;
}

/** A receipt says what its leaf says. */
export function demandReceiptsTold({receipts}) {
  const seen = new Set();
  for (const {name, record, leaf} of receipts()) {
    const {receipt_id, outcome, step, effect_id, approval_id, attempt, error} = record;
    if (seen.has(receipt_id)) throw new Broken(name, `another receipt has the id ${receipt_id}, too`);
    seen.add(receipt_id);
    agree(name, lineOf(leaf), {
      outcome: [outcome, leaf.data.outcome],
      step: [step, stepOf(leaf)],
      effect_id: [effect_id, leaf.correlation.effect_id],
      approval_id: [approval_id, leaf.correlation.approval_id],
    });
    agree(name, `its outcome, ${outcome},`, {
      "attempt is 0": [attempt === 0, outcome === "refusal"],
      "error is null": [error === null, outcome === "success"],
    });
  }
}

/** What was attempted is what was proposed or, by its digest, what people approved. */
export function demandReceiptsOfEffect(facts) {
  for (const {name, record, leaf: {seq}} of facts.receipts()) {
    const {leaf, action, target} = facts.proposed().get(record.effect_id);
    const decided = facts.decided().get(String(record.decision_id));
    const digest = digestBefore(facts, record.effect_id, decided ? decided.leaf.seq : seq);
    agree(name, lineOf(leaf), {
      action: [`${record.connector}::${record.operation}`, action],
      target: [record.target, target],
    });
    const approved = approvalsOf(facts, "effect").map((one) => one.record)
      .filter(({effect_id, status}) => effect_id === record.effect_id && status === "approved");
    if (isActed(record) && ![digest, ...approved.map((one) => one.digest)].includes(record.fingerprint)) {
      throw new Broken(name, "what acted is neither what was proposed nor what people approved");
    }
  }
}

/** A receipt's times are those of leaves. */
export function demandReceiptsInTime({receipts, decisions}) {
  const allowed = decisions().filter(({record}) => record.outcome === "allow");
  for (const {name, record: {finished_at, started_at, effect_id}, leaf} of receipts()) {
    agree(name, lineOf(leaf), {finished_at: [finished_at, leaf.at]});
    const begun = allowed.some((one) => one.record.effect_id === effect_id && one.leaf.at === started_at);
    if (started_at !== leaf.at && !begun) throw new Broken(name, `no attempt began at ${started_at}`);
  }
}

const AGAIN = "step.failed_retryable";
const AFTER_ATTEMPT = new Set([AGAIN, "step.failed_handled", "step.failed_terminal", "step.needs_attention"]);

/** What failed after an attempt has the receipt of that. */
export function demandReceiptsOfFailures(facts) {
  const later = ["effect.waiting", SPENT].flatMap((event) => leavesOf(facts.bundle, event));
  const waited = new Set(later.map(({data}) => String(data.decision_id)));
  const begun = facts.decisions().filter(({record: {id, outcome, step}}) =>
    outcome === "allow" && step && !waited.has(id));
  for (const leaf of facts.leaves.filter(({event}) => AFTER_ATTEMPT.has(event))) {
    const path = stepOf(leaf), verb = calledBy(facts, path);
    if (leaf.event !== AGAIN && !(verb && (verb.execution.wait ?? null) === null)) continue;
    const last = begun.filter((one) => one.record.step === path && one.leaf.seq < leaf.seq).at(-1);
    if (!last) continue;
    const {effect_id} = last.record;
    const ends = approvalsOf(facts, "in_doubt").filter(({record, end}) => end && record.effect_id === effect_id);
    const told = facts.receipts().filter(({record}) => record.effect_id === effect_id);
    const between = [...ends.map(({end}) => end), ...told.map((one) => one.leaf)];
    if (!between.some(({seq}) => last.leaf.seq < seq && seq < leaf.seq)) {
      throw brokenAt(leaf, `no receipt tells of the attempt that began with decision ${last.record.id}`);
    }
  }
}

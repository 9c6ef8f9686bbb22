// Steps 7 and 8: what people were asked.

import {same} from "./canonical.js";
import {leavesAbout, leavesOf} from "./contents.js";
import {nextInLine} from "./definition.js";
import {Broken} from "./errors.js";
import {approvalsOf, verbOf} from "./facts.js";
import {AUDIT, DEFINITION} from "./names.js";
import {agree, brokenAt, dataOf, lasts, lineOf, microseconds, momentOf, stepOf} from "./rules.js";
import {FELL_BACK_SHAPE} from "./shapes.generated.js";

/** An approval is requested once, and says what the leaf of its request says. */
export function demandApprovalsTold(facts) {
  if (facts.requests().length > facts.approvals().size) throw new Broken(AUDIT, "requests an approval twice");
  for (const {name, record, leaf} of approvalsOf(facts)) {
    const until = microseconds(record.requested_at) + lasts(record.requirement.expires_in, name);
    agree(name, lineOf(leaf), {
      step: [record.step, stepOf(leaf)],
      requested_at: [record.requested_at, leaf.at],
      expires_at: [record.expires_at, momentOf(until)],
    });
  }
}

/** What went to others as well did so at once, and says why and to whom. */
export function demandFellBack(facts) {
  for (const leaf of leavesOf(facts.bundle, "approval.fell_back")) {
    const about = leavesAbout(facts.bundle, dataOf(FELL_BACK_SHAPE, leaf).approval_id);
    const before = about[about.indexOf(leaf) - 1];
    if (before?.event !== "approval.requested" || before.at !== leaf.at) {
      throw brokenAt(leaf, "does not come first after the request");
    }
  }
}

/** An approval of an effect is what policy asked for, at that moment. */
export function demandOfPolicy(facts) {
  for (const {name, record, leaf} of approvalsOf(facts, "effect")) {
    agree(name, DEFINITION, {purpose: [record.purpose, verbOf(facts, leaf, record.step).description]});
    const {effect_id, digest, requirement, reasons, tier} = record;
    const isAsked = facts.decisions().some((one) => one.leaf.seq < leaf.seq && one.leaf.at === leaf.at && same(
      [one.record.outcome, one.record.effect_id, one.record.input.effect.digest,
        one.record.answer.requirement, one.record.answer.reasons, one.record.answer.tier],
      ["needs_approval", effect_id, digest, requirement, reasons, tier],
    ));
    if (!isAsked) throw new Broken(name, "no decision before it asked for this approval");
  }
}

/** A review asks whom the definition and the effect that posts it name. */
export function demandOfReview(facts) {
  for (const {name, record, leaf} of approvalsOf(facts, "task")) {
    const {requirement: {expires_in, escalate_to, quorum, all_groups, exclude, reason_required, groups}} = record;
    const {execution, effect: {tier}, description} = verbOf(facts, leaf, record.step);
    const line = nextInLine(execution), until = facts.plan().node(record.step).until ?? null;
    const timeout = until === null ? execution.timeout : expires_in;
    agree(name, DEFINITION, {
      wait: ["human_task", execution.wait],
      tier: [record.tier, tier],
      purpose: [record.purpose, description],
      time: [String(lasts(expires_in, name)), String(lasts(timeout, DEFINITION))],
      escalate_to: [escalate_to, line],
    });
    agree(name, "a review", {requirement: [[quorum, all_groups, exclude, reason_required], [1, false, [], false]]});
    const posted = facts.decisions().map((one) => one.record)
      .filter(({effect_id, input}) => effect_id === record.effect_id && input.effect.digest === record.digest);
    const asked = ({fields}) => (Object.hasOwn(fields, "groups") ? fields.groups : []);
    if (!posted.some(({input}) => same(asked(input.effect), groups))) {
      throw new Broken(name, "asks other groups than the effect that posted it");
    }
  }
}

/** Who is asked what became of an attempt is asked after one that is in doubt. */
export function demandOfDoubt(facts) {
  for (const {name, record, leaf} of approvalsOf(facts, "in_doubt")) {
    const {requirement: {quorum, all_groups, exclude, reason_required, escalate_to}, effect_id, digest} = record;
    const one = [quorum, all_groups, exclude, reason_required, escalate_to];
    agree(name, "a question of doubt", {requirement: [one, [1, false, [], true, []]]});
    const isInDoubt = facts.receipts().some((receipt) => receipt.leaf.seq < leaf.seq && same(
      [receipt.record.outcome, receipt.record.effect_id, receipt.record.fingerprint], ["in_doubt", effect_id, digest],
    ));
    if (!isInDoubt) throw new Broken(name, `nothing of effect ${effect_id} was in doubt before`);
  }
}

/** What people say became of an attempt in doubt is what the receipts after their answer say. */
export function demandDoubtAnswered(facts) {
  for (const {name, record: {status, effect_id}, end} of approvalsOf(facts, "in_doubt")) {
    if (status !== "approved" && status !== "rejected") continue;
    if (!end) throw new Broken(name, `is ${status}, and did not end`);
    const later = facts.receipts().filter(({record, leaf}) =>
      record.effect_id === effect_id && record.outcome === "success" && leaf.seq > end.seq);
    if (status === "approved" && !later.some(({leaf}) => leaf.at === end.at)) {
      throw new Broken(name, `people say that effect ${effect_id} happened, and no receipt does`);
    }
    const isNew = ({record}) => (facts.decided().get(String(record.decision_id))?.leaf.seq ?? 0) > end.seq;
    const wrong = status === "rejected" && later.find((one) => !isNew(one));
    if (wrong) throw new Broken(wrong.name, `says success, and people had said in line ${end.seq} that it did not happen`);
  }
}

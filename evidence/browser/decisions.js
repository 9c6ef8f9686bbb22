// Steps 7 and 9: what policy was told and answered, and by which text.

import {effectKey} from "./authority.js";
import {fromUtf8} from "./bytes.js";
import {digestOf} from "./canonical.js";
import {grouped, inFolder, leavesOf, memberOf} from "./contents.js";
import {Broken} from "./errors.js";
import {digestBefore} from "./facts.js";
import {AUDIT} from "./names.js";
import {agree, byCodePoint, HOUR, lineOf, microseconds, stepOf} from "./rules.js";

/** Return the texts of a policy member. */
function policyText(bundle, name) {
  try {
    return fromUtf8(memberOf(bundle, name));
  } catch (error) {
    if (error instanceof TypeError) throw new Broken(name, "is not UTF-8 text");
    throw error;
  }
}

/** Step 9. */
export async function checkPolicies(bundle) {
  const folders = grouped(inFolder(bundle, "policies").map((name) => {
    const [, digest, ...file] = name.split("/");
    return [digest, [file.join("/"), policyText(bundle, name)]];
  }));
  for (const [digest, files] of folders) {
    if ((await digestOf(Object.fromEntries(files))) !== digest) {
      throw new Broken(`policies/${digest}`, "its files do not give the digest that it is named after");
    }
  }
  for (const [name, {policy_digest}] of bundle.decisions) {
    if (!folders.has(policy_digest)) throw new Broken(name, `its policy ${policy_digest} is not in the bundle`);
  }
  const used = new Set([...bundle.decisions.values()].map(({policy_digest}) => policy_digest));
  const idle = [...folders.keys()].find((digest) => !used.has(digest));
  if (idle) throw new Broken(`policies/${idle}`, "no decision was made by it");
  return `${folders.size} policies, in the words that decided`;
}

/** A decision says what its leaf says. */
export function demandDecisionsTold(facts) {
  for (const decision of facts.decisions()) {
    const {name, record, leaf} = decision, isOnly = facts.decided().get(record.id) === decision;
    if (!isOnly) throw new Broken(name, `another decision has the id ${record.id}, too`);
    agree(name, lineOf(leaf), {
      run_id: [record.run_id, leaf.run_id],
      step: [record.step, stepOf(leaf)],
      effect_id: [record.effect_id, leaf.correlation.effect_id],
      outcome: [record.outcome, leaf.data.outcome],
      reasons: [record.answer.reasons.map(({code}) => code), leaf.data.reasons],
    });
    if ((record.answer.requirement !== null) !== (record.outcome === "needs_approval")) {
      throw new Broken(name, `says ${record.outcome}, and its requirement says otherwise`);
    }
  }
}

/** Policy was told of this run, at that time. */
export function demandDecisionsOfRun({leaves: [first], decisions}) {
  const queued = first.data;
  for (const {name, record: {input, step}, leaf} of decisions()) {
    const {run, actor, tenant, time} = input;
    agree(name, `${AUDIT} line 1`, {
      "input.run.id": [run.id, first.run_id],
      "input.tenant": [tenant, queued.tenant],
      "input.run.definition": [run.definition, queued.definition_name],
      "input.run.version": [run.version, queued.definition_version],
      "input.run.trigger_type": [run.trigger_type, queued.trigger_type],
      "input.actor.id": [actor.id, first.actor.id],
      "input.actor.kind": [actor.kind, first.actor.kind],
      "input.actor.submitted_by": [actor.submitted_by, queued.submitted_by],
    });
    agree(name, "the decision", {"input.step": [input.step, step]});
    const apart = microseconds(time) - microseconds(leaf.at);
    if (apart > HOUR || -apart > HOUR) throw new Broken(name, `was asked at ${time}, and is on record at ${leaf.at}`);
  }
}

/** Policy was asked about the effect as it was proposed, or as an `approval.voided` says that it was found. */
export function demandDecisionsOfEffect(facts) {
  const found = new Set(leavesOf(facts.bundle, "approval.voided").map(({correlation, data}) =>
    effectKey(correlation.effect_id, String(data.found))));
  for (const {name, record: {effect_id, input: {effect}}, leaf: {seq}} of facts.decisions()) {
    if (found.has(effectKey(effect_id, effect.digest))) continue;
    const {leaf, target, action} = facts.proposed().get(effect_id);
    agree(name, lineOf(leaf), {
      "input.effect.digest": [effect.digest, digestBefore(facts, effect_id, seq)],
      "input.effect.target": [effect.target, target],
      action: [`${effect.connector}::${effect.operation}`, action],
    });
  }
}

const TIERS = ["low", "medium", "high"];

/** Policy takes no effect for one of a lower tier. */
export function demandTier(facts) {
  for (const {name, record: {input: {effect}, answer}} of facts.decisions()) {
    if (!TIERS.includes(effect.tier) || TIERS.indexOf(answer.tier) < TIERS.indexOf(effect.tier)) {
      throw new Broken(name, `takes an effect of tier ${effect.tier} for one of tier ${answer.tier}`);
    }
  }
}

/** Nobody signs whom a field of the effect names, as policy was told. */
export function demandNamedPeople(facts) {
  for (const {name, record: {input: {named}, answer: {requirement}}} of facts.decisions()) {
    if ((named ?? null) === null || requirement === null) continue;
    const unknown = Object.keys(named).filter((path) => named[path] === null).sort(byCodePoint);
    if (unknown.length) throw new Broken(name, `asks people, and it was not known who is named in ${unknown[0]}`);
    const left = Object.values(named).flat().filter((one) => !requirement.exclude.includes(one)).sort(byCodePoint);
    if (left.length) throw new Broken(name, `lets ${left[0]} sign, who is named in the effect`);
  }
}

const CONFIGURATION = "countersign_config.";

/** Return the code in a rule's name, which stands behind its path. */
const codeIn = (rule) => rule.replace(/^[^#]*#?/u, "");

/** An answer that names the rules behind it names those of its reasons, and of a requirement's configuration. */
export function demandRules({decisions}) {
  for (const {name, record: {answer: {rules, reasons, requirement}}} of decisions()) {
    if (rules === undefined) continue;
    const isInPlace = (rule, place) => place === 0 || byCodePoint(rules[place - 1], rule) < 0;
    if (!rules.every(isInPlace)) throw new Broken(name, "its rules are not each there once, in order");
    const stated = rules.find((rule) => rule.startsWith(CONFIGURATION));
    if (stated && requirement === null) throw new Broken(name, `states no requirement, and names ${stated}`);
    const named = new Set(rules.filter((rule) => !rule.startsWith(CONFIGURATION)).map(codeIn));
    const given = new Set(reasons.map(({code}) => code));
    const isSame = named.size === given.size && [...named].every((code) => given.has(code));
    if (!isSame) throw new Broken(name, "its rules are not those of its reasons");
  }
}

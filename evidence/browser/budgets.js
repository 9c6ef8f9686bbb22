// Step 8: what was taken of budgets was there, and has its end.

import {isActed, leavesOf} from "./contents.js";
import {Broken} from "./errors.js";
import {agree, brokenAt, byCodePoint, dataOf, HOUR, microseconds, momentOf} from "./rules.js";
import {RESERVED_SHAPE, RETURNED_SHAPE, SPENT_SHAPE} from "./shapes.generated.js";

const RESERVED = "budget.reserved", USED = "budget.used", RELEASED = "budget.released";
export const SPENT = "budget.spent";
const ONE_MINUTE = HOUR / 60n;
const calendars = new Map();

/** Return a decimal number as a whole number and how many of its digits stand behind the point. */
function decimal(text) {
  const [whole, fraction = ""] = text.split(".");
  return {digits: BigInt(whole + fraction), places: fraction.length};
}

/** Return two decimal numbers as whole numbers of one unit. */
function inOneUnit(one, other) {
  const [here, there] = [decimal(one), decimal(other)], places = Math.max(here.places, there.places);
  return [here, there].map(({digits, places: own}) => digits * 10n ** BigInt(places - own));
}

/** Return whether a decimal number, with another one added, is more than a third. */
function isMore(one, added, most) {
  const places = Math.max(...[one, added, most].map((text) => decimal(text).places));
  const [left, right, bound] = [one, added, most].map((text) => inOneUnit(text, `0.${"0".repeat(places)}`)[0]);
  return left + right > bound;
}

/** Return what shows the date of a zone. */
function calendarOf(member, zone) {
  try {
    if (!calendars.has(zone)) {
      const parts = {year: "numeric", month: "2-digit", day: "2-digit", calendar: "gregory", numberingSystem: "latn"};
      calendars.set(zone, new Intl.DateTimeFormat("en-US", {timeZone: zone, ...parts}));
    }
    return calendars.get(zone);
  } catch {
    throw new Broken(member, `'${zone}' is no time zone that is known here`);
  }
}

/** Return the name of the day, or month, that the clock of a budget's zone shows at a moment in microseconds. */
function periodOf(member, {per, time_zone}, at) {
  const floor = Number((at - (((at % ONE_MINUTE) + ONE_MINUTE) % ONE_MINUTE)) / 1000n);
  const parts = calendarOf(member, time_zone).formatToParts(floor).map(({type, value}) => [type, value]);
  const {year, month, day} = Object.fromEntries(parts), named = `${year.padStart(4, "0")}-${month}`;
  return per === "day" ? `${named}-${day}` : named;
}

/** Return the first moment at which that clock shows the next one. */
function periodEnd(member, budget, at) {
  const now = periodOf(member, budget, at);
  let hour = at - (((at % HOUR) + HOUR) % HOUR);
  while (periodOf(member, budget, hour + HOUR) === now) hour += HOUR;
  let minute = hour + ONE_MINUTE;
  while (minute <= at || periodOf(member, budget, minute) === now) minute += ONE_MINUTE;
  return minute;
}

/** Return the decision by which an effect takes of budgets, on record at the same moment as a leaf about it. */
function takingOf(facts, leaf, id) {
  const decision = facts.decided().get(id);
  if (decision?.record.outcome !== "allow" || !decision.record.answer.budgets?.length) {
    throw brokenAt(leaf, `no decision ${id} takes of budgets`);
  }
  const {name, record, leaf: decided} = decision;
  agree(name, `line ${leaf.seq}`, {
    effect_id: [record.effect_id, leaf.correlation.effect_id],
    place: [[decided.seq < leaf.seq, decided.at], [true, leaf.at]],
  });
  return decision;
}

/** Return each budget that a leaf names, as the decision has it, in the period of that moment. */
function ofDecision({name: member, record}, leaf, taken) {
  const named = new Map(record.answer.budgets.map((budget) => [budget.name, budget]));
  return taken.map((one) => {
    const budget = named.get(one.name);
    named.delete(one.name);
    if (!budget || one.period !== periodOf(member, budget, microseconds(leaf.at))) {
      throw brokenAt(leaf, `${one.name} of ${one.period} is none of the budgets of ${record.id}`);
    }
    if ((budget.sum === undefined) !== (one.sum === undefined)) throw brokenAt(leaf, `${one.name} has a sum, or has none`);
    return [budget, one];
  });
}

/** Return whether so many effects, and a sum with what is added, are more than a budget has. */
const isBeyond = (budget, count, sum, added) =>
  (budget.count !== undefined && count > budget.count)
  || (budget.sum !== undefined && isMore(sum ?? "0", added, budget.sum));

/** What an attempt took of budgets is what its decision says, and no more than there was. */
export function demandReserved(facts) {
  const seen = new Set();
  for (const leaf of leavesOf(facts.bundle, RESERVED)) {
    const told = dataOf(RESERVED_SHAPE, leaf), decision = takingOf(facts, leaf, told.decision_id);
    if (seen.has(told.decision_id)) throw brokenAt(leaf, `decision ${told.decision_id} takes of its budgets a second time`);
    seen.add(told.decision_id);
    const here = [...told.kept, ...told.budgets.map(({name}) => name)].sort(byCodePoint);
    const there = decision.record.answer.budgets.map(({name}) => name).sort(byCodePoint);
    if (here.join("\n") !== there.join("\n")) {
      throw brokenAt(leaf, `${here.join(", ")} are not the budgets of decision ${told.decision_id}`);
    }
    for (const [budget, taken] of ofDecision(decision, leaf, told.budgets)) checkTaken(decision, leaf, budget, taken);
  }
}

/** Look at how much of one budget was taken. */
function checkTaken({record: {id, input}}, leaf, budget, taken) {
  if (taken.count < 1 || isMore(budget.amount ?? "0", "0", taken.sum ?? "0")) {
    throw brokenAt(leaf, `takes less of ${budget.name} than decision ${id} says`);
  }
  const isSigned = (input.counters?.over ?? []).includes(budget.name)
    && input.votes.some(({verdict}) => verdict === "approve");
  if (isBeyond(budget, taken.count, taken.sum, "0") && !isSigned) {
    throw brokenAt(leaf, `takes more of ${budget.name} than there is, and nobody has signed that`);
  }
}

/** What acted within budgets took of them. */
export function demandOfBudgets(facts) {
  const begun = new Set(leavesOf(facts.bundle, RESERVED).map(({data}) => String(data.decision_id)));
  for (const {name, record} of facts.receipts().filter((one) => isActed(one.record))) {
    const {record: {id, answer}} = facts.decided().get(record.decision_id);
    if (answer.budgets?.length && !begun.has(id)) {
      throw new Broken(name, `acted, and took nothing of the budgets of ${id}`);
    }
  }
}

/** Return what became of effects at which moment, each as `effect moment`. */
function endsOf(facts) {
  const key = (effect, at) => `${effect} ${at}`, told = facts.receipts();
  const momentsOf = (event) => leavesOf(facts.bundle, event).map((leaf) => key(leaf.correlation.effect_id, leaf.at));
  const succeeded = told.filter(({record}) => record.outcome === "success");
  const later = new Set(["effect.waiting", SPENT].flatMap((event) => leavesOf(facts.bundle, event)
    .map(({data}) => String(data.decision_id))));
  const begun = facts.decisions().filter(({record: {id, outcome}}) => outcome === "allow" && !later.has(id));
  const first = new Map([...begun].reverse().map(({record}) => [record.effect_id, record.id]));
  const failed = told.filter(({record: {outcome, effect_id, decision_id}}) =>
    outcome === "failure" && first.has(effect_id) && first.get(effect_id) === decision_id);
  const keys = (all) => all.map(({record, leaf}) => key(record.effect_id, leaf.at));
  const done = new Set([...keys(succeeded), ...momentsOf("effect.repeated")]);
  return {done, cleared: new Set(momentsOf("effect.cleared")), failed: new Set(keys(failed))};
}

/** What is reserved is used or released, as the effect ended. */
export function demandBudgetsEnded(facts) {
  const {done, cleared, failed} = endsOf(facts), held = new Map();
  for (const leaf of facts.leaves) {
    const effect = String(leaf.correlation.effect_id), holds = held.get(effect) ?? new Set();
    const moment = `${effect} ${leaf.at}`;
    if (leaf.event === RESERVED) held.set(effect, reserve(leaf, holds));
    else if (leaf.event === USED || leaf.event === RELEASED) {
      give(leaf, holds, done.has(moment), cleared.has(moment));
      held.delete(effect);
    } else if (leaf.event === "receipt.written" && holds.size && (done.has(moment) || failed.has(moment))) {
      throw brokenAt(leaf, `its effect holds ${[...holds].sort(byCodePoint).join(", ")} after that`);
    }
  }
}

/** Return what an effect holds once an attempt has begun. */
function reserve(leaf, holds) {
  const {kept, budgets} = dataOf(RESERVED_SHAPE, leaf);
  if (kept.some((name) => !holds.has(name)) || budgets.some(({name}) => holds.has(name))) {
    throw brokenAt(leaf, "keeps what its effect does not hold, or takes what it holds");
  }
  return new Set([...holds, ...budgets.map(({name}) => name)]);
}

/** Look at the end of all that an effect holds. */
function give(leaf, holds, isDone, isCleared) {
  const names = [...dataOf(RETURNED_SHAPE, leaf).budgets].sort(byCodePoint);
  if (names.join("\n") !== [...holds].sort(byCodePoint).join("\n")) {
    throw brokenAt(leaf, `ends ${names.join(", ")}, and its effect holds others`);
  }
  if (leaf.event === USED ? !isDone : isDone && !isCleared) {
    throw brokenAt(leaf, `${leaf.event} is not what became of the effect at that moment`);
  }
}

/** Where too little was left, nothing acted, and it was refused or waits until its budget begins again. */
export function demandSpent(facts) {
  const acted = new Set(facts.receipts().filter(({record}) => isActed(record)).map(({record}) => record.decision_id));
  for (const leaf of leavesOf(facts.bundle, SPENT)) {
    const told = dataOf(SPENT_SHAPE, leaf), decision = takingOf(facts, leaf, told.decision_id);
    if (acted.has(told.decision_id)) throw brokenAt(leaf, `the effect acted by decision ${told.decision_id}`);
    const found = ofDecision(decision, leaf, told.budgets);
    const enough = found.find(([budget, taken]) => !isBeyond(budget, taken.count + 1, taken.sum, budget.amount ?? "0"));
    if (enough) throw brokenAt(leaf, `enough is left of ${enough[0].name}`);
    const ends = found.filter(([{over}]) => over === "wait")
      .map(([budget]) => periodEnd(decision.name, budget, microseconds(leaf.at)));
    const last = ends.reduce((one, other) => (one > other ? one : other), -1n);
    if (told.opens_at !== undefined && (!ends.length || told.opens_at !== momentOf(last))) {
      throw brokenAt(leaf, `its budgets do not begin again at ${told.opens_at}`);
    }
    if (told.opens_at === undefined && !isRefused(facts, leaf, decision)) {
      throw brokenAt(leaf, "was neither refused nor is it to wait");
    }
  }
}

/** Return whether the effect was refused at that moment, or could not be since it may have acted before. */
function isRefused(facts, leaf, decision) {
  const {effect_id} = decision.record;
  return facts.receipts().some(({record, leaf: {at}}) =>
    record.effect_id === effect_id && record.outcome === "refusal" && at === leaf.at)
    || facts.decisions().some((one) => one.record.effect_id === effect_id && one.record.outcome === "allow"
      && one.leaf.seq < decision.leaf.seq);
}

// Step 8: when what was allowed might begin.

import {isActed, leavesOf} from "./contents.js";
import {Broken} from "./errors.js";
import {agree, brokenAt, dataOf, lasts, microseconds, momentOf} from "./rules.js";
import {WAITING_SHAPE} from "./shapes.generated.js";

const MINUTE = 60n * 1000n * 1000n;
const MINUTES_AHEAD = 15 * 24 * 60;
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const clocks = new Map();

/** Return what shows the day of the week and the time of a zone. */
function clockOf(member, zone) {
  try {
    if (!clocks.has(zone)) {
      const parts = {weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23"};
      clocks.set(zone, new Intl.DateTimeFormat("en-US", {timeZone: zone, ...parts}));
    }
    return clocks.get(zone);
  } catch {
    throw new Broken(member, `'${zone}' is no time zone that is known here`);
  }
}

/** Return whether something may begin at a moment in microseconds, however long ago it was approved. */
function isInWindow(member, {not_before, between = [], time_zone = ""}, at) {
  if (not_before !== undefined && at < BigInt(Date.parse(not_before)) * 1000n) return false;
  if (!between.length) return true;
  const floor = Number((at - (((at % MINUTE) + MINUTE) % MINUTE)) / 1000n);
  const shown = Object.fromEntries(clockOf(member, time_zone).formatToParts(floor).map(({type, value}) => [type, value]));
  const clock = `${shown.hour}:${shown.minute}`, day = DAYS.indexOf(shown.weekday.toLowerCase()), eve = DAYS.at(day - 1);
  return between.some(({days, from, until}) => {
    const isOverMidnight = until < from;
    return (days.includes(DAYS[day]) && from <= clock && (isOverMidnight || clock < until))
      || (isOverMidnight && days.includes(eve) && clock < until);
  });
}

/** Return the first moment, not before this one, at which something may begin; null where there is none for weeks. */
function openingOf(member, execute, at) {
  const named = execute.not_before === undefined ? at : BigInt(Date.parse(execute.not_before)) * 1000n;
  const first = named > at ? named : at, floor = first - (((first % MINUTE) + MINUTE) % MINUTE);
  if (isInWindow(member, execute, first)) return momentOf(first);
  for (let nth = 1; nth < MINUTES_AHEAD; nth += 1) {
    const one = floor + BigInt(nth) * MINUTE;
    if (isInWindow(member, execute, one)) return momentOf(one);
  }
  return null;
}

/** Return from when until when what a decision allows may begin, whatever its windows. */
function termOf(facts, {name, record: {effect_id, input: {votes}, answer: {execute}}}) {
  const since = votes.map(({at}) => at).sort().at(-1) ?? facts.proposed().get(effect_id).leaf.at;
  return {since, until: momentOf(microseconds(since) + lasts(execute.within, name))};
}

/** What acted began in its window, and in its time. */
export function demandInWindow(facts) {
  for (const {record} of facts.receipts().filter((one) => isActed(one.record))) {
    const decision = facts.decided().get(record.decision_id), {name, record: {answer: {execute}}, leaf: {at}} = decision;
    if (execute && (at >= termOf(facts, decision).until || !isInWindow(name, execute, microseconds(at)))) {
      throw new Broken(name, `let its effect begin at ${at}, outside of its window`);
    }
  }
}

/** What waited for a window was told when it opens, as the decision says it. */
export function demandWaitedWell(facts) {
  for (const leaf of leavesOf(facts.bundle, "effect.waiting")) {
    const told = dataOf(WAITING_SHAPE, leaf), decision = facts.decided().get(told.decision_id);
    if (decision?.record.outcome !== "allow" || !decision.record.answer.execute) {
      throw brokenAt(leaf, `no decision ${told.decision_id} says when its effect may begin`);
    }
    const {name, record, leaf: decided} = decision, {since, until} = termOf(facts, decision);
    agree(name, `line ${leaf.seq}`, {
      effect_id: [record.effect_id, leaf.correlation.effect_id],
      place: [[decided.seq < leaf.seq, decided.at], [true, leaf.at]],
      since: [since, told.since],
      until: [until, told.until],
      opens_at: [openingOf(name, record.answer.execute, microseconds(leaf.at)), told.opens_at],
    });
    if (told.opens_at >= told.until) throw brokenAt(leaf, "waits for a window that opens when its time is over");
  }
}

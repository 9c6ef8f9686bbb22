// Step 8: the cards on which people voted.

import {canonical, digestOf, same} from "./canonical.js";
import {leavesAbout} from "./contents.js";
import {Broken} from "./errors.js";
import {approvalsOf} from "./facts.js";
import {brokenAt} from "./rules.js";

/** How the value of a button begins that is about a request as the card shows it. */
const REFERENCE = /^\{"id":"([^"\\]+)","digest":"([^"\\]+)","stamp":"([^"\\]*)"/;

/** Return the `value` of each button and of each entry of a menu, wherever it stands in a card. */
function valuesIn(part) {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, one]) =>
    (name === "value" && typeof one === "string" ? [one] : valuesIn(one)));
}

/** Each card is about its own approval: its buttons say so. */
export async function demandCards(facts) {
  const statuses = ["requested", "approved", "rejected", "expired", "canceled"];
  for (const {name, record: {id, digest, requirement, cards}} of approvalsOf(facts)) {
    const stamps = await Promise.all(statuses.map(async (status) =>
      (await digestOf([digest, requirement, status])).slice(0, 16)));
    for (const [place, card] of cards.entries()) {
      const named = valuesIn(card).filter((one) => one.includes('"digest":') && !one.includes('"digest":""'));
      if (!named.length) throw new Broken(name, `card ${place + 1} does not say which approval it is about`);
      for (const value of named) {
        const said = REFERENCE.exec(value);
        if (said && said[1] === id && said[2] === digest.slice(0, 16) && stamps.includes(said[3])) continue;
        throw new Broken(name, `card ${place + 1} is about something else than was asked: ${value.slice(0, 200)}`);
      }
    }
  }
}

/** Return a member of what may be no object. */
const memberIn = (value, name) => (typeof value === "object" && value !== null ? value[name] : null) ?? null;

/** Return the place of the leaf that first tells of a card, by its approval and digest. */
function firstShown({about}) {
  const found = new Map();
  for (const [id, leaves] of about) {
    for (const {event, seq, data: {digest = null}} of leaves) {
      const shown = canonical([id, digest]);
      if (event === "card.shown" && !found.has(shown)) found.set(shown, seq);
    }
  }
  return found;
}

/** What a receipt says was shown stands in the chain as a card that was shown. */
export function demandReceipted(facts) {
  const first = firstShown(facts.bundle);
  for (const {name, record: {connector, operation, request, response}, leaf} of facts.receipts()) {
    if (connector !== "slack" || !["post_card", "update_card"].includes(operation)) continue;
    const card = memberIn(response, "card"), about = memberIn(request, "approval_id");
    if (card === null) continue;
    const isShown = typeof about === "string" && first.get(canonical([about, card])) < leaf.seq;
    if (!isShown) throw new Broken(name, `says that the card ${card} was shown, and no card.shown of it stands before it`);
  }
}

/** A vote names the card that was shown last before it. */
export function demandShown(facts) {
  for (const {record: {id}} of approvalsOf(facts)) {
    let last = null;
    for (const leaf of leavesAbout(facts.bundle, id)) {
      const {event, data: {digest, card, person}} = leaf;
      if (event === "card.shown") last = digest;
      if (event !== "vote.counted" || same(card, last)) continue;
      throw brokenAt(leaf, `${person} voted when ${last ? `card ${last}` : "no card"} was the last that was shown`);
    }
  }
}

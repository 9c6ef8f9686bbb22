// Step 7: the chain names every record.

import {sha256, toUtf8} from "./bytes.js";
import {canonical, digestOf, same} from "./canonical.js";
import {allStanding, leavesAbout, leavesByApproval, leavesOf, memberOf, recordsOf, requestsOf} from "./contents.js";
import {Broken} from "./errors.js";
import {APPROVAL_ENDED, wordOf} from "./events.js";
import {AUDIT, MAX_CARD} from "./names.js";
import {APPROVAL_RECORD_SHAPE, DECISION_RECORD_SHAPE, READ_RECORD_SHAPE, RECEIPT_SHAPE} from "./shapes.generated.js";

/** Raise unless the leaves of an event name these files, in the chain's order, with their digests, and no others. */
export async function demandNamed(bundle, event, key, folder, identifiers) {
  const unnamed = new Set(identifiers.keys());
  for (const [index, leaf] of leavesOf(bundle, event).entries()) {
    const name = `${folder}/${String(index + 1).padStart(5, "0")}-${leaf.data[key]}.json`;
    if ((await sha256(memberOf(bundle, name))) !== leaf.data.digest) {
      throw new Broken(name, `its SHA-256 is not the digest in ${AUDIT} line ${leaf.seq}`);
    }
    if (identifiers.get(name) !== leaf.data[key]) throw new Broken(name, `${key} inside is ${identifiers.get(name)}`);
    unnamed.delete(name);
  }
  for (const name of unnamed) throw new Broken(name, `no line of ${AUDIT} names it`);
}

/** Return people with their verdicts, in one order. */
function verdicts(votes) {
  const said = votes.map(({person, verdict}) => [person ?? null, verdict ?? null]);
  return said.sort((one, other) => (canonical(one) < canonical(other) ? -1 : 1));
}

/** Raise unless an approval's file says what the chain says about it. */
function demandAsRequested(bundle, name, approval, requested) {
  const mine = name === `approvals/${approval.id}.json` ? leavesAbout(bundle, approval.id) : [];
  const votes = mine.filter(({event}) => event === "vote.counted").map(({data}) => data);
  const ends = mine.filter(({event}) => APPROVAL_ENDED.has(event)).map(({event}) => wordOf(event));
  for (const [what, ofFile, ofChain] of [
    ["id", `approvals/${approval.id}.json`, name],
    ["kind", approval.kind, requested.data.kind],
    ["effect_id", approval.effect_id, requested.correlation.effect_id],
    ["digest", approval.digest, requested.data.digest],
    ["requirement", approval.requirement, requested.data.requirement],
    ["votes", verdicts(approval.votes), verdicts(votes)],
    ["status", [approval.status], ends.length ? ends : ["requested"]],
  ]) {
    if (!same(ofFile, ofChain)) {
      const said = [ofFile, ofChain].map((value) => (typeof value === "string" ? value : canonical(value ?? null)));
      throw new Broken(name, `${what}: the file says ${said[0]}, and ${AUDIT} says ${said[1]}`);
    }
  }
}

/** The request, each vote and each card of an approval give the digests that the chain has. */
export async function demandAllBound({bundle}) {
  const requested = requestsOf(bundle);
  bundle.votes = new Map();
  bundle.questions = new Map();
  for (const [name, approval] of bundle.approvals) await demandBound(bundle, name, approval, requested.get(name));
}

/** Raise unless each card has a size that the program can have recorded. */
function demandCardSizes(bundle) {
  for (const [name, {cards}] of bundle.approvals) {
    for (const [place, card] of cards.entries()) {
      const size = toUtf8(canonical(card)).length;
      if (size > MAX_CARD) throw new Broken(name, `card ${place + 1} has ${size} bytes, and may have ${MAX_CARD}`);
    }
  }
}

/** Raise unless an approval gives the digests that the chain has. */
async function demandBound(bundle, name, approval, requested) {
  const {status, votes, cards, edited, questions, ...asked} = approval;
  if ((await digestOf(asked)) !== requested.data.asked) {
    throw new Broken(name, `what was asked is not what ${AUDIT} line ${requested.seq} binds`);
  }
  const bound = (event) =>
    leavesAbout(bundle, approval.id).filter((leaf) => leaf.event === event).map(({data}) => String(data.digest));
  const given = (values) => Promise.all(values.map(digestOf));
  const digests = await given(votes);
  bundle.questions.set(name, await questionsOf(questions));
  bundle.votes.set(name, new Map(digests.map((digest, index) => [digest, votes[index]])));
  if (!same(digests.sort(), bound("vote.counted").sort())) {
    throw new Broken(name, `its votes are not those that ${AUDIT} binds`);
  }
  if (!same(await given(cards), bound("card.shown"))) {
    throw new Broken(name, `its cards are not those that ${AUDIT} binds`);
  }
}

/** Return the questions of an approval, each with its answer, and the digests of both. */
function questionsOf(questions) {
  const found = (Array.isArray(questions) ? questions : []).filter((one) => one !== null && typeof one === "object");
  return Promise.all(found.map(async ({answer = null, ...question}) => ({
    question, answer, asked: await digestOf(question), answered: answer && await digestOf(answer),
  })));
}

/** Return whether the run says of itself that it is on mocks. */
const isOnMocks = (bundle) => leavesOf(bundle, "run.queued").some(({data}) => data.mocked === true);

/** Raise unless each receipt is of this run, and each decision's outcome is its answer's. */
function demandOwn(bundle) {
  const {run} = bundle;
  const onMocks = isOnMocks(bundle);
  for (const [name, {run_id, tenant, mocked}] of bundle.receipts) {
    const isOwn = run_id === run.run_id && tenant === run.tenant;
    if (!isOwn) throw new Broken(name, `is of run ${run_id} of tenant ${tenant}`);
    if ((mocked === true) !== onMocks) {
      throw new Broken(name, `is ${onMocks ? "not " : ""}of a run on mocks, and ${AUDIT} says otherwise`);
    }
  }
  for (const [name, {outcome, answer}] of bundle.decisions) {
    const said = answer.outcome;
    if (outcome !== said) throw new Broken(name, `outcome is ${outcome}, and its answer says ${said}`);
  }
}

/** Raise unless the chain names each approval, and says the same about it. */
function demandApprovals(bundle) {
  const requested = requestsOf(bundle);
  for (const name of [...new Set([...requested.keys(), ...bundle.approvals.keys()])].sort()) {
    if (!requested.has(name)) throw new Broken(name, `no line of ${AUDIT} names it`);
    memberOf(bundle, name);
    const approval = bundle.approvals.get(name);
    demandAsRequested(bundle, name, approval, requested.get(name));
  }
}

/** Step 7. */
export async function checkRecords(bundle) {
  const identifiers = (records, key) => new Map([...records].map(([name, record]) => [name, record[key]]));
  bundle.about = leavesByApproval(bundle.leaves);
  bundle.decisions = recordsOf(bundle, "decisions", DECISION_RECORD_SHAPE);
  await demandNamed(bundle, "decision.recorded", "decision_id", "decisions", identifiers(bundle.decisions, "id"));
  bundle.receipts = recordsOf(bundle, "receipts", RECEIPT_SHAPE);
  await demandNamed(bundle, "receipt.written", "receipt_id", "receipts", identifiers(bundle.receipts, "receipt_id"));
  demandOwn(bundle);
  bundle.approvals = recordsOf(bundle, "approvals", APPROVAL_RECORD_SHAPE);
  demandApprovals(bundle);
  demandCardSizes(bundle);
  bundle.standing = await allStanding(bundle);
  bundle.reads = recordsOf(bundle, "reads", READ_RECORD_SHAPE);
  const votes = [...bundle.approvals.values()].reduce((sum, approval) => sum + approval.votes.length, 0);
  return `${bundle.decisions.size} decisions, ${bundle.receipts.size} receipts, ${bundle.reads.size} reads,`
    + ` ${bundle.approvals.size} approvals and ${votes} votes are those that the chain names`;
}

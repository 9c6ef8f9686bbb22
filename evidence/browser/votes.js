// Steps 7 and 8: votes, by whom and when.

import {askedAt, isEndedBy, usesBreakGlass} from "./authority.js";
import {canonical, digestOf} from "./canonical.js";
import {leafHash} from "./chain.js";
import {delegatorOf, isFromConsole, peopleOf} from "./contents.js";
import {Broken} from "./errors.js";
import {approvalsOf, barredFrom, eachVote, standingBefore, UNTIL_KNOWN, untilOf} from "./facts.js";
import {agree, brokenAt, lineOf, saysSomething, stepOf} from "./rules.js";

/** Characters of a stamp. */
const STAMP_DIGITS = 16;

/** A vote says what its leaf says, which is by who voted. */
export function demandVotesTold(facts) {
  for (const {name, record: {effect_id, step}, votes} of approvalsOf(facts)) {
    for (const {record, leaf} of votes) {
      const {person, verdict, at} = record;
      agree(name, lineOf(leaf), {
        person: [person, leaf.data.person],
        verdict: [verdict, leaf.data.verdict],
        delegator: [delegatorOf(record), leaf.data.delegator ?? null],
        break_glass: [record.break_glass, leaf.data.break_glass],
        voter: [[person, "person"], [leaf.actor.id, leaf.actor.kind]],
        at: [at, leaf.at],
        effect_id: [effect_id, leaf.correlation.effect_id],
        step: [step, stepOf(leaf)],
      });
    }
  }
}

/** The leaf with which an approval ended says how many votes had been counted. */
export function demandVotesCounted(facts) {
  for (const {name, record, standing, end} of approvalsOf(facts)) {
    if (!end || end.event === "approval.canceled") continue;
    agree(name, lineOf(end), {
      votes: [standing.length, end.data.votes],
      effect_id: [record.effect_id, end.correlation.effect_id],
      step: [record.step, stepOf(end)],
    });
  }
}

/** Votes were counted in their approval's time, but where it is asked what became of an attempt. */
export function demandVotesInTime(facts) {
  eachVote(facts, ({record: {id, kind, expires_at}}, {record: {person}, leaf}) => {
    const until = untilOf(facts, id, expires_at, leaf);
    if (!UNTIL_KNOWN.has(kind) && leaf.at >= until) {
      throw brokenAt(leaf, `${person} voted after ${until}, when approval ${id} had expired`);
    }
  });
}

/** Votes were counted after the request and before the end. */
export function demandVotesWhileOpen(facts) {
  eachVote(facts, ({record: {id}, leaf: {seq: asked}, end}, {record: {person}, leaf}) => {
    if (asked >= leaf.seq || leaf.seq >= (end?.seq ?? Infinity)) {
      throw brokenAt(leaf, `approval ${id} was not open when ${person} voted`);
    }
  });
}

/** No two votes came from one account. */
export function demandAccounts(facts) {
  eachVote(facts, (approval, vote) => {
    const before = standingBefore(approval, vote.leaf).map((one) => [one.record.person, accountsOf(one).map(canonical)]);
    for (const account of accountsOf(vote)) {
      const other = before.find(([, accounts]) => accounts.includes(canonical(account)));
      if (other) {
        throw new Broken(approval.name, `${other[0]} and ${vote.record.person} voted from one account, ${account[2]}`);
      }
    }
  });
}

/** Return the accounts behind a vote: Slack's, and that of the console. */
const accountsOf = ({record: {slack, console: there}}) => [
  ["slack", slack.team, slack.user], ...(there ? [["console", there.issuer, there.subject]] : []),
];

/** A vote says what the console showed if it came from there, and that was the request as it was. */
export async function demandConsole(facts) {
  for (const {name, record, votes} of approvalsOf(facts)) {
    for (const {record: vote} of votes) {
      if ((vote.console !== undefined) !== isFromConsole(vote)) {
        const said = vote.console ? "says what the console showed" : "does not say what the console showed";
        throw new Broken(name, `the vote of ${vote.person} ${said}, and came otherwise`);
      }
      if (vote.console) await demandPage(name, record, vote);
    }
  }
}

/** Raise unless the page on which a vote was given showed what was asked, as it stands while it is open. */
async function demandPage(name, {id, digest, requirement}, {person, console: {shown}}) {
  const stamp = (await digestOf([digest, requirement, "requested"])).slice(0, STAMP_DIGITS);
  if (shown.id !== id || shown.digest !== digest || shown.stamp !== stamp) {
    throw new Broken(name, `the page on which ${person} voted showed something else than was asked`);
  }
}

/** Who gave a vote might, whatever it says and whatever came of it. */
export function demandVoters(facts) {
  for (const approval of approvalsOf(facts)) {
    const asked = askedAt(facts.bundle, approval.record), barred = barredFrom(facts, approval);
    for (const vote of approval.votes) {
      const wrong = whyNoVoter(approval, vote, asked.get(vote.leaf.seq), barred);
      if (wrong) throw brokenAt(vote.leaf, `the vote of ${vote.record.person} does not count: ${wrong}`);
    }
  }
}

/** Return why a vote might not be given, "" where it might; `asked` are the groups by then. */
function whyNoVoter(approval, {record, leaf}, asked, barred) {
  const people = peopleOf(record), leave = record.delegation ? [record.delegation.recorded_by] : [];
  const wanting = [...people, ...leave].find((person) => barred.has(person));
  if (wanting !== undefined) return `${wanting} wanted it, or was excluded`;
  const voted = standingBefore(approval, leaf).flatMap((other) => peopleOf(other.record));
  if (people.some((person) => voted.includes(person))) return "they had voted";
  const isAsked = record.groups.some((group) => asked.includes(group));
  if (isAsked || usesBreakGlass(approval.record.requirement, record)) return "";
  return "they are in none of the groups that were asked";
}

/** Who has to say why, did. */
export function demandReasons(facts) {
  eachVote(facts, ({name, record: {requirement}}, {record: {person, verdict, reason}}) => {
    const isWanted = verdict !== "approve" || requirement.reason_required;
    if (isWanted && !saysSomething(reason)) {
      throw new Broken(name, `the vote of ${person} has to have a reason, and has none`);
    }
  });
}

/** Raise unless each act on which a vote rests gives its hash and is one of the tenant's chain. */
export async function demandOfTenant(facts, name, whose, acts) {
  for (const leaf of acts) {
    if ((await leafHash(leaf)) !== leaf.hash || leaf.run_id !== `tenant_${facts.run.tenant}`) {
      throw new Broken(name, `${whose}: leaf ${leaf.seq} is not one of the tenant's chain`);
    }
  }
}

/** One vote that rejects ends its approval. */
export function demandRejections(facts) {
  for (const {name, record: {status, kind, requirement}, votes} of approvalsOf(facts)) {
    const ends = votes.map(({record}) => isEndedBy(requirement, record)), rejects = ends.at(-1) ?? false;
    if (ends.slice(0, -1).includes(true)) {
      throw new Broken(name, "counts votes after one that rejects");
    }
    if (rejects !== (status === "rejected")) {
      throw new Broken(name, `is ${status}, and ${rejects ? "a vote rejects" : "no vote rejects"}`);
    }
    if (UNTIL_KNOWN.has(kind) && votes.some(({record}) => record.verdict === "changes")) {
      throw new Broken(name, "asks for changes of what has happened, or may have");
    }
  }
}

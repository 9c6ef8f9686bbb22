// What people are shown of a bundle. Nothing of it is, before all of it holds.

import {isEndedBy} from "./authority.js";
import {countingVotes, leavesAbout, leavesOf} from "./contents.js";
import {addressOf, inside} from "./definition.js";
import {entries, heading, make, named, quoted, terms, when} from "./elements.js";
import {SUMMARY} from "./names.js";
import {some} from "./rules.js";

const LONGEST_PAGE = 100_000;
const VERDICTS = {approve: "approved", reject: "rejected", changes: "asked for changes"};

const AGAINST = {
  reject: ["voted no", "is against this action, which did not end the request"],
  changes: ["asked for changes", "says what should change, which did not end the request"],
};

const MEANINGS = {
  effect: {
    approve: "authorizes exactly this action, once", reject: "forbids this action",
    changes: "forbids this action as it is, and says what should change",
  },
  task: {
    approve: "has reviewed it, and accepts it", reject: "has reviewed it, and does not accept it",
    changes: "has reviewed it, and says what should change",
  },
  in_doubt: {approve: "states that it happened", reject: "states that it did not happen"},
  afterwards: {
    approve: "has looked into it, and finds it justified", reject: "has looked into it, and finds it not justified",
  },
};

const STATUSES = {
  requested: "Not decided", approved: "Approved", rejected: "Rejected", expired: "Expired", canceled: "Canceled",
  succeeded: "Succeeded", failed_terminal: "Failed",
};

const DONE = {success: "Done", failure: "Failed", refusal: "Refused, not done", in_doubt: "May have been done"};

const KINDS = {
  effect: "An action that needed approval", task: "A task for people", in_doubt: "Whether an attempt had happened",
  afterwards: "Whether it was right to use break-glass",
};

/** Return how a run ended: by the word of its runbook, where that has one. */
function endingOf({outcome, status}) {
  if (!outcome) return [named(STATUSES, status)];
  return [quoted(outcome.replaceAll("_", " ")), "; the run itself ", named(STATUSES, status)];
}

const BRANCH_WORDS = {success: "done", failure: "failed", timeout: "out of time", rejected: "rejected",
  changes_requested: "changes requested"};

/** Return a path as people read it: `docs, round 3: request`; what is no path as it is. */
function pathInWords({definition: {steps}}, path) {
  if (!steps.some(({id}) => id === addressOf(path))) return path;
  const branches = new Set(steps.filter((step) => Object.hasOwn(step, "branch")).map(({id}) => id));
  let words = "", id = "";
  for (const part of path.split(".")) {
    const [, name, number] = /^(.*?)(?:\[([0-9]{1,9})\])?$/s.exec(part);
    id = inside(id, name);
    const isEnding = branches.has(id) && Object.hasOwn(BRANCH_WORDS, name);
    words += isEnding ? `, ${BRANCH_WORDS[name]}` : (words ? ": " : "") + name.replaceAll("_", " ");
    words += number === undefined ? "" : `, round ${Number(number) + 1}`;
  }
  return words;
}

/** Say in which log the run stands, and who is known to have signed that. */
function showLog({origin, size}, {logKeys, witnesses}) {
  const known = logKeys.length ? ", signed by its key" : ", whose key was not given";
  return [quoted(origin, "mono"), ` of ${size} leaves${known}`, witnesses.length ? ", and cosigned" : ""];
}

/** Say who asked for what, and how it ended. */
function showRun({run, leaves, definition, ended, sha256, key, facts, trust}) {
  const {title} = definition, {name, version} = run.definition;
  const by = run.submitted_by === run.requested_by ? [] : [", submitted by ", quoted(run.submitted_by)];
  const data = leaves[0].data, trigger = data.trigger_ref ?? null;
  return [
    heading("What was asked, and how it ended"),
    terms(
      ["Asked for", [...(typeof title === "string" ? [quoted(title), ": "] : []), quoted(name), ` version ${version}`]],
      ["By", [quoted(run.requested_by), ...by]],
      ["When", when(leaves[0].at)],
      ["About", trigger === null ? null : [quoted(data.trigger_type), " ", quoted(trigger)]],
      ["Ended", [make("strong", {}, ...endingOf(run)), ", ", when(ended.at)]],
      ["Because", ended.data.error ? quoted(ended.data.error) : null],
      ["Run", [quoted(run.run_id, "mono"), " of ", quoted(run.tenant)]],
      ["File (SHA-256)", quoted(sha256, "mono")],
      ["Signed by (key)", quoted(key.id, "mono")],
      ["In the log", facts?.checkpoint ? showLog(facts.checkpoint, trust) : null],
    ),
  ];
}

/** Say what one person answered, in which words and when. */
function showVote(bundle, approval, vote) {
  const {person, person_name, verdict, reason} = vote;
  const counted = leavesAbout(bundle, approval.id).filter(({event}) => event === "vote.counted");
  const mine = counted.filter(({data}) => data.person === person);
  const {at: moment} = mine.find(({at}) => at === vote.at) ?? mine.at(-1);
  const isWithdrawn = !countingVotes(bundle, approval).includes(vote);
  const alone = vote.break_glass ? [" by using break-glass (", quoted(vote.break_glass.ticket), ")"] : [];
  const name = person_name ? [quoted(person_name), " (", quoted(person), ")"] : [quoted(person)];
  const isAgainst = verdict !== "approve" && !isEndedBy(approval.requirement, vote);
  const [said, meaning] = isAgainst ? AGAINST[verdict] : [VERDICTS[verdict], MEANINGS[approval.kind][verdict]];
  const words = reason ? ["“", quoted(reason), "”"] : [make("span", {class: "soft"}, "no reason given")];
  return make("li", {},
    make("p", {}, ...name, " ", make("strong", {}, said), ...alone, ", ", when(moment)),
    make("p", {}, ...words),
    make("p", {class: "soft"}, ...(isWithdrawn ? ["It was withdrawn, and does not count."]
      : ["It means: ", quoted(person_name || person), " ", meaning])));
}

/** Return groups, joined by a word. */
const groupsIn = (groups, word) => groups.flatMap((group, index) => [...(index ? [` ${word} `] : []), quoted(group)]);

/** Say of which groups so many had to be, and who had a veto. */
function showClasses({classes = [], veto = []}) {
  const each = classes.flatMap(({quorum, groups, all_groups: every}, index) => [
    index ? " and " : ", among them ", `${quorum} of `, ...groupsIn(groups, every ? "and" : "or"),
    every ? ", one of each," : "",
  ]);
  return [...each, ...(veto.length ? ["; only a no of ", ...groupsIn(veto, "or"), " ended it"] : [])];
}

/** Say what people were asked, and what they answered. */
function showApproval(bundle, approval) {
  const {requirement, kind, status, purpose, step} = approval, {quorum, groups, all_groups: every} = requirement;
  const asked = leavesOf(bundle, "approval.requested").find(({data}) => data.approval_id === approval.id);
  const of = groupsIn(groups, every ? "and" : "or");
  const about = typeof step === "string" && step ? [", for step ", quoted(pathInWords(bundle, step))] : [];
  return [
    make("h3", {}, purpose ? quoted(purpose) : KINDS[kind]),
    make("p", {class: "soft"}, KINDS[kind], ...about, ", asked ", when(asked.at)),
    make("p", {}, make("strong", {}, STATUSES[status]), `: ${quorum} of `, ...of, " had to approve", ...showClasses(requirement)),
    make("ul", {}, ...approval.votes.map((vote) => showVote(bundle, approval, vote))),
  ];
}

/** Say what was done, or tried. */
function showReceipt(bundle, {connector, operation, target, step, outcome, started_at, error, reversible_by}) {
  const undo = reversible_by === null ? ["cannot be undone"] : ["to undo it: ", quoted(reversible_by)];
  return [
    make("h3", {}, make("strong", {}, DONE[outcome]), ": ", quoted(operation), " on ", quoted(target)),
    make("p", {class: "soft"},
      "by ", quoted(connector), ", for step ", quoted(pathInWords(bundle, step)), ", ", when(started_at), "; ", ...undo),
    error ? make("p", {}, quoted(error)) : null,
  ];
}

/** Say how many decisions are by a policy that nobody had activated. */
function showDevelopment(decisions) {
  const count = decisions.filter(({development}) => development).length;
  if (!count) return [];
  const asked = some(decisions.length, "decision", "decisions");
  const words = `For development: ${count} of ${asked} came from a policy that nobody had activated.`;
  return [make("p", {}, make("strong", {}, words))];
}

/** Show the text that the sealer wrote for people, as text. */
function showWords({members}) {
  if (!members.has(SUMMARY)) return [];
  const text = new TextDecoder().decode(members.get(SUMMARY));
  return [make("details", {},
    make("summary", {}, `In the words of the bundle: ${SUMMARY}`),
    make("p", {class: "soft"}, "As it was signed. That it follows from the records, this page does not check."),
    quoted(text, "text", LONGEST_PAGE))];
}

/** Return the summary of a bundle that holds. */
export function summaryOf(bundle) {
  const placeOf = new Map(leavesOf(bundle, "approval.requested").map(({data, seq}) => [data.approval_id, seq]));
  const approvals = [...bundle.approvals.values()].sort((one, other) => placeOf.get(one.id) - placeOf.get(other.id));
  const receipts = [...bundle.receipts.values()], ofSteps = receipts.filter(({step}) => step !== "");
  const decisions = [...bundle.decisions.values()], answers = decisions.map(({outcome}) => outcome);
  const count = (outcome) => answers.filter((answer) => answer === outcome).length;
  const other = some(receipts.length - ofSteps.length, "receipt", "receipts");
  return [
    ...showRun(bundle),
    ...showDevelopment(decisions),
    heading("What people decided"),
    ...entries(approvals, (approval) => showApproval(bundle, approval), "Nobody was asked."),
    heading("What was done"),
    ...entries(ofSteps, (receipt) => showReceipt(bundle, receipt), "Nothing outside was changed."),
    make("p", {class: "soft last"},
      `Beside these, ${other} of cards and messages in the chat. Policy was asked`
      + ` ${some(answers.length, "time", "times")}: ${count("allow")} allowed, ${count("needs_approval")} needed`
      + ` approval, ${count("deny")} denied.`),
    ...showWords(bundle),
  ];
}

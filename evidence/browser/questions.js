// Step 8: questions about requests.

import {canonical, same} from "./canonical.js";
import {Broken} from "./errors.js";
import {isOfQuestion} from "./events.js";
import {approvalsOf, isDecidable, isOpenAt, UNTIL_KNOWN, untilOf, whoMayNot} from "./facts.js";
import {AUDIT} from "./names.js";
import {brokenAt, dataOf, lasts, microseconds, momentOf, saysSomething} from "./rules.js";
import {QUESTION_LEAF_SHAPE} from "./shapes.generated.js";

/** Return what leaves have to tell of questions: approval, question, and the event of that or of its answer. */
function partsOfQuestions(facts) {
  return new Set(approvalsOf(facts).flatMap(({name, record}) =>
    facts.bundle.questions.get(name).flatMap(({question, answer}) =>
      ["question.asked", ...(answer ? ["question.answered"] : [])].map((event) =>
        canonical([record.id, question.id, event])))));
}

/** Each question and each answer is told once, by whom, and while its approval was open. */
export function demandQuestions(facts) {
  const untold = partsOfQuestions(facts);
  for (const {name} of approvalsOf(facts)) {
    const ids = facts.bundle.questions.get(name).map(({question}) => question.id);
    if (new Set(ids).size < ids.length) throw new Broken(name, "has two questions of one id");
  }
  for (const leaf of facts.leaves) {
    if (leaf.event !== "question.asked" && leaf.event !== "question.answered") continue;
    const {approval_id, question_id} = dataOf(QUESTION_LEAF_SHAPE, leaf);
    demandQuestion(facts, leaf);
    const [part, first] = [leaf.event, "question.asked"].map((event) => canonical([approval_id, question_id, event]));
    if (!untold.has(part) || (part !== first && untold.has(first))) {
      throw brokenAt(leaf, `question ${question_id} was not asked, or is told twice`);
    }
    untold.delete(part);
  }
  if (untold.size) {
    const [approval, question, event] = JSON.parse([...untold].sort()[0]);
    throw new Broken(`approvals/${approval}.json`, `no line of ${AUDIT} is the ${event} of ${question}`);
  }
}

/** A question's leaf, or its answer's, is by whom the record says, and has what that has. */
function demandQuestion(facts, leaf) {
  const {approval_id, question_id, person, digest} = leaf.data, approval = facts.approvals().get(approval_id);
  if (!approval || !isOpenAt(approval, leaf) || UNTIL_KNOWN.has(approval.record.kind)) {
    throw brokenAt(leaf, "is not about an approval that was open, and takes questions");
  }
  const there = facts.bundle.questions.get(approval.name).filter(({question}) =>
    question.id === question_id && question.person === person);
  if (there.length !== 1) throw brokenAt(leaf, `approval ${approval_id} has no question ${question_id} of ${person}`);
  const [{question, answer, asked, answered}] = there, isAsked = leaf.event === "question.asked";
  if (!isAsked && answer === null) throw brokenAt(leaf, `question ${question_id} has no answer`);
  if ((isAsked ? asked : answered) !== digest || leaf.at !== (isAsked ? question : answer).at) {
    throw brokenAt(leaf, "is not what the approval has of it");
  }
  const by = isAsked ? [person, "person"] : [answer.by, answer.kind];
  if (!same([leaf.actor.id, leaf.actor.kind], by)) throw brokenAt(leaf, `is by ${leaf.actor.id}, and ${by[0]} said it`);
  if (!isAsked && !mayAnswer(facts, person, answer)) {
    throw brokenAt(leaf, `${answer.by} answered, who had not asked for it`);
  }
  const {deadline = ""} = leaf.data, wanted = deadlineAfter(facts, approval, leaf);
  if (deadline !== wanted) {
    throw brokenAt(leaf, `has the deadline ${deadline || "of nothing"}, and it is ${wanted || "not moved"} by it`);
  }
}

/** Return whether who answered wanted the run, or did it for the group for questions and had not asked. */
function mayAnswer({run, definition}, person, {by, kind, group}) {
  if ([run.requested_by, run.submitted_by].includes(by)) return true;
  return group !== undefined && group === definition().questions_to && kind === "person" && by !== person;
}

/** Return the deadline that a question's leaf, or its answer's, has to tell; "" where it moves none. */
function deadlineAfter(facts, approval, leaf) {
  const {record: {id, expires_at, requirement: {pause_on_question: pause}}, name} = approval;
  if (pause === undefined) return "";
  const longest = lasts(pause, name);
  const by = pausedBy(facts, approval, longest, leaf.seq) - pausedBy(facts, approval, longest, leaf.seq - 1);
  return by ? momentOf(microseconds(untilOf(facts, id, expires_at, leaf)) + by) : "";
}

/** Return by how much the deadline is later, as the leaves up to one tell: while a question is open, by the longest. */
function pausedBy(facts, {name, record}, longest, seq) {
  const told = facts.leaves.slice(0, seq).filter((leaf) => isOfQuestion(leaf) && leaf.data.approval_id === record.id);
  const isTold = (event, {id}) => told.some((leaf) => leaf.event === event && leaf.data.question_id === id);
  const found = facts.bundle.questions.get(name).filter(({question}) => isTold("question.asked", question))
    .sort((one, other) => (one.question.at < other.question.at ? -1 : Number(one.question.at > other.question.at)));
  let lasted = 0n, end = microseconds(record.requested_at);
  for (const {question, answer} of found) {
    if (answer === null || !isTold("question.answered", question)) return longest;
    const at = microseconds(question.at), answered = microseconds(answer.at), start = at > end ? at : end;
    if (answered > start) lasted += answered - start;
    if (answered > end) end = answered;
  }
  return lasted < longest ? lasted : longest;
}

/** Who asked a question might decide, asked one at a time, and said something in time; so did who answered. */
export function demandAskers(facts) {
  const unanswered = new Set();
  for (const leaf of facts.leaves) {
    if (leaf.event !== "question.asked" && leaf.event !== "question.answered") continue;
    const {approval_id, question_id, person} = leaf.data, approval = facts.approvals().get(approval_id);
    const {question, answer} = facts.bundle.questions.get(approval.name).find((one) => one.question.id === question_id);
    const isAsked = leaf.event === "question.asked", whose = canonical([approval_id, person]);
    if (!saysSomething(isAsked ? question.question : answer.text)) throw brokenAt(leaf, "says nothing");
    if (!isDecidable(facts, approval, leaf)) throw brokenAt(leaf, `came when approval ${approval_id} had expired`);
    if (isAsked && (unanswered.has(whose) || whoMayNot(facts, approval, leaf).has(person))) {
      throw brokenAt(leaf, `${person} could not ask this`);
    }
    if (isAsked) unanswered.add(whose);
    else unanswered.delete(whose);
  }
}

// Step 11: the run began and ended as its chain says.

import {canonical, same} from "./canonical.js";
import {wordOfRun} from "./chain.js";
import {leavesOf, memberOf} from "./contents.js";
import {addressOf, isGovernedRead, passesGate} from "./definition.js";
import {Broken} from "./errors.js";
import {PROGRAM, RUN_ENDED, SETTLED, wordOf} from "./events.js";
import {calledBy} from "./facts.js";
import {AUDIT, DEFINITION, RUN} from "./names.js";
import {agree, brokenAt, dataOf, told} from "./rules.js";
import {parse} from "./shapes.js";
import {CANCEL_FORM_SHAPE, CHOSEN_SHAPE, DEFINITION_RECORD_SHAPE} from "./shapes.generated.js";

/** Return the steps to which somebody gave their result. */
export const suppliedSteps = (bundle) =>
  new Set(leavesOf(bundle, SETTLED).filter(({data}) => data.act === "supply").map(({correlation}) => correlation.step));

/** Return the steps whose answer came: from another program, or from the person who had the task. */
function answeredSteps(bundle) {
  const tasks = new Set([...bundle.approvals.values()].filter(({kind}) => kind === "task").map(({id}) => id));
  const answers = ["approval.approved", "approval.rejected"];
  const came = bundle.leaves.filter(({event, data}) =>
    event === "wait.completed" || (answers.includes(event) && tasks.has(data.approval_id)));
  return new Set(came.map(({correlation}) => correlation.step));
}

/** Return the steps that have such a receipt, each with what handled it. */
function handledSteps(bundle, isSuch) {
  const handled = ({step, connector, operation}) => canonical([step, `${connector}::${operation}`]);
  return new Set([...bundle.receipts.values()].filter(isSuch).map(handled));
}

/** Raise unless each step that succeeded and that writes has its receipt; return how many those are. */
function demandWrites(bundle) {
  const {steps, verbs} = bundle.definition;
  const called = new Map(steps.map(({id, verb}) => [id, verb ?? ""]));
  const begun = handledSteps(bundle, () => true), done = handledSteps(bundle, ({outcome}) => outcome === "success");
  const repeated = new Set(leavesOf(bundle, "effect.repeated").map(({correlation}) => correlation.step));
  const answered = answeredSteps(bundle), given = suppliedSteps(bundle);
  let writes = 0;
  for (const {seq, correlation: {step}} of leavesOf(bundle, "step.succeeded")) {
    const name = called.get(addressOf(String(step))), line = `line ${seq}:`;
    const verb = Object.hasOwn(verbs, name ?? "") ? verbs[name] : null;
    if (name === undefined || (name && !verb)) throw new Broken(AUDIT, `${line} no step ${step} is in ${DEFINITION}`);
    if (verb === null || !passesGate(verb)) continue;
    writes += Number(verb.effect.class === "write");
    const did = canonical([step, verb.execution.handler]);
    const isDone = done.has(did) || repeated.has(step) || given.has(step);
    if (!isDone && !(answered.has(step) && begun.has(did))) {
      throw new Broken(AUDIT, `${line} step ${step} succeeded, and no receipt says that it acted`);
    }
  }
  return writes;
}

/** Step 11. */
export function checkEnding(bundle) {
  const queued = leavesOf(bundle, "run.queued"), {run} = bundle;
  if (queued.length !== 1 || queued[0].seq !== 1) {
    throw new Broken(AUDIT, "run.queued is not its first line, or not only that");
  }
  const ended = bundle.leaves.findLast(({event}) => RUN_ENDED.has(event));
  if (!ended) throw new Broken(AUDIT, "does not say how the run ended");
  for (const [what, ofRun, ofChain] of [
    ["status", run.status, wordOf(ended.event)],
    ["requested_by", run.requested_by, queued[0].actor.id],
    ["submitted_by", run.submitted_by, queued[0].data.submitted_by],
    ["definition.digest", run.definition.digest, queued[0].data.definition_digest],
  ]) {
    if (ofRun !== ofChain) throw new Broken(RUN, `${what} is ${ofRun}, where ${AUDIT} says ${ofChain}`);
  }
  bundle.definition = parse(DEFINITION_RECORD_SHAPE, DEFINITION, memberOf(bundle, DEFINITION));
  bundle.ended = ended;
  return `asked for by ${run.requested_by}, and ${wordOfRun(run)}; ${demandWrites(bundle)} writes have their receipts`;
}

const RUN_STATUSES = new Set([
  "running", "waiting_approval", "waiting", "failed_retryable", "needs_attention", "succeeded", "failed_terminal", "canceled",
]);

/** Raise unless the run's version is one of those among which it was chosen, of which no two have one name. */
function demandChosen({run, leaves, definition}, among) {
  const {name, version} = definition(), own = {name, version, digest: run.definition.digest};
  const ofName = new Map(among.map((one) => [one.name, {name: one.name, version: one.version, digest: one.digest}]));
  if (ofName.size < among.length || (among.length && !same(ofName.get(name) ?? null, own))) {
    throw brokenAt(leaves[0], `${name} version ${version} is not what was chosen among what it names`);
  }
}

/** The definition is the one that was queued. */
export function demandDefinition(facts) {
  const {leaves, definition} = facts;
  const {name, version, trigger} = definition(), {data} = leaves[0];
  agree(DEFINITION, `${AUDIT} line 1`, {
    name: [name, data.definition_name],
    version: [version, data.definition_version],
    "trigger.type": [trigger.type, data.trigger_type],
  });
  const saysAbout = (trigger.about ?? null) !== null;
  if (saysAbout !== Object.hasOwn(data, "about")) {
    throw brokenAt(leaves[0], "it says what the run is about, or not, other than the definition's trigger");
  }
  const saysWhen = (trigger.when ?? null) !== null;
  if (saysWhen !== Object.hasOwn(data, "among")) {
    throw brokenAt(leaves[0], "it says what was to choose among, or not, other than the definition's trigger");
  }
  if (saysWhen) demandChosen(facts, dataOf(CHOSEN_SHAPE, leaves[0]).among);
}

/** The run moved from status to status, started once and ended once. */
export function demandMoves({leaves}) {
  let status = "queued", isAsked = false;
  for (const leaf of leaves) {
    const {event, seq} = leaf, word = wordOf(event), from = leaf.data.from;
    if (event === "run.cancel_requested") {
      const {policy = null} = dataOf(CANCEL_FORM_SHAPE, leaf), {actor} = leaf;
      if (policy === null && !same(actor, PROGRAM)) {
        throw brokenAt(leaf, `${actor.id} wanted it canceled, and by no decision of policy`);
      }
      isAsked = true;
    }
    const isFirst = status === "queued" && seq === 2;
    if (event === "run.started" && !isFirst) throw brokenAt(leaf, "the run had started before");
    if (!event.startsWith("run.") || !RUN_STATUSES.has(word)) continue;
    if (RUN_ENDED.has(`run.${status}`) || !same(from, status)) {
      throw brokenAt(leaf, `${event} from ${told(from)}, and the run was ${status}`);
    }
    if (word === "canceled" && !isAsked) throw brokenAt(leaf, "the run was canceled, and nobody had asked for that");
    status = word;
  }
}

/** The run came to what its steps came to, or what the `end` said that ended it. */
export function demandOutcome(facts) {
  const ends = facts.plan().inOrder(facts.ofSteps().keys()).map((path) => [path, facts.ofSteps().get(path).at(-1)]);
  const failed = ends.find(([, {event}]) => event === "step.failed_terminal");
  const isCanceled = ends.some(([, {event}]) => event === "step.canceled");
  const {event, data} = facts.end(), [stop, another] = facts.stopped();
  if (another) throw new Broken(AUDIT, `both ${stop} and ${another} ended the run`);
  if (failed && stop) throw new Broken(AUDIT, `step ${failed[0]} failed, and ${stop} ended the run`);
  const wellEnded = isCanceled && !stop ? "canceled" : "succeeded", status = failed ? "failed_terminal" : wellEnded;
  const mayGive = ((stop ? facts.plan().node(stop).end.result : facts.definition().output) ?? null) !== null;
  const gives = Object.hasOwn(data, "output");
  const isUnsaid = status === "succeeded" && !stop && mayGive && !gives && String(data.error).startsWith("output: ");
  const unsaid = isUnsaid ? data.error : "";
  agree(RUN, `its steps in ${AUDIT}`, {
    status: [wordOf(event), status],
    outcome: [data.outcome, stop && facts.plan().node(stop).end.outcome],
    error: [data.error, failed ? `${failed[0]}: ${failed[1].data.error ?? ""}` : unsaid],
  });
  if (gives !== (status === "succeeded" && mayGive && !isUnsaid)) {
    throw new Broken(RUN, gives ? "has an output, and none was given" : "has no output, and one was given");
  }
}

/** The run's writes are its receipts. */
export function demandWritten(facts) {
  const {seq, data: {writes}} = facts.end();
  const isReading = (verb) => Boolean(verb) && isGovernedRead(verb);
  const isDone = ({record: {outcome, step}, leaf}) =>
    outcome === "success" && step && leaf.seq < seq && !isReading(calledBy(facts, step));
  const done = facts.receipts().filter(isDone).length;
  if (!same(writes, done)) throw new Broken(RUN, `writes is ${told(writes)}, and ${done} receipts say success`);
}

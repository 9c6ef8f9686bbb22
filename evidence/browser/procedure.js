// The procedure: its steps, and the rules of each.

import {demandApprovalsEnded, demandToldOfApprovals, demandUsedOnce} from "./approvals.js";
import {
  checkOrder, demandReceiptsInTime, demandReceiptsOfEffect, demandReceiptsOfFailures, demandReceiptsTold,
} from "./attempts.js";
import {demandBegunWith, demandIncluded, demandLogSigned, demandWitnessed} from "./audit_log.js";
import {checkAuthority} from "./authority.js";
import {demandBreakGlass, demandOfBreakGlassReview} from "./break_glass.js";
import {demandBudgetsEnded, demandOfBudgets, demandReserved, demandSpent} from "./budgets.js";
import {demandCards, demandReceipted, demandShown} from "./cards.js";
import {checkChain, checkRun, demandAbout, demandActors, demandEnd, demandInTime, demandRun} from "./chain.js";
import {demandChildren} from "./child_runs.js";
import {demandBlocksEnded, demandBranches, demandCases, demandEntered, demandRounds} from "./control_flow.js";
import {
  checkPolicies, demandDecisionsOfEffect, demandDecisionsOfRun, demandDecisionsTold, demandNamedPeople, demandRules,
  demandTier,
} from "./decisions.js";
import {demandDelegations, demandForOthers} from "./delegations.js";
import {
  demandApart, demandChanges, demandEditors, demandEditsInPlace, demandEditsTold, demandToldOfEdits,
} from "./edits.js";
import {demandAsDeclared, demandOfDefinition, demandWhileWanted} from "./effects.js";
import {demandEscalated} from "./escalations.js";
import {demandInWindow, demandWaitedWell} from "./execution_windows.js";
import {checkMembers, checkSignature, checkStatement, checkZip} from "./first_steps.js";
import {checkRecords, demandAllBound} from "./members.js";
import {demandActsLogged, demandPasskeysRegistered, demandSignatures, demandSigned} from "./passkey_votes.js";
import {demandAskers, demandQuestions} from "./questions.js";
import {demandCosts, demandReads, demandReadsDone, demandReadsInPlace} from "./reads.js";
import {
  demandAnsweredByHolder, demandBrought, demandClaimed, demandHanded, demandRefused, demandWithdrawn,
} from "./request_actions.js";
import {
  demandApprovalsTold, demandDoubtAnswered, demandFellBack, demandOfDoubt, demandOfPolicy, demandOfReview,
} from "./requests.js";
import {checkEnding, demandDefinition, demandMoves, demandOutcome, demandWritten} from "./runs.js";
import {demandAttention} from "./step_repairs.js";
import {
  demandAnswered, demandAsked, demandErrors, demandSkipped, demandStepsEnded, demandStepsInOrder,
} from "./steps.js";
import {
  demandAccounts, demandConsole, demandReasons, demandRejections, demandVoters, demandVotesCounted, demandVotesInTime,
  demandVotesTold, demandVotesWhileOpen,
} from "./votes.js";
import {demandOneWait, demandProgress, demandWaitsEnded, demandWaitsTold} from "./waits.js";

/**
 * The procedure: the step's number, what it asks, and what answers, which raises Broken or returns what it found; the
 * rules of docs/evidence-format.md that this looks at; and those that have a function each, in the order
 * of the program.
 */
export const STEPS = [
  [1, "The file is a ZIP in the one form of bundles", checkZip, ["archive.read", "archive.form"], []],
  [2, "The statement is signed by the key", checkSignature, ["statement.signed"], []],
  [3, "The statement is about a bundle", checkStatement, ["statement.form"], []],
  [4, "Every file is the one that was signed", checkMembers, ["members.signed", "members.named"], []],
  [5, "The run and its definition are those of the statement", checkRun, ["run.stated", "definition.digest"], []],
  [6, "The audit log is one unbroken chain, and tells the run", checkChain, [
    "chain.leaf-size", "chain.unbroken", "chain.format", "key.counted",
  ], [
    ["chain.in-time", demandInTime], ["chain.ended", demandEnd], ["run.as-told", demandRun],
    ["leaves.actors", demandActors], ["leaves.about", demandAbout], ["key.begun", demandBegunWith],
    ["log.signed", demandLogSigned], ["log.witnessed", demandWitnessed], ["log.inclusion", demandIncluded],
  ]],
  [7, "The chain names every record", checkRecords, [
    "decisions.on-record", "receipts.on-record", "receipts.of-run", "decisions.as-answered",
    "approvals.on-record", "cards.size",
  ], [
    ["approvals.bound", demandAllBound], ["reads.on-record", demandReads], ["reads.in-place", demandReadsInPlace],
    ["decisions.as-told", demandDecisionsTold], ["decisions.of-run", demandDecisionsOfRun],
    ["decisions.of-effect", demandDecisionsOfEffect], ["decisions.tier", demandTier],
    ["decisions.named", demandNamedPeople], ["decisions.rules", demandRules], ["receipts.as-told", demandReceiptsTold],
    ["receipts.of-effect", demandReceiptsOfEffect], ["receipts.in-time", demandReceiptsInTime],
    ["receipts.of-failures", demandReceiptsOfFailures],
    ["approvals.as-told", demandApprovalsTold], ["votes.as-told", demandVotesTold],
    ["votes.counted", demandVotesCounted], ["edits.as-told", demandEditsTold],
  ]],
  [8, "What was done had been allowed", checkAuthority, [
    "acts.allowed", "acts.as-decided", "approvals.consent", "acts.approved", "decisions.of-votes",
  ], [
    ["votes.in-time", demandVotesInTime], ["votes.while-open", demandVotesWhileOpen],
    ["votes.accounts", demandAccounts], ["votes.console", demandConsole], ["votes.reasons", demandReasons],
    ["votes.rejections", demandRejections],
    ["votes.entitled", demandVoters], ["votes.for-others", demandForOthers],
    ["votes.withdrawn", demandWithdrawn], ["approvals.handed", demandHanded],
    ["votes.refused", demandRefused],
    ["votes.break-glass", demandBreakGlass], ["approvals.of-break-glass-review", demandOfBreakGlassReview],
    ["votes.signed", demandSigned], ["passkeys.registered", demandPasskeysRegistered],
    ["passkeys.signed", demandSignatures], ["passkeys.logged", demandActsLogged],
    ["questions.told", demandQuestions], ["questions.asked", demandAskers],
    ["votes.brought", demandBrought], ["tasks.claimed", demandClaimed], ["tasks.answered", demandAnsweredByHolder],
    ["approvals.fell-back", demandFellBack],
    ["approvals.of-policy", demandOfPolicy], ["approvals.of-review", demandOfReview],
    ["approvals.of-doubt", demandOfDoubt], ["approvals.doubt-answered", demandDoubtAnswered],
    ["approvals.told", demandToldOfApprovals], ["approvals.used-once", demandUsedOnce],
    ["approvals.ended", demandApprovalsEnded], ["edits.in-place", demandEditsInPlace],
    ["edits.entitled", demandEditors], ["edits.changes", demandChanges], ["edits.told", demandToldOfEdits],
    ["edits.apart", demandApart],
    ["acts.in-window", demandInWindow], ["effects.waiting", demandWaitedWell],
    ["budgets.reserved", demandReserved], ["budgets.of-acts", demandOfBudgets],
    ["budgets.ended", demandBudgetsEnded], ["budgets.spent", demandSpent],
    ["cards.about", demandCards], ["votes.shown", demandShown],
    ["cards.receipted", demandReceipted], ["delegations.recorded", demandDelegations],
  ]],
  [9, "The policies are those that decided", checkPolicies, ["policies.digest", "policies.there", "policies.used"], []],
  [10, "Votes, decisions and acts are in order", checkOrder, [
    "receipts.lasting", "keys.once", "acts.after-decision", "acts.after-votes",
  ], [
    ["waits.as-told", demandWaitsTold], ["waits.one-at-a-time", demandOneWait], ["waits.ended", demandWaitsEnded],
    ["waits.children", demandChildren], ["waits.escalated", demandEscalated], ["waits.progress", demandProgress],
  ]],
  [11, "The run ended as its chain says", checkEnding, ["run.queued", "run.ended", "steps.receipts"], [
    ["run.definition", demandDefinition], ["run.moves", demandMoves], ["steps.ended", demandStepsEnded],
    ["steps.in-order", demandStepsInOrder], ["steps.skipped", demandSkipped], ["steps.answered", demandAnswered],
    ["steps.asked", demandAsked], ["blocks.entered", demandEntered], ["blocks.ended", demandBlocksEnded],
    ["blocks.rounds", demandRounds], ["steps.errors", demandErrors], ["blocks.case", demandCases],
    ["blocks.branch", demandBranches], ["steps.attention", demandAttention], ["run.outcome", demandOutcome], ["run.writes", demandWritten],
    ["effects.of-definition", demandOfDefinition], ["effects.as-declared", demandAsDeclared],
    ["effects.while-wanted", demandWhileWanted], ["reads.done", demandReadsDone],
  ]],
  [12, "The costs are the sums of the records", () => null, [], [["costs.sum", demandCosts]]],
];

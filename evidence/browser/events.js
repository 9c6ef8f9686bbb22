// The events of leaves, and what they come to.

export const RUN_ENDED = new Set(["run.succeeded", "run.failed_terminal", "run.canceled"]);
export const APPROVAL_ENDED = new Set(["approval.approved", "approval.rejected", "approval.expired", "approval.canceled"]);
export const WAIT_ENDED = new Set(["wait.completed", "wait.timed_out"]);
export const SETTLED = "repair.decided";
const STEP_OVER = new Set(["succeeded", "failed_handled", "failed_terminal", "skipped", "canceled"]);
export const WAIT_AFTER = {approved: "completed", rejected: "completed", expired: "timed_out", canceled: "canceled"};

/** Return what follows the first point of an event. */
export const wordOf = (event) => event.slice(event.indexOf(".") + 1);

export const PROPOSED = "effect.proposed";
export const EDITED = "effect.edited";
export const OPENED = "wait.opened";
export const ESCALATED = "wait.escalated";
export const STEP_ENDED = new Set([...STEP_OVER].map((word) => `step.${word}`));
export const STEP_STOPPED = new Set([...STEP_ENDED, "step.needs_attention"]);
export const STEP_DONE = new Set(["step.succeeded", "step.skipped", "step.failed_handled"]);
export const STEP_BEGUN = new Set(["step.parked", "step.succeeded"]);
export const STEP_FAILED = new Set(["step.failed_handled", "step.failed_terminal"]);

export const PROGRAM = {id: "countersign", kind: "system"};

/** Return whether a leaf tells of a question, or of its answer. */
export const isOfQuestion = ({event}) => event === "question.asked" || event === "question.answered";

// The names and limits of a bundle's members.

const MIB = 2 ** 20;
export const MAX_MEMBERS = 65535;
export const MAX_MEMBER_SIZE = 32 * MIB;
export const MAX_SIZE = 128 * MIB;
export const MAX_DEPTH = 100;
export const MAX_KEY_SIZE = 65536;
export const MAX_CARD = MIB;
export const MAX_LINE = 65609;
export const MAX_REGISTER_SIZE = MIB;
export const RUN = "run.json";
export const DEFINITION = "definition.json";
export const AUDIT = "audit.jsonl";
export const STATEMENT = "statement.dsse.json";
export const SUMMARY = "summary.md";
export const COSTS = "costs.json";
export const CHECKPOINT = "log/checkpoint.txt";
export const INCLUSION = "log/inclusion.json";
export const ACTS = "log/acts.json";
export const STAMP = "log/checkpoint.tsr";
export const PAYLOAD_TYPE = "application/vnd.in-toto+json";
export const IDENTIFIER = "[A-Za-z0-9_-]{1,128}";
export const PATH = "[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*";

/** The folders of which the statement counts the files. */
export const COUNTED = ["approvals", "decisions", "policies", "receipts", "reads"];

/** The format that the first leaf of a run names. */
export const FORMAT = 1;

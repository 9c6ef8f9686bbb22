// Step 6: who signed the log in which the chain stands, and that it does.

import {memberOf} from "./contents.js";
import {Broken} from "./errors.js";
import {CHECKPOINT, INCLUSION, STAMP, STATEMENT} from "./names.js";
import {openCheckpoint, parseCheckpoint, parseNote, verifiedBy} from "./notes.js";
import {checkInclusion, placed} from "./proofs.js";
import {asMember} from "./rules.js";
import {parse} from "./shapes.js";
import {INCLUSION_SHAPE} from "./shapes.generated.js";

/** The sealing began with the key that signed. */
export function demandBegunWith({leaves, bundle}) {
  const {data} = leaves.at(-1), id = bundle.key.id;
  if (data.key_id !== id) {
    throw new Broken(STATEMENT, `is signed by ${id}, and evidence.begun does not name that key`);
  }
}

/** Return the checkpoint of a bundle, opened with the log's keys where there are any; null where there is none. */
function checkpointOf({bundle}) {
  const {logKeys} = bundle.trust;
  if (!bundle.members.has(CHECKPOINT) && !logKeys.length) return null;
  return asMember(CHECKPOINT, async () => {
    const note = parseNote(memberOf(bundle, CHECKPOINT)), checkpoint = parseCheckpoint(note.text);
    if (logKeys.length) await openCheckpoint(note, checkpoint, logKeys);
    return {...checkpoint, note};
  });
}

/** The checkpoint is one, of the log whose key was given. */
export async function demandLogSigned(facts) {
  const {logKeys} = facts.bundle.trust, checkpoint = await checkpointOf(facts);
  facts.checkpoint = checkpoint;
  if (!checkpoint) return "they stand in no log";
  const unsigned = logKeys.length ? "" : ", whose key was not given";
  return `they stand among the ${checkpoint.size} leaves of the log ${checkpoint.origin}${unsigned}`;
}

/** As many witnesses as are asked for cosigned it. */
export async function demandWitnessed({bundle, checkpoint}) {
  const {witnesses, needed} = bundle.trust;
  if (!witnesses.length) return;
  const found = await asMember(CHECKPOINT, () => verifiedBy(checkpoint.note, witnesses));
  const who = new Set(found.map(({name}) => name));
  if (who.size < needed) {
    throw new Broken(CHECKPOINT, `is cosigned by ${who.size} of the witnesses, and must be by ${needed}`);
  }
  return who.size ? `cosigned by ${[...who].sort().join(", ")}` : null;
}

/** Each leaf stands at its place in the log. */
export async function demandIncluded({bundle, leaves, checkpoint}) {
  if (!checkpoint) {
    if (bundle.members.has(INCLUSION)) throw new Broken(CHECKPOINT, "is not in the bundle");
    return;
  }
  const {places, proof} = parse(INCLUSION_SHAPE, INCLUSION, memberOf(bundle, INCLUSION));
  await asMember(INCLUSION, async () => checkInclusion(checkpoint, placed(leaves, places), proof));
  return bundle.members.has(STAMP) ? `at ${STAMP}, a time stamp, this page does not look` : null;
}

// Steps 7, 11 and 12: what was read, and the costs.

import {toHex, toUtf8} from "./bytes.js";
import {canonical, same} from "./canonical.js";
import {definitionOf, grouped, leavesOf, memberOf, namedBy} from "./contents.js";
import {addressOf} from "./definition.js";
import {Broken} from "./errors.js";
import {demandNamed} from "./members.js";
import {COSTS, DEFINITION} from "./names.js";
import {brokenAt, lazily, lineOf, some} from "./rules.js";
import {suppliedSteps} from "./runs.js";

/** The chain names each read. */
export async function demandReads({bundle}) {
  const identifiers = new Map([...bundle.reads].map(([name, {read_id}]) => [name, read_id]));
  await demandNamed(bundle, "read.recorded", "read_id", "reads", identifiers);
}

/** Return whether a verb of the definition reads: a timer is of class `read`, too, and asks nobody. */
function isRead({verbs}, verb, governed = false) {
  const found = Object.hasOwn(verbs, verb) ? verbs[verb] : null;
  const reads = found !== null && found.effect.class === "read" && (found.execution.wait ?? null) !== "timer";
  return reads && (found.effect.governed ?? false) === governed;
}

/** Return the read records with their leaves, in their order. */
const readsOf = (bundle) => namedBy(bundle, "read.recorded", "read_id", "reads")
  .map(([name, leaf]) => ({name, leaf, read: bundle.reads.get(name)}));

/** A read record is of this run, of a step that reads, and told by its leaf; attempts are counted up to a success. */
export function demandReadsInPlace({bundle, run}) {
  const last = new Map(), definition = lazily(() => definitionOf(bundle));
  for (const {name, leaf, read} of readsOf(bundle)) {
    demandPlaceOf(definition, run, name, read);
    const {step, finished_at, started_at, outcome, response} = read;
    if (leaf.correlation.step !== step || leaf.at !== finished_at || started_at > finished_at) {
      throw new Broken(name, `its step or its time is not that of ${lineOf(leaf)}`);
    }
    if ((outcome === "success") !== (response !== null)) {
      throw new Broken(name, `says ${outcome}, and has a response where it must not, or none where it must`);
    }
    const before = last.get(step);
    if (before && (before.attempt >= read.attempt || before.outcome === "success")) {
      throw new Broken(name, `cannot follow the attempt in ${before.read_id}`);
    }
    last.set(step, read);
  }
}

/** Raise unless a read is of the run, and of a step whose verb reads with that handler. */
function demandPlaceOf(definitionOnce, run, name, {run_id, tenant, step, verb, handler}) {
  if (run_id !== run.run_id || tenant !== run.tenant) throw new Broken(name, `is of run ${run_id} of tenant ${tenant}`);
  const definition = definitionOnce(), found = definition.steps.findLast(({id}) => id === addressOf(step));
  if (found?.verb !== verb || !isRead(definition, verb)) {
    throw new Broken(name, `${DEFINITION} has no read ${verb} at the step ${step}`);
  }
  if (definition.verbs[verb].execution.handler !== handler) {
    throw new Broken(name, `its handler is not that of the verb ${verb}`);
  }
}

/** Return what the receipt of a read says that it got, as a commitment; null for nothing. */
function commitmentIn({outcome, response}) {
  const isMeasure = outcome === "success" && response !== null && typeof response === "object" && !Array.isArray(response);
  const got = isMeasure && Object.hasOwn(response, "commitment") ? response.commitment : null;
  return typeof got === "string" ? got : null;
}

/** Return what each step that reads got, by its newest record: a read record, or a receipt where the read is governed. */
function stepsGot({bundle, receipts}, plain, governed) {
  const recorded = readsOf(bundle).filter(({read}) => plain.has(addressOf(read.step))).map(({leaf, read}) =>
    [read.step, {seq: leaf.seq, id: read.read_id, got: read.response?.commitment ?? null}]);
  const received = receipts().filter(({record}) => governed.has(addressOf(record.step))).map(({leaf, record}) =>
    [record.step, {seq: leaf.seq, id: record.receipt_id, got: commitmentIn(record)}]);
  return new Map([...recorded, ...received]);
}

/** A step that reads succeeded with what its record got. */
export function demandReadsDone(facts) {
  const {bundle} = facts, {definition} = bundle;
  const [plain, governed] = [false, true].map((isGoverned) =>
    new Set(definition.steps.filter(({verb}) => isRead(definition, verb, isGoverned)).map(({id}) => id)));
  const done = stepsGot(facts, plain, governed), reads = new Set([...plain, ...governed]), given = suppliedSteps(bundle);
  for (const leaf of leavesOf(bundle, "step.succeeded")) {
    const {step} = leaf.correlation, found = done.get(step);
    if (!reads.has(addressOf(String(step))) || given.has(step)) continue;
    if (!found || found.got === null || found.seq > leaf.seq) {
      throw brokenAt(leaf, `step ${step} succeeded, and no record says that it read`);
    }
    if (!same(found.got, leaf.data.result)) {
      throw brokenAt(leaf, `its result is not what ${found.id} got`);
    }
  }
}

const PLACES = 12;

/** Return the exact sum of amounts, in its one spelling. */
function sumOf(amounts) {
  const scaled = (amount) => {
    const [units, fraction = ""] = amount.split(".");
    return BigInt(units + fraction.padEnd(PLACES, "0"));
  };
  const digits = String(amounts.reduce((sum, amount) => sum + scaled(amount), 0n)).padStart(PLACES + 1, "0");
  const fraction = digits.slice(-PLACES).replace(/0+$/, "");
  return digits.slice(0, -PLACES) + (fraction && `.${fraction}`);
}

/** Return the sums of amounts by name. */
function sumsOf(pairs) {
  return Object.fromEntries([...grouped(pairs)].map(([name, amounts]) => [name, sumOf(amounts)]));
}

/** Return what the usage of one provider and model adds up to. */
function costsOf(usages) {
  const [{provider, model}] = usages;
  const paid = usages.filter(({cost, currency}) => cost !== null && currency !== null);
  return {
    provider,
    model,
    calls: usages.length,
    calls_without_cost: usages.filter(({cost}) => cost === null).length,
    units: sumsOf(usages.flatMap(({units}) => Object.entries(units))),
    amounts: sumsOf(paid.map(({currency, cost}) => [currency, cost])),
  };
}

/** The costs are what the records add up to. */
export function demandCosts({bundle}) {
  const records = [...bundle.reads.values(), ...bundle.receipts.values()];
  const inOrder = ({provider, model}) => `${toHex(toUtf8(provider))} ${toHex(toUtf8(model ?? ""))}`;
  const byModel = grouped(records.flatMap(({told: said}) => said?.usage ?? []).map((usage) => [inOrder(usage), usage]));
  const sums = [...byModel.keys()].sort().map((key) => costsOf(byModel.get(key)));
  if (toHex(memberOf(bundle, COSTS)) !== toHex(toUtf8(canonical(sums)))) {
    throw new Broken(COSTS, "is not what the reads and the receipts add up to");
  }
  return `${COSTS} has the sums of ${some(sums.length, "model", "models")}`;
}

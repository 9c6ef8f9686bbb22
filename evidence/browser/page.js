// The page: files are chosen or dropped, and a verdict is shown.

import {heading, make, quoted, terms} from "./elements.js";
import {NoKey, sentenceOf} from "./errors.js";
import {MAX_KEY_SIZE, MAX_REGISTER_SIZE} from "./names.js";
import {STEPS} from "./procedure.js";
import {SENTENCES} from "./rules.generated.js";
import {readKey} from "./signing.js";
import {summaryOf} from "./summary.js";
import {BELOW, stepsFor, UNDONE, verifyBundle} from "./verify.js";

/** Return the line of one check. */
function checkLine(mark, spoken, kind, {number, title}, fact) {
  return make("li", {class: kind},
    make("span", {class: "mark", role: "img", "aria-label": spoken}, mark),
    make("div", {}, make("strong", {}, `${number}. ${title}`), fact ? make("p", {}, fact) : null));
}

/** Return the lines of all checks: what passed, what failed, and what was not looked at. */
function checkLines({passed, failure}) {
  const rest = stepsFor(givenBeside()).filter(([number]) => number > passed.length + (failure ? 1 : 0));
  return [
    ...passed.map((step) => checkLine("✓", "holds", "passed", step, quoted(step.fact))),
    ...(failure ? [checkLine("✗", "does not hold", "failed", failure, quoted(sentenceOf(failure)))] : []),
    ...rest.map(([number, title]) => checkLine("–", "not looked at", "untried", {number, title}, null)),
  ];
}

const at = (id) => document.getElementById(id);
const chosen = {bundle: null, key: null, register: null};
let turn = 0;

/** Return the lines of a field that are not empty. */
const linesIn = (id) => at(id).value.split("\n").map((line) => line.trim()).filter(Boolean);

/** Return what was given beside the key. */
function givenBeside() {
  const needed = at("needed").value;
  return {
    register: chosen.register,
    logKeys: linesIn("log-keys"),
    witnesses: linesIn("witness-keys"),
    needed: needed === "" ? null : Number(needed),
    children: [...at("children").files],
    undone: at("undone").files[0] ?? null,
  };
}

/** Show a verdict and, where there are any, the checks and the summary behind it. */
function showVerdict(kind, title, words, report = null) {
  at("verdict").className = kind;
  at("verdict").replaceChildren(make("p", {}, make("strong", {}, title), ...words));
  at("verdict").hidden = false;
  at("checking").hidden = report === null;
  at("checks").replaceChildren(...(report ? checkLines(report) : []));
  at("summary").hidden = !report?.bundle;
  at("summary").replaceChildren(...(report?.bundle ? summaryOf(report.bundle) : []));
}

/** Say whether the log's key was given. */
function logKeyWords({logKeys}) {
  return logKeys.length ? "Held against the log, too, as the log's key signed it."
    : "The log's key was not given: anyone with the evidence key could have invented all of this.";
}

/** Show what came of a verification. */
function showReport({name}, report) {
  const {sha256: digest, failure} = report;
  const file = [quoted(name), ...(digest ? [", SHA-256 ", quoted(digest, "mono")] : [])];
  if (!failure) {
    const words = [make("br", {}), logKeyWords(report.bundle.trust), make("br", {}), ...file];
    return showVerdict("good", "✓ Everything checked here holds", words, report);
  }
  const words = [`Step ${failure.number}: `, quoted(sentenceOf(failure)), make("br", {}), ...file];
  return showVerdict("bad", "✗ This bundle does not hold", words, report);
}

/** Verify what was chosen, as soon as both files are there; a later choice overtakes an earlier one. */
async function verifyChosen() {
  turn += 1;
  const mine = turn, {bundle, key} = chosen;
  if (!bundle || !key) return;
  const tell = ({number, title}) => mine === turn && showVerdict("", "Verifying …", [`Step ${number}: ${title}`]);
  try {
    const report = await verifyBundle(bundle, key, tell, givenBeside());
    if (mine === turn) showReport(bundle, report);
  } catch (error) {
    const words = error instanceof NoKey ? error.message : `The page could not finish: ${error.message}.`;
    if (mine === turn) showVerdict("bad", "Nothing was verified", [quoted(words)]);
  }
}

/** Take the file of a bundle. */
async function chooseBundle(file) {
  chosen.bundle = file;
  at("bundle-note").replaceChildren(`${file.size.toLocaleString("en")} bytes`);
  await verifyChosen();
}

/** Take the file of a key, and name the key; one that cannot be used leaves none. */
async function chooseKey(file) {
  turn += 1;
  chosen.key = null;
  try {
    if (file.size > MAX_KEY_SIZE) throw new NoKey("This is too large to be a public key.");
    const pem = await file.text(), {id} = await readKey(pem);
    chosen.key = pem;
    at("key-note").replaceChildren(quoted(file.name), ". Compare its id with its owner: ", quoted(id, "mono"));
  } catch (error) {
    at("key-note").replaceChildren(quoted(`${file.name}: ${error.message}`));
    showVerdict("bad", "Nothing was verified", [quoted(error.message)]);
    return;
  }
  await verifyChosen();
}

/** Take the file of a register of keys; whether it can be used is seen with the key. */
async function chooseRegister(file) {
  turn += 1;
  chosen.register = null;
  if (file.size > MAX_REGISTER_SIZE) {
    at("register-note").replaceChildren(quoted(`${file.name}: this is too large to be a register of keys.`));
    showVerdict("bad", "Nothing was verified", ["This is too large to be a register of keys."]);
    return;
  }
  chosen.register = new Uint8Array(await file.arrayBuffer());
  at("register-note").replaceChildren(quoted(file.name));
  await verifyChosen();
}

const CHOOSERS = {bundle: chooseBundle, key: chooseKey, register: chooseRegister};

/** Return which field takes a file that was dropped: that of a key, of a register of keys, or else of a bundle. */
async function fieldFor(file) {
  const text = file.size <= MAX_REGISTER_SIZE ? await file.text().catch(() => "") : "";
  if (text.startsWith('{"keys":')) return "register";
  return file.size <= MAX_KEY_SIZE && text.includes("-----BEGIN") ? "key" : "bundle";
}

/** Put a file into a field as if it had been chosen there, and take it. */
async function put(file, field) {
  const held = new DataTransfer();
  held.items.add(file);
  at(field).files = held.files;
  await CHOOSERS[field](file);
}

/** Take what was dropped: a bundle, a key, a register, or all of them. */
async function drop(event) {
  event.preventDefault();
  document.body.classList.remove("dropping");
  for (const file of [...event.dataTransfer.files].slice(0, 3)) await put(file, await fieldFor(file));
}

/** Return rules by their names, each with what it says. */
const rulesCalled = (names) => terms(...names.map((name) => [make("span", {class: "mono"}, name), SENTENCES.get(name)]));

/** Return what each step looks at, and the rules that are left to the program. */
function ruleLines() {
  const named = [...STEPS, BELOW, UNDONE].map(([number, title, , every, bound]) =>
    [`${number}. ${title}`, [...every, ...bound.map(([name]) => name)]]);
  const ours = new Set(named.flatMap(([, names]) => names));
  const others = [...SENTENCES.keys()].filter((name) => !ours.has(name));
  return [...named, ["Left to the program", others]].flatMap(([title, names]) =>
    [heading(title), rulesCalled(names)]);
}

/** Let the page answer. */
function begin() {
  at("rules").replaceChildren(...ruleLines());
  for (const [field, choose] of Object.entries(CHOOSERS)) {
    at(field).addEventListener("change", ({target}) => target.files.length && choose(target.files[0]));
  }
  for (const id of ["log-keys", "witness-keys", "needed", "children", "undone"]) at(id).addEventListener("change", verifyChosen);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
  addEventListener("drop", drop);
}

begin();

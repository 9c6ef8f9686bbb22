// Block Kit to elements.
import { h } from "./dom.js";
import { nodes, textObject, words } from "./text.js";

/** Draw blocks. `act(element, block, chosen)` is called when something is pressed; `errors` go under inputs. */
export function drawBlocks(blocks, act, errors = {}) {
  return (blocks ?? []).map((block) => DRAW[block.type]?.(block, act, errors)).filter(Boolean);
}

const DRAW = {
  header: (block) => textObject(block.text, "h2", "block block-header"),
  divider: () => h("hr", { class: "block block-divider" }),
  context: (block) => h("div", { class: "block block-context" }, block.elements.map((one) => textObject(one))),
  actions: (block, act) =>
    h("div", { class: "block block-actions" }, block.elements.map((one) => control(one, block, act))),
  section: drawSection,
  input: (block, act, errors) => drawInput(block, errors, block.dispatch_action ? act : null),
  table: drawTable,
  rich_text: (block) => h("div", { class: "block block-rich" }, block.elements.map(richPart)),
};

/** A table scrolls by itself where the screen is narrower. */
function drawTable(block) {
  const [head, ...lines] = block.rows.map((row, at) =>
    h("tr", {}, row.map((cell, column) => h(at ? "td" : "th", { class: `align-${align(block, column)}` }, tableCell(cell)))),
  );
  return h("div", { class: "block block-table" }, h("table", {}, h("thead", {}, head), h("tbody", {}, lines)));
}

function align(block, column) {
  return block.column_settings?.[column]?.align ?? "left";
}

function tableCell(cell) {
  return cell.type === "rich_text" ? cell.elements.map((one) => richPart(one)) : h("span", {}, nodes(cell.nodes));
}

function drawSection(block, act) {
  const fields = block.fields?.map((one) => textObject(one, "div", "field"));
  return h(
    "div",
    { class: "block block-section" },
    h(
      "div",
      { class: "section-text" },
      block.text ? textObject(block.text, "div") : null,
      fields ? h("div", { class: "fields" }, fields) : null,
    ),
    block.accessory ? h("div", { class: "accessory" }, control(block.accessory, block, act)) : null,
  );
}

function richPart(part) {
  const inside = () => part.elements.map((one) => richElement(one));
  switch (part.type) {
    case "rich_text_preformatted":
      return h("pre", {}, inside());
    case "rich_text_quote":
      return h("blockquote", {}, inside());
    case "rich_text_list":
      return h(part.style === "ordered" ? "ol" : "ul", {}, part.elements.map((one) => h("li", {}, one.elements.map(richElement))));
    default:
      return h("div", { class: "text" }, inside());
  }
}

function richElement(element) {
  const tags = { bold: "strong", italic: "em", strike: "s", code: "code" };
  const styles = Object.keys(element.style ?? {}).filter((name) => element.style[name] && tags[name]);
  return styles.reduce((inner, name) => h(tags[name], {}, inner), h("span", {}, nodes(element.nodes)));
}

function keyOf(element, block) {
  return `${block.block_id}/${element.action_id}`;
}

function control(element, block, act) {
  if (element.type === "overflow") return overflow(element, block, act);
  return element.type === "button" ? button(element, block, act) : chooser(element, block, (value) => act(element, block, value));
}

function button(element, block, act) {
  const style = element.style ? ` button-${element.style}` : "";
  return h(
    "button",
    {
      type: "button",
      class: `button${style}`,
      "aria-label": element.accessibility_label,
      data: { key: keyOf(element, block) },
      on: {
        click: async (event) => {
          const pressed = event.currentTarget;
          if (element.url) window.open(element.url, "_blank", "noopener,noreferrer");
          pressed.setAttribute("aria-busy", "true");
          await act(element, block);
          pressed.removeAttribute("aria-busy");
        },
      },
    },
    textObject(element.text),
  );
}

/** The menu behind three dots: what is chosen is done, and nothing stays chosen. */
function overflow(element, block, act) {
  const menu = select({ ...element, placeholder: { nodes: [{ v: "⋯" }] } }, keyOf(element, block), (value) => {
    menu.value = "";
    act(element, block, value);
  });
  menu.classList.add("overflow");
  menu.setAttribute("aria-label", "More actions");
  delete menu.dataset.field;
  return menu;
}

function chooser(element, block, changed) {
  const key = keyOf(element, block);
  if (element.type === "static_select") return select(element, key, changed);
  if (element.type === "users_select") return select({ ...element, options: everybody() }, key, changed);
  const kind = element.type === "checkboxes" ? "checkbox" : "radio";
  const start = new Set([element.initial_option, ...(element.initial_options ?? [])].filter(Boolean).map((one) => one.value));
  const group = h("div", { class: "choices", role: kind === "radio" ? "radiogroup" : "group", data: { field: key, kind } });
  const report = () => {
    const values = [...group.querySelectorAll("input:checked")].map((one) => one.value);
    changed?.(kind === "checkbox" ? values : values[0]);
  };
  group.append(
    ...element.options.map((option) =>
      h(
        "label",
        { class: "choice" },
        h("input", { type: kind, name: key, value: option.value, checked: start.has(option.value), on: { change: report } }),
        h("span", {}, textObject(option.text), option.description ? textObject(option.description, "div", "hint") : null),
      ),
    ),
  );
  return group;
}

let people = () => [];

/** Say who there is to be chosen: a function that returns the workspace's users. */
export function knowPeople(find) {
  people = find;
}

function everybody() {
  const there = people().filter((user) => !user.bot && !user.deactivated);
  return there.map((user) => ({ value: user.id, text: { nodes: [{ v: user.real_name || user.name }] } }));
}

function select(element, key, changed) {
  const placeholder = element.initial_option ? null : h("option", { value: "", text: words(element.placeholder) || "Choose…" });
  const options = element.options.map((option) =>
    h("option", { value: option.value, selected: option.value === element.initial_option?.value, text: words(option.text) }),
  );
  const report = (event) => event.target.value && changed?.(event.target.value);
  const name = words(element.placeholder) || "Choose";
  return h("select", { class: "input", "aria-label": name, data: { field: key, kind: "select", key }, on: { change: report } }, placeholder, options);
}

function drawInput(block, errors, act) {
  const { element } = block;
  const id = `input-${block.block_id}`;
  const error = errors[block.block_id];
  const field = drawField(element, block);
  if (act) dispatch(field, (value) => act(element, block, value));
  field.id = id;
  if (["radio", "checkbox", "select"].includes(field.dataset.kind)) field.setAttribute("aria-label", words(block.label));
  if (error) field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${id}-notes`);
  return h(
    "div",
    { class: `block block-input${error ? " has-error" : ""}` },
    h("label", { class: "label", for: id }, textObject(block.label), block.optional ? h("span", { class: "optional", text: " (optional)" }) : null),
    field,
    h(
      "div",
      { id: `${id}-notes` },
      error ? h("p", { class: "error", role: "alert", text: error }) : null,
      block.hint ? textObject(block.hint, "p", "hint") : null,
    ),
  );
}

/** Tell the app at once, on Enter, what is typed. */
function dispatch(field, tell) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || field.dataset.kind !== "text") return;
    event.preventDefault();
    tell(field.value);
  });
}

function drawField(element, block) {
  if (element.type === "plain_text_input") return textInput(element, block);
  if (element.type === "datepicker") return whenInput(element, block, "date", element.initial_date);
  if (element.type === "datetimepicker") return whenInput(element, block, "datetime-local", localMoment(element.initial_date_time));
  return chooser(element, block, null);
}

/** Return seconds since 1970 as a field for a moment has them: in the time zone of who looks, without seconds. */
function localMoment(seconds) {
  if (seconds === undefined) return "";
  const away = new Date(seconds * 1000).getTimezoneOffset() * 60;
  return new Date((seconds - away) * 1000).toISOString().slice(0, 16);
}

function whenInput(element, block, type, start) {
  const key = keyOf(element, block);
  const field = h("input", { class: "input", type, data: { field: key, kind: type, key } });
  field.value = start ?? "";
  return field;
}

function textInput(element, block) {
  const properties = {
    class: "input",
    placeholder: words(element.placeholder),
    autofocus: element.focus_on_load,
    data: { field: keyOf(element, block), kind: "text", key: keyOf(element, block) },
  };
  const field = element.multiline ? h("textarea", { ...properties, rows: 4 }) : h("input", { ...properties, type: "text", autocomplete: "off" });
  field.value = element.initial_value ?? "";
  return field;
}

/** Read what was entered, by block_id/action_id. */
export function readValues(form) {
  const values = {};
  for (const field of form.querySelectorAll("[data-field]")) {
    const { field: key, kind } = field.dataset;
    const checked = () => [...field.querySelectorAll("input:checked")].map((one) => one.value);
    if (kind === "datetime-local") {
      if (field.value) values[key] = String(Math.floor(new Date(field.value).getTime() / 1000));
    } else if (kind === "text" || kind === "date") values[key] = field.value;
    else if (kind === "checkbox") values[key] = checked();
    else if (kind === "radio" && checked().length) [values[key]] = checked();
    else if (kind === "select" && field.value) values[key] = field.value;
  }
  return values;
}

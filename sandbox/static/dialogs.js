// Modals that the app opened, confirmations, and passing warnings.
import { drawBlocks, readValues } from "./blocks.js";
import { h } from "./dom.js";
import { textObject } from "./text.js";

/** Keeps the open modal on the page; what was typed stays while the view stays. */
export class Modals {
  #shown = "";
  #dialog = null;

  constructor(page) {
    this.page = page;
  }

  show(view) {
    const key = view ? JSON.stringify([view.id, view.hash, view.errors]) : "";
    if (key === this.#shown) return;
    const typed = this.#dialog && view && this.#dialog.dataset.hash === view.hash ? readFields(this.#dialog) : null;
    this.#shown = key;
    this.#dialog?.remove();
    this.#dialog = view ? this.#draw(view) : null;
    if (!this.#dialog) return;
    if (typed) writeFields(this.#dialog, typed);
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    const first = this.#dialog.querySelector("[aria-invalid], [autofocus], textarea, input, select") ?? this.#dialog.querySelector(".modal-body");
    first?.focus({ preventScroll: !first.matches("[aria-invalid], [autofocus]") });
  }

  #draw(view) {
    const press = (element, block, chosen) => this.page.press({ view: "modal" }, element, block, chosen);
    const close = () => this.page.act({ action: "close" });
    const bot = this.page.appName();
    const submit = async (event) => {
      event.preventDefault();
      const button = event.target.querySelector("[type=submit]");
      button?.setAttribute("aria-busy", "true");
      await this.page.act({ action: "submit", values: readValues(event.target) });
      button?.removeAttribute("aria-busy");
    };
    const form = h(
      "form",
      { novalidate: true, on: { submit } },
      h("header", { class: "modal-head" }, h("div", {}, textObject(view.title, "h2"), h("p", { class: "modal-app", text: bot })), h("button", { type: "button", class: "plain", "aria-label": "Close", on: { click: close } }, "✕")),
      h("div", { class: "modal-body", tabindex: "-1" }, view.errors[""] ? h("p", { class: "error banner", role: "alert", text: view.errors[""] }) : null, drawBlocks(view.blocks, press, view.errors)),
      h(
        "footer",
        { class: "modal-foot" },
        h("button", { type: "button", class: "button", on: { click: close } }, view.close ? textObject(view.close) : "Close"),
        view.submit ? h("button", { type: "submit", class: "button button-primary" }, textObject(view.submit)) : null,
      ),
    );
    const cancel = (event) => {
      event.preventDefault();
      close();
    };
    return h("dialog", { class: "modal", "aria-label": "Dialog", data: { hash: view.hash }, on: { cancel } }, form);
  }
}

function readFields(dialog) {
  return [...dialog.querySelectorAll("input, textarea, select")].map((one) => [one.value, one.checked]);
}

function writeFields(dialog, typed) {
  [...dialog.querySelectorAll("input, textarea, select")].forEach((one, position) => {
    const [value, checked] = typed[position] ?? [];
    if (one.type === "checkbox" || one.type === "radio") one.checked = checked;
    else one.value = value ?? "";
  });
}

/** Ask the person to confirm; resolves to true or false. */
export function confirm(object) {
  return new Promise((resolve) => {
    const closed = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    const dialog = h(
      "dialog",
      { class: "modal confirm", on: { close: closed } },
      h(
        "form",
        { method: "dialog" },
        h("header", { class: "modal-head" }, textObject(object.title, "h2")),
        h("div", { class: "modal-body" }, textObject(object.text, "div")),
        h(
          "footer",
          { class: "modal-foot" },
          h("button", { class: "button", value: "no" }, textObject(object.deny)),
          h("button", { class: `button button-${object.style ?? "primary"}`, value: "yes", autofocus: true }, textObject(object.confirm)),
        ),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

const TOAST_MILLISECONDS = 9000;

/** Say something in passing. */
export function toast(text) {
  const dismiss = h("button", { type: "button", class: "plain", "aria-label": "Dismiss", on: { click: () => note.remove() } }, "✕");
  const note = h("div", { class: "toast" }, h("span", { "aria-hidden": "true", text: "⚠️" }), h("bdi", { text }), dismiss);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), TOAST_MILLISECONDS);
}

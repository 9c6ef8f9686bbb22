// A menu of the app's shortcuts, for a message or for the whole workspace.
import { h } from "./dom.js";

/** Draw a button with a menu: native, so that keyboards and phones have it for nothing. Choosing starts a shortcut. */
export function shortcuts(label, sign, callbacks, start, style = "shortcuts") {
  if (!callbacks.length) return null;
  const choose = (event) => {
    const { value } = event.target;
    event.target.value = "";
    if (value) start(value);
  };
  const options = callbacks.map((callback) => h("option", { value: callback, text: title(callback) }));
  const select = h("select", { "aria-label": label, title: label, on: { change: choose } }, h("option", { value: "", text: label }), options);
  return h("span", { class: style }, h("span", { "aria-hidden": "true", text: sign }), select);
}

/** What a shortcut is called: its id without the app's name. */
function title(callback) {
  const words = callback.replace(/^[a-z]+_/u, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

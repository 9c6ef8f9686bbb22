// Building the page from data: text only ever becomes text nodes, never markup.

/** Make an element; `props` are class, text, on (listeners), data and attributes. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replace the contents of an element, keeping focus on the control with the same key, and what is typed there. */
export function fill(element, ...children) {
  const active = element.contains(document.activeElement) ? document.activeElement : undefined;
  const { key } = active?.dataset ?? {};
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  const again = key && [...element.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
  if (!again) return;
  if (again.type === "text" && active.type === "text") again.value = active.value;
  again.focus();
}

const HUES = 8;

/** A person's avatar: initials on a colour that goes by the id. */
export function avatar(user, size = "") {
  const name = user?.real_name ?? "?";
  const words = name.split(/\s+/u).filter(Boolean);
  const initials = (words.length > 1 ? [words[0], words.at(-1)] : words).map((word) => [...word][0]).join("");
  const hue = [...(user?.id ?? "")].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % HUES;
  const bot = user?.kinds?.includes("bot");
  const style = `avatar ${size} ${bot ? "avatar-bot" : `hue-${hue}`}`;
  return h("span", { class: style, "aria-hidden": "true", text: bot ? "✓" : initials.toUpperCase() });
}

/** A word about who somebody is: APP, GUEST and so on. */
export function badges(user) {
  const words = { bot: "APP", guest: "GUEST", external: "EXTERNAL", deactivated: "DEACTIVATED" };
  return (user?.kinds ?? []).map((kind) => h("span", { class: `badge badge-${kind}`, text: words[kind] }));
}

/** Clock time of a message. */
export function clock(ts) {
  return new Date(Number(ts) * 1000).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
}

/** Day of a message, as a divider says it. */
export function day(ts, now) {
  const date = new Date(Number(ts) * 1000);
  const today = new Date(now * 1000);
  if (date.toDateString() === today.toDateString()) return "Today";
  return date.toLocaleDateString([], { weekday: "long", month: "long", day: "numeric" });
}

// The page: what is looked at, what was done, and news from the server.
import { drawBlocks, knowPeople } from "./blocks.js";
import { Modals, confirm, toast } from "./dialogs.js";
import { avatar, fill, h } from "./dom.js";
import { drawMessages } from "./messages.js";
import { shortcuts } from "./shortcuts.js";
import { drawSidebar } from "./sidebar.js";

const at = (id) => document.getElementById(id);

class Page {
  view = { user: "", channel: "", thread: "", tab: "messages" };
  state = null;
  warned = null;
  fetching = null;
  again = false;
  modals = new Modals(this);

  async start() {
    knowPeople(() => this.state.users);
    const query = new URLSearchParams(location.search);
    const archive = /^\/archives\/([^/]+)\/p(\d+)(\d{6})$/u.exec(location.pathname);
    this.view.user = query.get("user") ?? sessionStorage.getItem("user") ?? "";
    this.view.channel = query.get("channel") ?? archive?.[1] ?? "";
    this.view.thread = query.get("thread") ?? query.get("thread_ts") ?? "";
    this.view.focus = query.get("message") ?? (archive ? `${archive[2]}.${archive[3]}` : "");
    this.view.tab = query.get("view") === "home" ? "home" : "messages";
    await this.load();
    if (this.view.tab === "home") await this.openHome();
    if (query.has("still")) return; // for pictures: nothing is awaited once the page stands
    new EventSource("/sandbox/events").addEventListener("message", () => this.load());
  }

  /** Fetch what the person sees; calls while one is on its way lead to exactly one more. */
  async load() {
    if (this.fetching) {
      this.again = true;
      return this.fetching;
    }
    this.fetching = this.#fetch();
    await this.fetching;
    this.fetching = null;
    if (this.again) {
      this.again = false;
      await this.load();
    }
    return undefined;
  }

  async #fetch() {
    const response = await fetch(`/sandbox/state?user=${encodeURIComponent(this.view.user)}`);
    const state = await response.json();
    if (!response.ok) {
      sessionStorage.removeItem("user");
      at("list").replaceChildren(h("p", { class: "empty", text: state.problem }));
      return;
    }
    this.state = state;
    this.now = state.now;
    this.view.user = state.me;
    this.users = new Map(state.users.map((user) => [user.id, user]));
    const known = state.channels.some((channel) => channel.id === this.view.channel);
    if (!known && this.view.tab !== "home") this.view.channel = state.channels[0]?.id ?? "";
    this.render();
  }

  appName() {
    return this.users.get(this.state.app.user)?.real_name ?? "App";
  }

  channel() {
    return this.state.channels.find((channel) => channel.id === this.view.channel);
  }

  async act(what) {
    const response = await fetch("/sandbox/act", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ user: this.view.user, ...what }),
    });
    const result = await response.json();
    if (result.problem) toast(result.problem);
    await this.load();
    return result;
  }

  /** Press a control; where it asks for confirmation, ask and press again. */
  async press(place, element, block, chosen) {
    const what = { action: "click", ...place, action_id: `${block.block_id}/${element.action_id}` };
    if (chosen !== undefined) what.chosen = chosen;
    if (element.confirm && !(await confirm(element.confirm))) return;
    await this.act({ ...what, confirmed: true });
  }

  async openHome() {
    await this.act({ action: "open_home" });
    this.view.channel = this.state.channels.find((channel) => channel.is_im)?.id ?? "";
    this.render();
  }

  async go(change) {
    Object.assign(this.view, { focus: "", drawer: false }, change);
    this.remember();
    this.render({ moved: true });
    if (change.tab === "home") await this.openHome();
  }

  openThread(ts) {
    return this.go({ thread: ts });
  }

  async become(user) {
    this.view = { user, channel: this.view.channel, thread: "", tab: "messages", focus: "" };
    this.warned = null;
    sessionStorage.setItem("user", user);
    this.remember();
    await this.load();
  }

  remember() {
    const { user, channel, thread, tab } = this.view;
    const query = new URLSearchParams({ user, channel });
    if (thread) query.set("thread", thread);
    if (tab === "home") query.set("view", "home");
    history.replaceState(null, "", `/?${query}`);
  }

  #readKey(channel) {
    return `read:${this.state.team.id}:${this.view.user}:${channel.id}`;
  }

  unread(channel) {
    const read = Number(localStorage.getItem(this.#readKey(channel)) ?? 0);
    return channel.messages.filter((message) => Number(message.ts) > read && message.user !== this.view.user).length;
  }

  render({ moved = false } = {}) {
    const channel = this.channel();
    const looking = channel && this.view.tab === "messages";
    if (looking) localStorage.setItem(this.#readKey(channel), channel.messages.at(-1)?.ts ?? "0");
    const unread = this.state.channels.reduce((sum, one) => sum + this.unread(one), 0);
    document.body.classList.toggle("with-drawer", Boolean(this.view.drawer));
    document.title = `${unread ? `(${unread}) ` : ""}${channel?.name ?? this.appName()} · ${this.state.team.name}`;
    fill(at("sidebar"), drawSidebar(this));
    fill(at("heading"), this.#menu(), this.#heading(channel));
    // The thread and the composer take their room first: only then is it known where the list ends.
    this.#renderThread(channel);
    this.#composer(at("composer"), looking ? channel : null, "");
    if (looking) this.#renderMessages(channel, moved);
    else fill(at("list"), this.#home());
    this.modals.show(this.state.modal);
    this.#warn();
  }

  /** On a phone, what opens and closes the drawer. */
  #menu() {
    const label = this.view.drawer ? "Close the list of conversations" : "Open the list of conversations";
    const toggle = () => {
      this.view.drawer = !this.view.drawer;
      this.render();
    };
    return h("button", { type: "button", class: "plain menu", "aria-label": label, "aria-expanded": String(Boolean(this.view.drawer)), data: { key: "menu" }, on: { click: toggle } }, "☰");
  }

  #heading(channel) {
    if (channel && !channel.is_im) {
      const faces = channel.members.slice(0, 4).map((id) => avatar(this.users.get(id), "small"));
      const title = h("h1", {}, h("span", { class: "hash", text: channel.is_private ? "🔒" : "#" }), h("bdi", { text: channel.name }));
      return [title, h("span", { class: "faces", title: `${channel.members.length} members` }, faces, h("span", { text: String(channel.members.length) }))];
    }
    const tab = (name, label) =>
      h("button", { type: "button", class: "tab", "aria-current": this.view.tab === name ? "page" : undefined, data: { key: name }, on: { click: () => this.go({ tab: name, thread: "" }) } }, label);
    const bot = this.users.get(this.state.app.user);
    return [h("h1", {}, avatar(bot, "small"), h("bdi", { text: this.appName() })), h("div", { class: "tabs" }, tab("home", "Home"), channel ? tab("messages", "Messages") : null)];
  }

  #renderMessages(channel, moved) {
    const list = at("list");
    const stick = moved || list.dataset.channel !== channel.id || list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    const empty = channel.messages.length ? null : h("p", { class: "empty", text: `This is the very beginning of ${channel.name}.` });
    fill(list, empty, drawMessages(channel.messages, channel, this));
    list.dataset.channel = channel.id;
    const focus = this.view.focus ? list.querySelector(`[data-ts="${CSS.escape(this.view.focus)}"]`) : null;
    focus?.classList.add("focused");
    if (focus) focus.scrollIntoView({ block: "center" });
    else if (stick) list.scrollTop = list.scrollHeight;
  }

  #home() {
    const press = (element, block, chosen) => this.press({ view: "home" }, element, block, chosen);
    const view = this.state.home;
    return view ? h("div", { class: "home" }, drawBlocks(view.blocks, press)) : h("p", { class: "empty", text: "The app has not published a Home tab for you yet." });
  }

  #renderThread(channel) {
    const parent = this.view.thread && channel?.messages.find((message) => message.ts === this.view.thread);
    at("thread").hidden = !parent;
    document.body.classList.toggle("with-thread", Boolean(parent));
    if (!parent) return this.#composer(at("thread-composer"), null, "");
    const close = h("button", { type: "button", class: "plain", "aria-label": "Close thread", data: { key: "close" }, on: { click: () => this.go({ thread: "" }) } }, "✕");
    fill(at("thread-heading"), h("h2", { text: "Thread" }), h("bdi", { class: "thread-room", text: channel.is_im ? channel.name : `# ${channel.name}` }), close);
    const count = parent.replies.length;
    const line = h("p", { class: "thread-count" }, h("span", { text: count === 1 ? "1 reply" : `${count} replies` }));
    const options = { inThread: true };
    const list = at("thread-list");
    const grew = list.dataset.count !== `${parent.ts}/${count}`;
    fill(list, drawMessages([{ ...parent, replies: [] }], channel, this, options), count ? line : null, drawMessages(parent.replies, channel, this, options));
    if (grew) list.scrollTop = list.scrollHeight;
    list.dataset.count = `${parent.ts}/${count}`;
    return this.#composer(at("thread-composer"), channel, parent.ts);
  }

  /** The place to write in: made anew only when one writes somewhere else. */
  #composer(place, channel, thread) {
    const key = channel ? `${channel.id}/${thread}/${this.view.user}` : "";
    if (place.dataset.key === key) return;
    place.dataset.key = key;
    const to = channel?.is_im ? channel.name : `#${channel?.name}`;
    place.replaceChildren(...(channel ? [this.#writing(channel, thread, thread ? "Reply…" : `Message ${to}`)] : []));
  }

  #writing(channel, thread, placeholder) {
    const box = h("textarea", { rows: 1, placeholder, "aria-label": placeholder });
    const send = async () => {
      const text = box.value.trim();
      if (!text) return;
      box.value = "";
      const command = text.startsWith("/");
      await this.act(command ? { action: "command", channel: channel.id, text } : { action: "say", channel: channel.id, text, thread_ts: thread });
    };
    const key = (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    };
    box.addEventListener("keydown", key);
    const start = (callback) => this.act({ action: "shortcut", callback_id: callback });
    const menu = thread ? null : shortcuts("Shortcuts", "⚡", this.state.app.shortcuts, start);
    return h("div", { class: "writing" }, menu, box, h("button", { type: "button", class: "send", "aria-label": "Send", on: { click: send } }, "➤"));
  }

  /** Show warnings that came since the page was opened. */
  #warn() {
    const { warnings } = this.state;
    for (const warning of warnings.slice(this.warned ?? warnings.length)) toast(warning.text);
    this.warned = warnings.length;
  }
}

new Page().start();

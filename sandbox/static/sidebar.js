// The sidebar: workspace, channels, the app, and who one is.
import { avatar, badges, h } from "./dom.js";

/** Draw the sidebar. `page` has state, view, unread counts, and what choosing does. */
export function drawSidebar(page) {
  const { state, view } = page;
  const rooms = state.channels.filter((channel) => !channel.is_im);
  const direct = state.channels.filter((channel) => channel.is_im);
  const bot = page.users.get(state.app.user);
  const app = direct.length ? direct.map((channel) => room(channel, page)) : appHome(bot, page);
  return [
    h("div", { class: "team" }, h("span", { class: "team-mark", "aria-hidden": "true", text: [...state.team.name][0] }), h("bdi", { class: "team-name", text: state.team.name })),
    h("div", { class: "rooms" }, group("Channels", rooms.map((channel) => room(channel, page))), group("Apps", app), userGroups(state, page)),
    switcher(state, page),
  ];

  function room(channel) {
    const unread = page.unread(channel);
    const current = view.channel === channel.id;
    const mark = channel.is_im ? avatar(bot, "tiny") : h("span", { class: "hash", "aria-hidden": "true", text: channel.is_private ? "🔒" : "#" });
    const choose = () => page.go({ channel: channel.id, tab: channel.is_im ? "home" : "messages", thread: "" });
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: `room${unread ? " unread" : ""}`, "aria-current": current ? "page" : undefined, data: { key: channel.id }, on: { click: choose } },
        mark,
        h("bdi", { class: "room-name", text: channel.name }),
        unread ? h("span", { class: "count", text: String(unread) }, h("span", { class: "unseen", text: " unread" })) : null,
      ),
    );
  }
}

/** The user groups: choosing one comes into it, or leaves it. */
function userGroups(state, page) {
  if (!state.usergroups.length) return null;
  const choice = ({ id, handle, name, users }) => {
    const isIn = users.includes(state.me);
    const regroup = () => page.act({ action: "regroup", usergroup: id });
    const title = `${name}: ${isIn ? "leave" : "join"}`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "room", title, "aria-pressed": String(isIn), data: { key: id }, on: { click: regroup } },
        h("span", { class: "hash", "aria-hidden": "true", text: isIn ? "✓" : "@" }),
        h("bdi", { class: "room-name", text: handle }),
        h("span", { class: "room-size", text: String(users.length) }, h("span", { class: "unseen", text: " people" })),
      ),
    );
  };
  return group("User groups", state.usergroups.map(choice));
}

/** A list under its title, which names it and is no heading: the page's first heading is what it shows. */
function group(title, rows) {
  return [h("p", { class: "rooms-title", "aria-hidden": "true", text: title }), h("ul", { "aria-label": title }, rows)];
}

function appHome(bot, page) {
  const choose = () => page.go({ channel: "", tab: "home", thread: "" });
  const current = page.view.tab === "home" && !page.view.channel;
  return h("li", {}, h("button", { type: "button", class: "room", "aria-current": current ? "page" : undefined, data: { key: "home" }, on: { click: choose } }, avatar(bot, "tiny"), h("bdi", { class: "room-name", text: bot.real_name })));
}

function switcher(state, page) {
  const me = page.users.get(state.me);
  const people = state.users.filter((user) => !user.kinds.includes("bot") && (!user.kinds.includes("deactivated") || user.id === state.me));
  const label = (user) => [user.real_name, ...user.kinds].join(" · ");
  const options = people.map((user) => h("option", { value: user.id, selected: user.id === state.me, text: label(user) }));
  return h(
    "div",
    { class: "switcher" },
    avatar(me),
    h("div", { class: "me" }, h("label", { for: "act-as", text: "Acting as" }), h("bdi", { class: "me-name", text: me.real_name }), h("bdi", { class: "me-title", text: me.title }), badges(me)),
    h("span", { class: "chevron", "aria-hidden": "true", text: "⌃" }),
    h("select", { id: "act-as", data: { key: "act-as" }, on: { change: (event) => page.become(event.target.value) } }, options),
  );
}

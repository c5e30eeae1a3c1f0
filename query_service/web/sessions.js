// The list of conversations beside the ask view.

import { listAll, remove } from "./api.js";
import { confirm } from "./dialog.js";
import { button, el, problemBox, replace } from "./dom.js";
import { moment } from "./format.js";

const MOST = 100;

export class Sessions {
  constructor(place, current) {
    this.current = current;
    this.list = el("ul", { class: "session-list" });
    const closable = el("details", { class: "session-box" }, el("summary", {}, "Conversations"), this.list);
    closable.open = matchMedia("(min-width: 900px)").matches;
    replace(place, el("a", { class: "button primary", href: "#/ask", id: "new-conversation" }, "New conversation"), closable);
  }

  async refresh() {
    try {
      const items = await listAll("/sessions", { limit: MOST }, MOST);
      replace(this.list, items.map((session) => this.row(session)), items.length === 0 && el("li", { class: "faint" }, "None yet."));
    } catch (problem) {
      replace(this.list, el("li", {}, problemBox(problem)));
    }
  }

  row(session) {
    const id = session.session_id;
    const title = session.title || "Untitled";
    return el("li", {},
      el("a", { href: `#/ask/${id}`, "aria-current": id === this.current() ? "page" : null, title: `${title} (${moment(session.updated_at)})` }, title),
      button("✕", () => this.delete(id, title), { class: "quiet icon", "aria-label": `Delete the conversation ${title}` }));
  }

  async delete(id, title) {
    if (!(await confirm("Delete this conversation?", `“${title}” and its answers are deleted. The documents stay.`, "Delete"))) return;
    try {
      await remove(`/sessions/${id}`);
    } catch (problem) {
      replace(this.list, el("li", {}, problemBox(problem)));
      return;
    }
    if (id === this.current()) location.hash = "#/ask";
    await this.refresh();
  }
}

// The documents view: what there is and how far it is, upload, retry, delete.

import { listAll, post } from "./api.js";
import { badge, button, busy, el, problemBox, replace } from "./dom.js";
import { answeringNote, openDocument } from "./document.js";
import { eraseDocument } from "./erasure.js";
import { counted, moment, size, words } from "./format.js";
import { lineageButton } from "./lineage.js";
import { Uploads } from "./uploads.js";

const STATUSES = ["uploaded", "processing", "indexed", "failed"];
const KIND = { uploaded: "warn", processing: "warn", indexed: "good", failed: "bad", deleted: "none" };
const OPEN = ["uploaded", "processing"];
const POLL_MS = 1000;
const PAGE = 100;
const SHOWN_COUNTS = [["pages", "page"], ["chunks", "chunk"], ["tables", "table"], ["rows", "row"]];

export class Documents {
  constructor(place) {
    this.visible = false;
    this.timer = null;
    this.asked = 0;
    this.items = [];
    this.most = PAGE;
    this.uploads = new Uploads(() => this.refresh());
    this.name = el("input", { id: "filter-name", type: "search", placeholder: "Part of the file name" });
    this.status = el("select", { id: "filter-status" }, el("option", { value: "" }, "Any status"),
      STATUSES.map((name) => el("option", { value: name }, words(name))));
    this.count = el("p", { class: "faint", role: "status" });
    this.list = el("div", { class: "documents" });
    this.more = button("Show more", () => {
      this.most += PAGE;
      this.refresh();
    }, { hidden: true });
    let typing = null;
    this.name.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.refresh(), 200);
    });
    this.status.addEventListener("change", () => this.refresh());
    replace(place,
      el("h1", { id: "documents-title" }, "Documents"),
      this.uploads.view,
      el("div", { class: "filters", role: "search" },
        el("label", { for: "filter-name" }, "Name"), this.name,
        el("label", { for: "filter-status" }, "Status"), this.status, this.count),
      this.list, this.more);
  }

  shown(visible) {
    this.visible = visible;
    clearTimeout(this.timer);
    if (!visible) return;
    if (!this.list.hasChildNodes()) replace(this.list, busy("Reading the list"));
    this.refresh();
  }

  // Asks again every second while something is on its way and the view can be seen.
  async refresh() {
    const mine = ++this.asked;
    clearTimeout(this.timer);
    try {
      const items = await listAll("/documents", { status: this.status.value, q: this.name.value.trim(), limit: PAGE }, this.most);
      if (mine !== this.asked) return;
      this.draw(items);
    } catch (problem) {
      if (mine !== this.asked) return;
      replace(this.list, problemBox(problem), button("Try again", () => this.refresh()));
      return;
    }
    if (this.visible && this.items.some((item) => OPEN.includes(item.status))) {
      this.timer = setTimeout(() => this.refresh(), POLL_MS);
    }
  }

  // Rows that did not change stay as they are: focus and what is selected in them too.
  draw(items) {
    const before = new Map(this.items.map((item) => [item.document_id, JSON.stringify(item)]));
    const filtered = this.name.value.trim() || this.status.value;
    this.more.hidden = items.length < this.most;
    this.count.textContent = `${this.more.hidden ? "" : "the newest "}${counted(items.length, "document")}`;
    this.items = items;
    if (!items.length) {
      replace(this.list, el("p", { class: "empty" }, filtered ? "No document fits this filter." : "There are no documents yet. Drop some files above."));
      this.body = null;
      return;
    }
    if (!this.body?.isConnected) {
      this.body = el("tbody");
      replace(this.list, el("table", { class: "cards" },
        el("thead", {}, el("tr", {}, ["File", "Status", "Contents", "Arrived", ""].map((name) => el("th", { scope: "col" }, name)))),
        this.body));
    }
    const rows = new Map([...this.body.children].map((row) => [row.dataset.id, row]));
    const wanted = items.map((item) =>
      before.get(item.document_id) === JSON.stringify(item) && rows.get(item.document_id) || this.row(item));
    if (wanted.length !== this.body.children.length || wanted.some((row, i) => row !== this.body.children[i])) {
      replace(this.body, wanted);
    }
  }

  row(item) {
    const place = el("div");
    return el("tr", { "data-id": item.document_id },
      el("td", { "data-label": "File" },
        el("strong", { class: "file-name" }, item.file_name),
        el("div", { class: "faint" }, [size(item.size_bytes), item.version_number > 1 && `version ${item.version_number}`, item.document_type]
          .filter(Boolean).join(" · "))),
      el("td", { "data-label": "Status" },
        badge(words(item.status), KIND[item.status]),
        OPEN.includes(item.status) && item.stage && el("span", { class: "faint" }, ` ${words(item.stage)}`),
        item.error && errorView(item.error, item.stage),
        answeringNote(item),
        warningsView(item.warnings)),
      el("td", { "data-label": "Contents" }, SHOWN_COUNTS.filter(([name]) => item.counts[name] > 0)
        .map(([name, one]) => el("div", {}, counted(item.counts[name], one)))),
      el("td", { "data-label": "Arrived" }, moment(item.arrived_at)),
      el("td", {}, el("div", { class: "actions" },
        item.status === "failed" && button("Retry", () => this.retry(item, place)),
        button("Details", () => openDocument(item.document_id, item.file_name, () => this.refresh()), { "aria-label": `Details of ${item.file_name}` }),
        lineageButton("documents", item.document_id, item.file_name),
        button("Delete", () => eraseDocument(item, () => this.refresh()), { "aria-label": `Delete ${item.file_name}` })), place));
  }

  async retry(item, place) {
    try {
      await post(`/documents/${item.document_id}/retry`);
      await this.refresh();
    } catch (problem) {
      replace(place, problemBox(problem));
    }
  }
}

export function errorView(error, stage) {
  return el("div", { class: "problem" },
    el("strong", {}, error.message ?? error.detail),
    el("p", {}, error.fix),
    el("p", { class: "faint" }, el("code", {}, error.code), stage && ` in ${words(stage).toLowerCase()}`));
}

function warningsView(warnings) {
  if (!warnings.length) return null;
  const where = (w) => ["page", "sheet", "row"].filter((name) => w[name]).map((name) => `${name} ${w[name]}`).join(", ");
  return el("details", { class: "warnings" }, el("summary", {}, counted(warnings.length, "warning")),
    el("ul", {}, warnings.map((w) => el("li", {}, w.message, where(w) && el("span", { class: "faint" }, ` (${where(w)})`)))));
}

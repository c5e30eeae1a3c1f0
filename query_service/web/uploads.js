// Upload by drop or by button: progress of each file, then its state until it is indexed or failed.

import { get, upload } from "./api.js";
import { badge, button, el, replace } from "./dom.js";
import { errorView } from "./documents.js";
import { counted, size, words } from "./format.js";

const AT_ONCE = 2;
const POLL_MS = 1000;
const POLLED = 10; // of the open ones, oldest first: they end in that order, and a thousand files ask no more than ten
const SIDECAR = ".meta.json";
const FOLDER = { code: "folder", detail: "This is a folder.", fix: "Drop the files in it, or copy the folder into the landing folder." };

export class Uploads {
  constructor(changed) {
    this.changed = changed;
    this.waiting = [];
    this.sending = 0;
    this.open = new Map();
    this.timer = null;
    this.input = el("input", { id: "files", type: "file", multiple: true, class: "hidden", tabindex: "-1", "aria-label": "Files to upload" });
    this.input.addEventListener("change", () => {
      this.add(this.input.files);
      this.input.value = "";
    });
    this.list = el("ul", { class: "uploads", "aria-live": "polite", "aria-label": "Uploads" });
    this.clear = button("Clear finished", () => this.clearFinished(), { class: "quiet", hidden: true });
    this.options = el("form", { class: "options" }, option("Document type", "document_type", "for example policy"),
      option("Licence", "licence", "for example CC BY 4.0"), option("Source address", "source_url", "https://…"),
      option("Authority", "authority", "who stands behind them"), option("Effective from", "effective_date", "2026-01-31"),
      option("Supersedes", "supersedes", "name or id of a document"), option("Amends", "amends", "name or id of a document"),
      el("div", {}, el("label", { for: "option-acl" }, "Who may see them"), el("select", { id: "option-acl", name: "acl" },
        el("option", { value: "" }, "Only me"), el("option", { value: "public" }, "Everyone who uses this Askline"))));
    this.options.addEventListener("submit", (event) => event.preventDefault());
    const drop = el("div", { class: "drop" },
      el("p", {}, "Drop files here, or ", button("choose files", () => this.input.click(), { class: "primary" })),
      el("details", {}, el("summary", {}, "Details for the files that you add next"), this.options), this.input);
    for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    for (const name of ["dragleave", "drop"]) drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.remove("over");
    });
    drop.addEventListener("drop", (event) => this.dropped(event.dataTransfer));
    // A file that misses the place must not replace the page.
    for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
    this.view = el("section", { "aria-label": "Upload" }, drop, this.list, this.clear);
  }

  // Folders come as files that cannot be read.
  dropped(transfer) {
    const items = [...transfer.items].filter((item) => item.kind === "file");
    const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory;
    const folders = items.filter(isFolder).map((item) => item.getAsFile());
    this.add(items.filter((item) => !isFolder(item)).map((item) => item.getAsFile()));
    for (const folder of folders) this.end(this.line(folder, {}), "Refused", "bad", errorView(FOLDER));
  }

  add(files) {
    const fields = Object.fromEntries(new FormData(this.options));
    const all = [...files];
    const named = new Map(all.map((file) => [file.name, file]));
    // A sidecar goes with its file, in one request; alone it is for a file that is there already.
    for (const file of all) {
      const described = describedBy(file.name);
      if (!named.has(described)) this.waiting.push(this.line(file, fields, named.get(`${file.name}${SIDECAR}`)));
    }
    this.next();
  }

  line(file, fields, sidecar) {
    const bar = el("progress", { max: "1", value: "0", "aria-label": `Upload of ${file.name}` });
    const state = el("span", { class: "upload-state" }, badge("Waiting", "none"));
    const detail = el("div", { class: "upload-detail" });
    const row = el("li", {}, el("div", { class: "upload-line" },
      el("strong", { class: "file-name" }, file.name), el("span", { class: "faint" }, size(file.size)), bar, state), detail);
    this.list.append(row);
    return { file, sidecar, fields, row, bar, state, detail };
  }

  next() {
    while (this.sending < AT_ONCE && this.waiting.length) {
      this.sending += 1;
      this.sendOne(this.waiting.shift()).finally(() => {
        this.sending -= 1;
        this.next();
      });
    }
  }

  async sendOne(entry) {
    replace(entry.state, badge("Uploading", "warn"));
    let record;
    try {
      record = await upload([entry.file, entry.sidecar].filter(Boolean), entry.fields, (share) => { entry.bar.value = share; });
    } catch (problem) {
      this.end(entry, "Refused", "bad", errorView(problem));
      return;
    }
    entry.bar.value = 1;
    this.show(entry, record);
    this.changed();
    this.poll();
  }

  show(entry, record) {
    if (record.duplicate_of) replace(entry.detail, el("p", { class: "faint" }, "The same content was there already; it is not stored twice."));
    if (record.status === "rejected") this.end(entry, "Refused", "bad", errorView(record.error));
    else if (record.status === "indexed") this.end(entry, "Indexed", "good", summary(record));
    else if (record.status === "failed") this.end(entry, "Failed", "bad", errorView(record.error, record.stage));
    else if (record.status === "deleted") this.end(entry, "Deleted", "none");
    else {
      replace(entry.state, badge(words(record.status), "warn"), record.stage && el("span", { class: "faint" }, ` ${words(record.stage)}`));
      this.open.set(record.document_id, entry);
    }
  }

  end(entry, text, kind, detail) {
    entry.bar.hidden = true;
    replace(entry.state, badge(text, kind));
    if (detail) entry.detail.append(detail);
    entry.row.dataset.finished = "true";
    this.clear.hidden = false;
  }

  poll() {
    if (this.timer || !this.open.size) return;
    this.timer = setTimeout(async () => {
      const asked = [...this.open].slice(0, POLLED);
      await Promise.all(asked.map(([id, entry]) => this.look(id, entry)));
      this.timer = null;
      if (asked.some(([id]) => !this.open.has(id))) this.changed();
      this.poll();
    }, POLL_MS);
  }

  async look(id, entry) {
    try {
      const record = await get(`/documents/${id}`);
      this.open.delete(id);
      this.show(entry, record);
    } catch (problem) {
      if (problem.status !== 404) return; // asked again in a second
      this.open.delete(id);
      this.end(entry, "Deleted", "none");
    }
  }

  clearFinished() {
    for (const row of this.list.querySelectorAll("[data-finished]")) row.remove();
    this.clear.hidden = true;
  }
}

function describedBy(name) {
  return name.toLowerCase().endsWith(SIDECAR) ? name.slice(0, -SIDECAR.length) : null;
}

function option(label, name, placeholder) {
  return el("div", {}, el("label", { for: `option-${name}` }, label), el("input", { id: `option-${name}`, name, placeholder, autocomplete: "off" }));
}

function summary(record) {
  const { counts } = record;
  const parts = [counts.chunks && counted(counts.chunks, "chunk"), counts.tables && counted(counts.tables, "table"),
    counts.rows && counted(counts.rows, "row")].filter(Boolean);
  return parts.length > 0 && el("p", { class: "faint" }, parts.join(" · "));
}

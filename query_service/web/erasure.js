// Deletion: a question first, then the report store by store as it comes.

import { get, remove } from "./api.js";
import { confirm, openDialog } from "./dialog.js";
import { badge, busy, button, el, problemBox, replace } from "./dom.js";
import { words } from "./format.js";

const POLL_MS = 1000;
const KIND = { running: "warn", verified: "good", failed: "bad" };

export async function eraseDocument(item, changed) {
  const text = "It is gone from every answer at once and is then erased from every store, with a report. This cannot be undone.";
  if (!(await confirm(`Delete ${item.file_name}?`, text, "Delete"))) return;
  const place = el("div", { class: "erasure", "aria-live": "polite" }, busy("Deleting"));
  const dialog = openDialog(`Erasure of ${item.file_name}`, place,
    el("div", { class: "actions" }, button("Close", () => dialog.close())));
  try {
    const { erasure_id: id } = await remove(`/documents/${item.document_id}`);
    changed();
    await follow(id, place, dialog);
  } catch (problem) {
    replace(place, problemBox(problem));
  }
}

async function follow(id, place, dialog) {
  while (dialog.open) {
    const report = await get(`/erasures/${id}`);
    replace(place, reportView(report));
    if (report.status !== "running") return;
    await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
  }
}

function reportView(report) {
  const cells = (store) => [words(store.name), store.found, store.removed, store.left];
  return [
    el("p", {}, badge(words(report.status), KIND[report.status]), " ",
      el("span", { class: "faint" }, report.status === "running"
        ? "It is not in any answer any more. The stores follow."
        : `Kept: ${report.kept}`)),
    report.message && el("p", { class: "problem" }, report.message),
    report.stores.length > 0 && el("div", { class: "scroll" }, el("table", { class: "rows" },
      el("thead", {}, el("tr", {}, ["Store", "Found", "Removed", "Left"].map((name, i) =>
        el("th", { scope: "col", class: i ? "number" : null }, name)))),
      el("tbody", {}, report.stores.map((store) => el("tr", {}, cells(store).map((value, i) =>
        el("td", { class: i ? "number" : null }, String(value)))))))),
    el("p", { class: "faint" }, el("code", {}, report.erasure_id)),
  ];
}

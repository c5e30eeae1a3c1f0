// One document in the panel: its card, what it takes the place of, its history with a way back, the answers over it.

import { get, post } from "./api.js";
import { badge, busy, button, el, facts, problemBox, replace, webLink } from "./dom.js";
import { confirm } from "./dialog.js";
import { moment, size, words } from "./format.js";
import { openPanel } from "./panel.js";

const KIND = { uploaded: "warn", processing: "warn", indexed: "good", failed: "bad" };
const OPEN = ["uploaded", "processing"];
const POLL_MS = 1000;
const TOLD = { supersedes: "Supersedes", amends: "Amends" };
const TOLD_BACK = { supersedes: "Superseded by", amends: "Amended by" };

// `changed` is told when something that the list shows is another now.
export function openDocument(id, name, changed) {
  openPanel(name, async (body, isCurrent) => {
    replace(body, busy("Reading"));
    for (;;) {
      const [record, versions, answers] = await Promise.all(
        ["", "/versions", "/answers"].map((part) => get(`/documents/${id}${part}`)));
      if (!isCurrent()) return;
      replace(body, cardView(record, changed), historyView(record, versions.items, changed), answersView(answers.items));
      if (!OPEN.includes(record.status)) return;
      await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
      if (!isCurrent()) return;
    }
  });
}

export function answeringNote(record) {
  if (!record.active_version || record.active_version === record.version_id) return null;
  return el("p", { class: "faint answering" }, record.status === "failed"
    ? "The version before it still answers."
    : "The version before it answers until this one is whole.");
}

function cardView(record, changed) {
  const related = record.relations.map((r) => [TOLD[r.kind], r.document_id ? nameButton(r, changed) : `${r.target} (not here)`]);
  const back = record.replaced_by.map((r) => [TOLD_BACK[r.kind], nameButton(r, changed)]);
  return el("section", { "aria-label": "Card" },
    answeringNote(record),
    facts([
      ["Document type", record.document_type],
      ["Authority", record.authority],
      ["Effective from", record.effective_date],
      ["Source", record.source_url && webLink(record.source_url)],
      ["Accessed", record.accessed_at],
      ["Licence", record.licence],
      ...related, ...back,
      ["Seen by", record.acl.join(", ")],
      ["Owner", record.owner],
      ["Document", el("code", {}, record.document_id)],
    ]));
}

function nameButton(related, changed) {
  return button(related.file_name, () => openDocument(related.document_id, related.file_name, changed), { class: "quiet" });
}

function historyView(record, versions, changed) {
  const place = el("div");
  return el("section", { class: "history", "aria-label": "Versions" },
    el("h3", {}, "Versions"),
    el("ul", { class: "versions" }, versions.map((version) => el("li", {},
      el("div", {}, el("strong", {}, `Version ${version.number}`), " ",
        badge(version.active ? "Answers" : words(version.status), version.active ? "good" : KIND[version.status]),
        el("span", { class: "faint" }, ` ${size(version.size_bytes)} · arrived ${moment(version.arrived_at)}`)),
      version.error_message && el("p", { class: "problem" }, version.error_message),
      version.active_times.length > 0 && el("p", { class: "faint" }, version.active_times.map((time) =>
        `answered from ${moment(time.since)}${time.until ? ` until ${moment(time.until)}` : ""}`).join("; ")),
      el("code", { class: "faint", title: version.version_id }, `sha256 ${version.version_id.slice(0, 16)}…`),
      version.status === "indexed" && !version.active &&
        button("Restore", () => restore(record, version, place, changed), { "aria-label": `Restore version ${version.number}` })))),
    place);
}

async function restore(record, version, place, changed) {
  const text = "It becomes the newest version, and answers once it is whole. Until then the version of now answers.";
  if (!(await confirm(`Restore version ${version.number} of ${record.file_name}?`, text, "Restore"))) return;
  try {
    await post(`/documents/${record.document_id}/versions/${version.version_id}/restore`);
    changed();
    openDocument(record.document_id, record.file_name, changed);
  } catch (problem) {
    replace(place, problemBox(problem));
  }
}

function answersView(answers) {
  return el("section", { class: "history", "aria-label": "Answers" },
    el("h3", {}, "Your answers that used it"),
    answers.length === 0 && el("p", { class: "faint" }, "None."),
    el("ul", { class: "versions" }, answers.map((answer) => el("li", {},
      el("a", { href: `#/ask/${answer.session_id}` }, answer.question), " ",
      answer.stale && badge("stale", "warn"),
      el("div", { class: "faint" }, moment(answer.created_at))))));
}

// The source of a citation: the page with the span lit, or the text around the quote; and where the file comes from.

import { download, get, image } from "./api.js";
import { badge, busy, button, el, facts, replace, webLink } from "./dom.js";
import { moment } from "./format.js";
import { openPanel } from "./panel.js";

const CONTEXT = 900; // characters before and after the quote

export function openSource(citation, all = [citation]) {
  openPanel(`[${citation.n}] ${citation.file_name}`, (body, isCurrent) => fill(body, citation, all, isCurrent));
}

async function fill(body, citation, all, isCurrent) {
  const state = el("div", { class: "badges" });
  const place = el("div", { class: "source-place" });
  const version = `?version=${citation.version_id}`;
  body.append(
    state,
    el("blockquote", { class: "quote", cite: citation.document_id }, citation.quote),
    facts([
      ["Page", citation.page],
      ["Characters", `${citation.start}–${citation.end}`],
      ["Licence", citation.licence],
      ["Source", citation.source_url && webLink(citation.source_url)],
      ["Accessed", citation.accessed_at],
      ["Authority", citation.authority],
      ["Effective from", citation.effective_date],
      ["Supersedes", citation.supersedes?.join(", ")],
      ["Amends", citation.amends?.join(", ")],
      ["Version", el("code", { title: citation.version_id }, `sha256 ${citation.version_id.slice(0, 16)}…`)],
    ]),
    place,
    el("div", { class: "actions start" },
      button("Download the file", () =>
        download(`/documents/${citation.document_id}/content${version}`, citation.file_name)),
      neighbours(citation, all)));
  if (citation.stale) state.append(staleBadge());
  await Promise.all([
    showState(state, citation, isCurrent),
    citation.page ? showPage(place, citation, isCurrent) : showText(place, citation, isCurrent),
  ]);
}

function neighbours(citation, all) {
  const at = all.findIndex((other) => other.n === citation.n);
  const step = (by, label) => all[at + by] && button(label, () => openSource(all[at + by], all));
  return [step(-1, "Previous source"), step(1, "Next source")];
}

function staleBadge() {
  return badge("Stale: the document has changed since", "warn");
}

// An answer is shown as it was given; whether its source still stands is asked now.
async function showState(state, citation, isCurrent) {
  let current;
  try {
    current = await get(`/documents/${citation.document_id}`);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
  }
  if (!isCurrent() || citation.stale) return;
  if (!current || current.status === "deleted") state.append(badge("This document is not there any more", "bad"));
  else if (current.active_version !== citation.version_id) state.append(staleBadge());
  else state.append(badge(`Active version, indexed ${moment(current.indexed_at)}`, "good"));
}

async function showPage(place, citation, isCurrent) {
  replace(place, busy(`Drawing page ${citation.page}`));
  const span = { version: citation.version_id, start: citation.start, end: citation.end };
  let address;
  try {
    address = await image(`/documents/${citation.document_id}/pages/${citation.page}`, span);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    return showText(place, citation, isCurrent); // pages without a picture
  }
  if (!isCurrent()) return;
  const page = el("img", { src: address, class: "page", alt: `Page ${citation.page} of ${citation.file_name}, the quote lit in yellow` });
  const zoom = button("Larger", () => {
    const large = frame.classList.toggle("large");
    zoom.textContent = large ? "Smaller" : "Larger";
  });
  const frame = el("div", { class: "page-frame", tabindex: "0", role: "region", "aria-label": `Page ${citation.page}` }, page);
  const around = el("div");
  const text = el("details", {}, el("summary", {}, "Text around the quote"), around);
  text.addEventListener("toggle", () => text.open && !around.hasChildNodes() && showText(around, citation, isCurrent));
  replace(place, el("div", { class: "page-head" }, el("h3", {}, `Page ${citation.page}`), zoom), frame, text);
}

// `start` and `end` count Unicode characters, JavaScript's strings count UTF-16 units: so the three pieces are asked for.
async function showText(place, citation, isCurrent) {
  replace(place, busy("Reading the text"));
  const path = `/documents/${citation.document_id}/text`;
  const piece = (start, end) => get(path, { version: citation.version_id, start: String(start), end: String(end) });
  const from = Math.max(0, citation.start - CONTEXT);
  const [before, quote] = await Promise.all([piece(from, citation.start), piece(citation.start, citation.end)]);
  const after = await piece(citation.end, Math.min(quote.length, citation.end + CONTEXT));
  if (!isCurrent()) return;
  const mark = el("mark", {}, quote.text);
  const text = el("div", { class: "context", tabindex: "0", role: "region", "aria-label": "Text around the quote" },
    from > 0 && "… ", before.text, mark, after.text, after.end < after.length && " …");
  replace(place, el("h3", {}, "Text around the quote"), text);
  text.scrollTop = mark.offsetTop - text.clientHeight / 3;
}

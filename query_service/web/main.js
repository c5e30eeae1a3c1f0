// Addresses: #/ask, #/ask/SESSION, #/documents, #/tables. A reload comes back to where one was.

import { initKey } from "./access_key.js";
import { Conversation } from "./conversation.js";
import { Documents } from "./documents.js";
import { el, replace } from "./dom.js";
import { closePanel } from "./panel.js";
import { Sessions } from "./sessions.js";
import { Tables } from "./tables.js";

const VIEWS = ["ask", "documents", "tables"];
const TITLES = { ask: "Askline", documents: "Documents · Askline", tables: "Tables · Askline" };

const side = el("div", { class: "sessions", role: "complementary", "aria-label": "Conversations" });
const middle = el("div", { class: "conversation" });
replace(document.getElementById("view-ask"), side, middle);

initKey();
const conversation = new Conversation(middle, sessionChanged);
const sessions = new Sessions(side, () => conversation.sessionId);
const documents = new Documents(document.getElementById("view-documents"));
const tables = new Tables(document.getElementById("view-tables"));

function sessionChanged(sessionId) {
  const address = sessionId ? `#/ask/${sessionId}` : "#/ask";
  document.getElementById("nav-ask").href = address;
  if (!sessionId) location.hash = address;
  else if (currentView() === "ask") history.replaceState(null, "", address);
  sessions.refresh();
}

function currentView() {
  const name = location.hash.split("/")[1];
  return VIEWS.includes(name) ? name : "ask";
}

function show() {
  const view = currentView();
  for (const name of VIEWS) {
    document.getElementById(`view-${name}`).hidden = name !== view;
    const link = document.getElementById(`nav-${name}`);
    if (name === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = TITLES[view];
  closePanel();
  if (view === "ask") {
    const sessionId = location.hash.split("/")[2] || null;
    document.getElementById("nav-ask").href = sessionId ? `#/ask/${sessionId}` : "#/ask";
    conversation.open(sessionId);
    sessions.refresh();
  }
  documents.shown(view === "documents");
  if (view === "tables") tables.refresh();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]") && closePanel()) event.preventDefault();
});
addEventListener("hashchange", show);
show();

// The panel at the right: one thing at a time, a way back, Escape closes, focus returns to where it came from.

import { button, el, problemBox, replace } from "./dom.js";

const covers = matchMedia("(max-width: 1099px)");
const panel = () => document.getElementById("panel");

let trail = [];
let opener = null;
let shown = 0;

// `fill(body, isCurrent)` builds the content; it may be async and must not write once isCurrent() is false.
export function openPanel(title, fill) {
  if (panel().hidden) {
    opener = document.activeElement;
    trail = [];
  }
  trail.push({ title, fill });
  show();
}

export function closePanel() {
  if (panel().hidden) return false;
  shown += 1;
  panel().hidden = true;
  document.body.classList.remove("has-panel");
  document.getElementById("content").inert = false;
  replace(panel());
  if (opener?.isConnected) opener.focus();
  opener = null;
  return true;
}

function back() {
  trail.pop();
  show();
}

async function show() {
  const { title, fill } = trail.at(-1);
  const mine = ++shown;
  const heading = el("h2", { id: "panel-title", tabindex: "-1" }, title);
  const body = el("div", { class: "panel-body" });
  replace(panel(),
    el("div", { class: "panel-head" },
      trail.length > 1 && button("←", back, { class: "quiet icon", "aria-label": "Back" }),
      heading,
      button("✕", closePanel, { class: "quiet icon", "aria-label": "Close the panel" })),
    body);
  panel().hidden = false;
  document.body.classList.add("has-panel");
  // Where the panel covers the page, what lies under it must not take focus.
  document.getElementById("content").inert = covers.matches;
  heading.focus();
  try {
    await fill(body, () => mine === shown);
  } catch (problem) {
    if (mine === shown) body.append(problemBox(problem));
  }
}

covers.addEventListener("change", () => {
  document.getElementById("content").inert = covers.matches && !panel().hidden;
});

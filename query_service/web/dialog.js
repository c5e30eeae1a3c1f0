// Modal dialogs: a question with its buttons. The browser's <dialog> keeps focus inside and closes on Escape.

import { button, el } from "./dom.js";

export function openDialog(title, ...content) {
  const heading = el("h2", {}, title);
  const dialog = el("dialog", { "aria-label": title }, heading, ...content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function confirm(title, text, action) {
  return new Promise((resolve) => {
    let answer = false;
    const yes = button(action, () => { answer = true; dialog.close(); }, { class: "danger" });
    const no = button("Cancel", () => dialog.close());
    const dialog = openDialog(title, el("p", {}, text), el("div", { class: "actions" }, no, yes));
    dialog.addEventListener("close", () => resolve(answer));
    no.focus();
  });
}

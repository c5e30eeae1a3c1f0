// The API key: asked for when the service answers 401, kept for this tab's session only.

import { key, onUnauthenticated } from "./api.js";
import { button, el } from "./dom.js";
import { openDialog } from "./dialog.js";

let asking = null;

// Several requests may fail at once: they share one dialog.
function ask(problem) {
  asking ??= show(problem).finally(() => { asking = null; });
  return asking;
}

function show(problem) {
  return new Promise((resolve) => {
    let given = false;
    const field = el("input", {
      id: "key-field", type: "password", autocomplete: "off", required: true, placeholder: "ak_…", spellcheck: "false",
    });
    const form = el("form", { method: "dialog" },
      el("p", {}, key.get() ? `The key was not accepted: ${problem.message}` : "This service answers to API keys only."),
      el("label", { for: "key-field" }, "API key"), field,
      el("p", { class: "faint" }, "It stays in this tab until you close it. `askline keys create` makes one."),
      el("div", { class: "actions" },
        button("Cancel", () => dialog.close()),
        el("button", { class: "primary", type: "submit" }, "Use this key")));
    form.addEventListener("submit", () => {
      key.set(field.value.trim());
      given = true;
      showForget();
    });
    const dialog = openDialog("API key", form);
    dialog.addEventListener("close", () => resolve(given));
    field.focus();
  });
}

function showForget() {
  document.getElementById("forget-key").hidden = !key.get();
}

export function initKey() {
  onUnauthenticated(ask);
  document.getElementById("forget-key").addEventListener("click", () => {
    key.forget();
    location.reload();
  });
  showForget();
}

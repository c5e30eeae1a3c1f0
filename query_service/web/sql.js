// A statement with its rows; a copy; and a box to change it and run it again under the same guard.

import { post } from "./api.js";
import { button, busy, copyText, el, facts, problemBox, replace } from "./dom.js";
import { cell, counted, number } from "./format.js";

const ENGINES = { postgres: "Postgres", warehouse: "Warehouse" };
const SHORT = 40; // characters of a value that stays on one line

export function rowsTable(columns, rows, label) {
  const numeric = columns.map((_, i) => rows.some((row) => row[i] !== null) &&
    rows.every((row) => row[i] === null || typeof row[i] === "number"));
  const align = (i) => (numeric[i] ? "number" : null);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", { class: "rows" },
      el("thead", {}, el("tr", {}, columns.map((name, i) => el("th", { scope: "col", class: align(i) }, name)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value, i) =>
        el("td", { class: align(i) ?? (cell(value).length <= SHORT ? "short" : null) },
          value === null ? el("span", { class: "faint" }, "null") : cell(value))))))));
}

function rowCount(entry) {
  const all = entry.truncated ? `more than ${number(entry.row_count)} rows` : counted(entry.row_count, "row");
  return entry.rows.length < entry.row_count ? `${all}, the first ${entry.rows.length} shown` : all;
}

// One entry of an answer's sql[].
export function sqlView(entry) {
  const editor = el("div", { class: "editor-place" });
  const toggle = button("Edit and run", () => {
    const open = editor.hasChildNodes();
    toggle.setAttribute("aria-expanded", String(!open));
    if (open) replace(editor);
    else openEditor(editor, entry.statement, entry.engine);
  }, { "aria-expanded": "false" });
  const copy = button("Copy SQL", () => copyText(entry.statement, copy));
  return el("section", { class: "sql", "aria-label": `SQL on ${ENGINES[entry.engine]}` },
    el("div", { class: "sql-head" }, el("strong", {}, `SQL · ${ENGINES[entry.engine]}`), copy, toggle),
    el("pre", { class: "statement" }, el("code", {}, entry.statement)),
    entry.parameters.length > 0 && facts([["Parameters", entry.parameters.map(cell).join(", ")]]),
    editor,
    entry.columns.length > 0 && el("details", {}, el("summary", {}, rowCount(entry)),
      rowsTable(entry.columns, entry.rows, "Rows of the statement")));
}

// In rows of the box; long lines wrap.
function heightOf(statement) {
  return Math.min(16, 1 + statement.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0));
}

let editors = 0;

export function openEditor(place, statement, engine, engines = Object.keys(ENGINES)) {
  const id = `sql-${++editors}`;
  const text = el("textarea", { id, class: "code", rows: heightOf(statement), spellcheck: "false" });
  text.value = statement;
  const choice = el("select", { id: `${id}-engine` }, engines.map((name) =>
    el("option", { value: name, selected: name === engine }, ENGINES[name])));
  const result = el("div", { class: "result", "aria-live": "polite" });
  const run = el("button", { type: "submit", class: "primary" }, "Run");
  const form = el("form", { class: "editor" },
    el("label", { for: id }, "Read-only SQL"), text,
    el("div", { class: "actions start" },
      run, el("label", { for: `${id}-engine`, class: "hidden" }, "Engine"), choice,
      el("span", { class: "faint wide-only" }, "Ctrl+Enter runs it")));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    run.disabled = true;
    replace(result, busy("Running"));
    try {
      const found = await post("/sql", { statement: text.value, engine: choice.value });
      replace(result, el("p", { class: "faint" }, rowCount(found)), rowsTable(found.columns, found.rows, "Result"));
    } catch (problem) {
      replace(result, problemBox(problem));
    }
    run.disabled = false;
  });
  replace(place, form, result);
  text.focus();
  return form;
}

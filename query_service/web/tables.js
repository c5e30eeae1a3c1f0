// The tables view: what can be queried, with columns, types and rows, and a box to query it.

import { listAll } from "./api.js";
import { badge, busy, button, el, problemBox, replace } from "./dom.js";
import { counted, number } from "./format.js";
import { lineageButton } from "./lineage.js";
import { openEditor } from "./sql.js";

export class Tables {
  constructor(place) {
    this.name = el("input", { id: "filter-table", type: "search", placeholder: "Part of a table or column name" });
    this.name.addEventListener("input", () => this.draw());
    this.count = el("p", { class: "faint", role: "status" });
    this.list = el("div", { class: "tables" });
    this.items = [];
    replace(place,
      el("h1", { id: "tables-title" }, "Tables"),
      el("div", { class: "filters", role: "search" }, el("label", { for: "filter-table" }, "Name"), this.name, this.count),
      this.list);
  }

  async refresh() {
    if (!this.list.hasChildNodes()) replace(this.list, busy("Reading the list"));
    try {
      const items = await listAll("/tables");
      if (JSON.stringify(items) === JSON.stringify(this.items) && items.length) return;
      this.items = items;
      this.draw();
    } catch (problem) {
      replace(this.list, problemBox(problem), button("Try again", () => this.refresh()));
    }
  }

  draw() {
    const part = this.name.value.trim().toLowerCase();
    const fits = (table) => [table.name, table.label, ...table.columns.map((column) => column.name)]
      .some((text) => text.toLowerCase().includes(part));
    const found = this.items.filter(fits);
    this.count.textContent = counted(found.length, "table");
    replace(this.list, found.map(tableView), found.length === 0 && el("p", { class: "empty" },
      this.items.length ? "No table fits this filter." : "There are no tables yet. Each CSV file and each sheet of a workbook becomes one."));
  }
}

function tableView(table) {
  const place = el("div", { class: "editor-place" });
  const query = button("Query", () => {
    const statement = `SELECT *\nFROM "${table.name.replaceAll('"', '""')}"\nLIMIT 20`;
    openEditor(place, statement, table.engines[0], table.engines).requestSubmit();
  });
  return el("details", { class: "table-card" },
    el("summary", {},
      el("strong", {}, el("code", {}, table.name)), table.kind === "mart" && badge("Mart", "kind"),
      el("span", { class: "faint" }, `${counted(table.rows, "row")}, ${counted(table.columns.length, "column")}`),
      table.file_name && el("span", { class: "faint" }, table.sheet ? `${table.file_name} · ${table.sheet}` : table.file_name)),
    table.description && el("p", {}, table.description),
    el("div", { class: "actions start" }, query, lineageButton("tables", table.name, table.name)),
    place,
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Columns of ${table.name}` }, el("table", { class: "rows" },
      el("thead", {}, el("tr", {}, ["Column", "Type", "Empty", "Different", "From", "To"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, table.columns.map(columnRow)))));
}

function columnRow(column) {
  const type = column.type === "decimal" && column.precision ? `decimal(${column.precision}, ${column.scale})` : column.type;
  return el("tr", {},
    el("td", {}, el("code", {}, column.name), column.label !== column.name && el("div", { class: "faint" }, column.label)),
    el("td", {}, type),
    el("td", { class: "number" }, number(column.nulls)),
    el("td", { class: "number" }, column.distinct === null ? "> 1,000" : number(column.distinct)),
    el("td", {}, column.minimum ?? ""),
    el("td", {}, column.maximum ?? ""));
}

// The API's documentation, drawn from /openapi.json.

import { initKey } from "./access_key.js";
import { get } from "./api.js";
import { badge, busy, button, copyText, el, problemBox, replace } from "./dom.js";
import { words } from "./format.js";
import { render } from "./markdown.js";
import { fieldRow, fieldsTable, resolve, table, typeView } from "./schema.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

async function show() {
  const place = document.getElementById("docs");
  replace(place, busy("Reading the API"));
  try {
    draw(place, await get("/openapi.json"));
  } catch (problem) {
    replace(place, problemBox(problem));
  }
  openNamed();
}

function draw(place, api) {
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, shared: item.parameters ?? [], ...item[method] })));
  const tags = [...new Set(operations.map((operation) => operation.tags?.[0] ?? "other"))];
  const groups = tags.map((tag) => el("section", { class: "group" },
    el("h2", { id: `tag-${tag}` }, words(tag)),
    operations.filter((operation) => (operation.tags?.[0] ?? "other") === tag).map((operation) => operationView(api, operation))));
  const schemas = Object.entries(api.components?.schemas ?? {}).map(([name, schema]) =>
    el("details", { class: "operation", id: `schema-${name}` }, el("summary", {}, el("code", {}, name)),
      el("div", { class: "body" }, schema.description && render(schema.description), fieldsTable(api, schema))));
  const filter = el("input", { id: "filter", type: "search", placeholder: "Path or words" });
  filter.addEventListener("input", () => narrow(place, filter.value.trim().toLowerCase()));
  replace(place,
    el("h1", {}, `${api.info.title} API`, " ", badge(api.info.version, "kind")),
    el("p", {}, api.info.description),
    el("p", { class: "faint" }, "Errors are application/problem+json with a stable code. A key travels as ",
      el("code", {}, "Authorization: Bearer ak_…"), ". For programs: ", el("a", { href: "/openapi.json" }, "/openapi.json"),
      ` (OpenAPI ${api.openapi}).`),
    el("div", { class: "filters" }, el("label", { for: "filter" }, "Find"), filter),
    groups,
    el("section", { class: "group" }, el("h2", { id: "schemas" }, "Schemas"), schemas));
}

function operationView(api, operation) {
  const parameters = [...operation.shared, ...(operation.parameters ?? [])].map((given) => resolve(api, given));
  const content = Object.entries(resolve(api, operation.requestBody).content ?? {});
  const command = curl(api, operation, parameters, content);
  const copy = button("Copy", () => copyText(command, copy));
  return el("details", { class: "operation", id: operation.operationId, "data-find": `${operation.path} ${operation.summary ?? ""}`.toLowerCase() },
    el("summary", {}, el("span", { class: `method ${operation.method}` }, operation.method.toUpperCase()),
      el("code", {}, operation.path), el("span", { class: "faint" }, operation.summary)),
    el("div", { class: "body" },
      operation.description && operation.description !== operation.summary && el("div", {}, render(operation.description)),
      parameters.length > 0 && [el("h3", {}, "Parameters"), table(["Name", "Type", "Meaning"], parameters.map((given) =>
        fieldRow(api, `${given.name}`, given.schema ?? {}, given.required, [given.description, el("div", { class: "faint" }, `in ${given.in}`)])))],
      content.map(([type, body]) => [el("h3", {}, "Body ", el("code", {}, type)), fieldsTable(api, resolve(api, body.schema))]),
      el("h3", {}, "Responses"),
      table(["Status", "Body", "Meaning"], Object.entries(operation.responses ?? {}).map(([status, response]) => responseRow(api, status, resolve(api, response)))),
      el("h3", {}, "From a shell"), el("pre", {}, command), el("div", { class: "actions start" }, copy)));
}

function responseRow(api, status, response) {
  const bodies = Object.entries(response.content ?? {}).map(([type, body]) =>
    el("div", {}, el("code", {}, type), body.schema && Object.keys(body.schema).length > 0 && [" ", typeView(api, body.schema)]));
  return el("tr", {}, el("td", {}, status), el("td", {}, bodies), el("td", {}, response.description));
}

function curl(api, operation, parameters, content) {
  const needed = parameters.filter((given) => given.in === "query" && given.required).map((given) => `${given.name}=…`);
  const lines = [`curl '${location.origin}${operation.path}${needed.length ? `?${needed.join("&")}` : ""}'`];
  if (operation.method !== "get" && !(operation.method === "post" && content.length)) lines.push(`-X ${operation.method.toUpperCase()}`);
  for (const [type, body] of content.slice(0, 1)) {
    const schema = resolve(api, body.schema);
    if (type === "multipart/form-data") lines.push("-F 'files=@report.pdf'");
    else lines.push(`-H 'Content-Type: ${type}'`, `-d '${JSON.stringify(example(schema))}'`);
  }
  return lines.join(" \\\n  ");
}

function example(schema) {
  const names = schema.required ?? Object.keys(schema.properties ?? {}).slice(0, 1);
  return Object.fromEntries(names.map((name) => [name, schema.properties?.[name]?.enum?.[0] ?? "…"]));
}

function narrow(place, text) {
  for (const operation of place.querySelectorAll("[data-find]")) operation.hidden = !operation.dataset.find.includes(text);
  for (const group of place.querySelectorAll(".group")) {
    const found = group.querySelectorAll("[data-find]");
    group.hidden = found.length > 0 && [...found].every((operation) => operation.hidden);
  }
}

// A link to a schema or an operation opens it.
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

initKey();
addEventListener("hashchange", openNamed);
show();

// JSON Schema (OpenAPI 3.1) in words: the type of a value, and the fields of an object.

import { el } from "./dom.js";

export function resolve(document, schema) {
  if (!schema?.$ref) return schema ?? {};
  return schema.$ref.slice(2).split("/").reduce((at, part) => at?.[part], document) ?? {};
}

// A node with a link to each named schema.
export function typeView(document, schema) {
  if (!schema || !Object.keys(schema).length) return "anything";
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return el("a", { href: `#schema-${name}` }, name);
  }
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.flatMap((one, i) => [i ? " or " : "", typeView(document, one)]);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.type === "array") return ["list of ", typeView(document, schema.items)];
  if (schema.type === "object" && schema.additionalProperties && schema.additionalProperties !== true) {
    return ["map to ", typeView(document, schema.additionalProperties)];
  }
  const kind = schema.format ?? schema.contentMediaType;
  return [].concat(schema.type ?? "anything").join(" or ") + (kind ? ` (${kind})` : "");
}

export function limits(schema) {
  const names = { minimum: "at least", exclusiveMinimum: "over", maximum: "at most", maxLength: "characters at most",
    minLength: "characters at least", maxItems: "items at most" };
  const parts = Object.entries(names).filter(([key]) => key in schema).map(([key, text]) => `${text} ${schema[key]}`);
  for (const one of schema.anyOf ?? []) parts.push(...limits(one));
  if (schema.default !== undefined && schema.default !== null) parts.push(`default ${JSON.stringify(schema.default)}`);
  return parts;
}

export function fieldsTable(document, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldRow(document, name, field, required.has(name), field.description));
  return rows.length ? table(["Field", "Type", "Meaning"], rows) : el("p", {}, typeView(document, { ...schema, $ref: undefined }));
}

export function fieldRow(document, name, schema, required, description) {
  return el("tr", {},
    el("td", {}, el("code", {}, name), required && el("span", { class: "required" }, " required")),
    el("td", {}, typeView(document, schema)),
    el("td", {}, description, limits(schema).length > 0 && el("div", { class: "faint" }, limits(schema).join(", "))));
}

export function table(head, rows) {
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)));
}

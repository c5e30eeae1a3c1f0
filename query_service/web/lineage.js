// Lineage as a readable chain: answer → claim → citation → chunk → version → object → Dagster run.

import { download, get } from "./api.js";
import { badge, busy, button, el, replace } from "./dom.js";
import { shortened, size, words } from "./format.js";
import { openPanel } from "./panel.js";

export function openLineage(kind, id, title) {
  openPanel(title, async (body, isCurrent) => {
    replace(body, busy("Walking back to the bytes"));
    const graph = await get(`/lineage/${kind}/${encodeURIComponent(id)}`);
    if (isCurrent()) replace(body, el("p", { class: "faint" }, "Each id opens the record that it names."), chains(graph));
  });
}

// The graph as a tree; what several branches share is opened once and named again after that.
function chains(graph) {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const below = Map.groupBy
    ? Map.groupBy(graph.edges, (edge) => edge.source)
    : graph.edges.reduce((all, edge) => all.set(edge.source, [...(all.get(edge.source) ?? []), edge]), new Map());
  const targets = new Set(graph.edges.map((edge) => edge.target));
  const seen = new Set();

  const branch = (id, relation) => {
    const again = seen.has(id);
    seen.add(id);
    const children = again ? [] : [...merged(below.get(id) ?? [])].map(([target, kinds]) => branch(target, kinds.join(", ")));
    return el("li", { class: `kind-${nodes.get(id).kind}` },
      nodeView(nodes.get(id), relation, again),
      children.length > 0 && el("ul", {}, children));
  };
  const roots = graph.nodes.filter((node, i) => i === 0 || !targets.has(node.id));
  const list = roots.map((node) => !seen.has(node.id) && branch(node.id, ""));
  return el("ul", { class: "chain" }, list);
}

// The stages of one run stand on one line.
function merged(edges) {
  const byTarget = new Map();
  for (const edge of edges) byTarget.set(edge.target, [...(byTarget.get(edge.target) ?? []), edge.kind]);
  return byTarget;
}

function nodeView(node, relation, again) {
  return el("div", { class: "node" },
    el("div", { class: "node-head" },
      relation && el("span", { class: "relation" }, relation, " → "),
      badge(node.kind === "run" ? "Dagster run" : words(node.kind), "kind"),
      node.active === false && badge("not the active version", "warn"),
      node.stale && badge("stale", "warn")),
    node.kind !== "run" && el("div", { class: node.kind === "sql" ? "label code" : "label" }, shortened(String(node.label), 240)),
    again ? el("div", { class: "faint" }, "shown above") : el("div", { class: "id" }, idLink(node), detail(node)));
}

function detail(node) {
  const parts = [];
  if (node.sha256) parts.push(`sha256 ${node.sha256}`);
  if (node.bytes) parts.push(size(node.bytes));
  if (node.page) parts.push(`page ${node.page}`);
  if (node.parser) parts.push(`parser ${node.parser}`);
  if (node.chunker) parts.push(`chunker ${node.chunker}`);
  return parts.length > 0 && el("span", { class: "faint" }, ` ${parts.join(" · ")}`);
}

function idLink(node) {
  const text = node.kind === "version" ? "versions of the document" : node.id;
  if (!node.url) return el("code", {}, text);
  const address = new URL(node.url, location.href);
  const link = el("a", { href: address.href, rel: "noopener noreferrer" }, el("code", {}, text));
  if (address.origin !== location.origin) {
    link.target = "_blank";
    return link;
  }
  // Opened here, since a new tab would not carry the API key.
  link.addEventListener("click", (event) => {
    event.preventDefault();
    if (node.kind === "object") download(address.pathname + address.search, String(node.label).split("/").pop());
    else openRecord(text, address.pathname + address.search);
  });
  return link;
}

function openRecord(title, path) {
  openPanel(title, async (body, isCurrent) => {
    replace(body, busy("Reading"));
    const record = await get(path);
    if (isCurrent()) replace(body, el("p", { class: "faint" }, el("code", {}, `GET ${path}`)), el("pre", {}, JSON.stringify(record, null, 2)));
  });
}

export function lineageButton(kind, id, title, label = "Lineage") {
  return button(label, () => openLineage(kind, id, title));
}

// Markdown to nodes: headings, paragraphs, lists, tables, quotes, code, bold, and [n] marks. No links, no images, no
// HTML: answers quote documents, and a document's text is data. What is not known here stays as it is written.

import { el } from "./dom.js";

const FENCE = /^\s*```/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)(?:[-*+]|(\d+)[.)])\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const RULE_ROW = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const INLINE = /\\([!-/:-@[-`{-~])|`([^`\n]+)`|\*\*(?=\S)([\s\S]*?\S)\*\*|\[(\d{1,3})\]/g;

// `mark(n)` gives the node for [n], or null where there is no such citation.
export function render(text, mark = () => null) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = readBlock(lines, at, mark);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

function readBlock(lines, at, mark) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  if (FENCE.test(line)) return readCode(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [el(`h${Math.min(6, heading[1].length + 2)}`, {}, inline(heading[2], mark)), at + 1];
  if (startsTable(lines, at)) return readTable(lines, at, mark);
  if (ITEM.test(line)) return readList(lines, at, mark);
  if (QUOTE.test(line)) return readQuote(lines, at, mark);
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines, end)) end += 1;
  return [el("p", {}, withBreaks(lines.slice(at, end), mark)), end];
}

function startsBlock(lines, at) {
  const line = lines[at];
  return FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || QUOTE.test(line) || startsTable(lines, at);
}

function readCode(lines, at) {
  let end = at + 1;
  while (end < lines.length && !FENCE.test(lines[end])) end += 1;
  return [el("pre", {}, el("code", {}, lines.slice(at + 1, end).join("\n"))), end + 1];
}

function readQuote(lines, at, mark) {
  let end = at;
  const inner = [];
  while (end < lines.length && QUOTE.test(lines[end])) inner.push(QUOTE.exec(lines[end++])[1]);
  return [el("blockquote", {}, render(inner.join("\n"), mark)), end];
}

function readList(lines, at, mark) {
  const first = ITEM.exec(lines[at]);
  const ordered = first[2] !== undefined;
  const items = [];
  let end = at;
  while (end < lines.length && lines[end].trim()) {
    const found = ITEM.exec(lines[end]);
    if (found && found[1].length <= first[1].length) {
      if ((found[2] !== undefined) !== ordered) break;
      items.push([found[3]]);
    } else if (/^\s/.test(lines[end])) items.at(-1).push(lines[end].slice(first[1].length + 2));
    else break;
    end += 1;
  }
  const nodes = items.map(([head, ...rest]) => el("li", {}, inline(head, mark), render(rest.join("\n"), mark)));
  return [el(ordered ? "ol" : "ul", ordered && first[2] !== "1" ? { start: first[2] } : {}, nodes), end];
}

function startsTable(lines, at) {
  return lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && RULE_ROW.test(lines[at + 1])
    && lines[at + 1].includes("|");
}

function readTable(lines, at, mark) {
  const head = cells(lines[at]);
  const body = [];
  let end = at + 2;
  while (end < lines.length && lines[end].trim() && lines[end].includes("|")) body.push(cells(lines[end++]));
  const table = el("table", {},
    el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, inline(text, mark))))),
    el("tbody", {}, body.map((row) => el("tr", {}, head.map((_, i) => el("td", {}, inline(row[i] ?? "", mark)))))));
  return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, table), end];
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((text) => text.trim());
}

function withBreaks(lines, mark) {
  return lines.flatMap((line, i) => (i ? [el("br"), ...inline(line, mark)] : inline(line, mark)));
}

function inline(text, mark) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, escaped, code, bold, n] = found;
    let node = null;
    if (escaped !== undefined) node = escaped;
    else if (code !== undefined) node = el("code", {}, code);
    else if (bold !== undefined) node = el("strong", {}, inline(bold, mark));
    else node = mark(Number(n));
    if (node === null) continue;
    nodes.push(text.slice(from, found.index), node);
    from = found.index + whole.length;
  }
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
}

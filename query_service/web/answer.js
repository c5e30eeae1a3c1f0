// One answer: status, text with its marks, sources, SQL, and how it came about.

import { post } from "./api.js";
import { badge, button, copyText, el, facts } from "./dom.js";
import { counted, milliseconds, number, shortened, words } from "./format.js";
import { lineageButton } from "./lineage.js";
import { render } from "./markdown.js";
import { openSource } from "./source.js";
import { sqlView } from "./sql.js";

const STATUS = {
  answered: ["Answered", "good"],
  partial: ["Partly answered", "warn"],
  no_evidence: ["No evidence found", "none"],
  refused: ["Not answered", "bad"],
  escalated: ["Passed on to a person", "warn"],
  needs_review: ["Waiting for review", "warn"],
};
const ROUTES = {
  sql: "Rows in Postgres", s3: "Warehouse", rag: "Documents", graph_rag: "Knowledge graph", summarization: "Summary",
  classification: "Classification", chart: "Chart", image: "Images", lookup: "Lookup by id",
};
const routeName = (route) => ROUTES[route.name] ?? words(route.name);
const STATE_KIND = { done: "good", late: "warn", failed: "bad", empty: "none" };

export function statusText(status) {
  return (STATUS[status] ?? [words(status)])[0];
}

export function answerView(answer, question) {
  const [status, kind] = STATUS[answer.status] ?? [words(answer.status), ""];
  const byNumber = new Map(answer.citations.map((citation) => [citation.n, citation]));
  const open = (citation) => openSource(citation, answer.citations);
  const mark = (n) => {
    const citation = byNumber.get(n);
    if (!citation) return null;
    const where = citation.page ? `${citation.file_name}, page ${citation.page}` : citation.file_name;
    return el("sup", {}, button(String(n), () => open(citation), { class: "mark", title: where, "aria-label": `Source ${n}: ${where}` }));
  };
  const understood = answer.rewritten_question !== question && answer.rewritten_question;
  const warnings = answer.warnings.filter((warning) => warning.message !== answer.text); // a refusal is both
  const traceable = answer.citations.length > 0 || answer.sql.length > 0;
  const copy = button("Copy", () => copyText(answer.text, copy));
  return el("article", { class: `answer status-${answer.status}`, "aria-label": "Answer", "data-answer-id": answer.answer_id },
    el("div", { class: "badges" },
      badge(status, kind),
      answer.stale && badge("Stale: a source has changed since", "warn"),
      answer.routes.filter((route) => route.state === "done").map((route) => badge(routeName(route), "kind"))),
    understood && el("p", { class: "faint" }, "Understood as: ", el("em", {}, understood)),
    el("div", { class: "prose" }, render(answer.text, mark)),
    warnings.length > 0 && el("ul", { class: "warnings", "aria-label": "Warnings" },
      warnings.map((warning) => el("li", {}, warning.message, " ", el("code", {}, warning.code)))),
    sources(answer.citations, open),
    answer.sql.map(sqlView),
    answer.graph && graphView(answer.graph),
    howItCame(answer),
    el("div", { class: "actions start answer-actions" },
      traceable && lineageButton("answers", answer.answer_id, "Lineage of this answer"), copy, feedback(answer.answer_id)));
}

function sources(citations, open) {
  if (!citations.length) return null;
  return el("section", { class: "sources", "aria-label": "Sources" },
    el("h3", {}, "Sources"),
    el("ol", {}, citations.map((citation) => el("li", { value: citation.n },
      button([
        el("span", { class: "n" }, String(citation.n)),
        el("span", { class: "source-text" },
          el("strong", {}, citation.file_name), citation.page && el("span", { class: "faint" }, ` · page ${citation.page}`),
          citation.licence && el("span", { class: "faint" }, ` · ${citation.licence}`),
          citation.stale && badge("stale", "warn"),
          el("span", { class: "quote-line" }, `“${shortened(citation.quote, 150)}”`)),
      ], () => open(citation), { class: "source" })))));
}

function graphView(graph) {
  const names = new Map(graph.nodes.map((node) => [node.node_id, node]));
  const name = (id) => names.get(id)?.name ?? id;
  return el("details", { class: "graph" },
    el("summary", {}, el("strong", {}, "Relations"), el("span", { class: "faint" }, `${counted(graph.nodes.length, "entity", "entities")}, ${counted(graph.edges.length, "relation")}`)),
    el("ul", { class: "relations" }, graph.edges.map((edge) => el("li", {},
      el("span", {}, name(edge.source_id)), el("span", { class: "relation" }, ` ${words(edge.type).toLowerCase()} → `),
      el("span", {}, name(edge.target_id))))));
}

function howItCame(answer) {
  const total = Object.values(answer.timings).reduce((sum, ms) => sum + ms, 0);
  const { input, output, cached, cost_usd: cost } = answer.usage;
  const summary = answer.routes.map((route) => `${routeName(route)} ${milliseconds(route.ms)}`).join(", ");
  return el("details", { class: "how" },
    el("summary", {}, el("strong", {}, "How it was answered"), el("span", { class: "faint" }, summary)),
    answer.routes.length > 0 && el("ul", { class: "routes" }, answer.routes.map((route) => el("li", {},
      el("div", {}, el("strong", {}, routeName(route)), " ", el("code", {}, route.name), " ", badge(route.state, STATE_KIND[route.state]), " ",
        el("span", { class: "faint" }, milliseconds(route.ms))),
      el("div", {}, route.reason)))),
    facts([
      ["Model", answer.model === "offline" ? "none (offline reasoning)" : answer.model],
      ["Tokens", input + output > 0 && `${number(input)} in (${number(cached)} cached), ${number(output)} out`],
      ["Cost", cost > 0 && `$${cost.toFixed(4)}`],
      ["Steps", Object.entries(answer.timings).map(([name, ms]) => `${name} ${milliseconds(ms)}`).join(" · ")],
      ["Sum of steps", milliseconds(total)],
      ["Answer", el("code", {}, answer.answer_id)],
    ].filter(([, value]) => value)));
}

function feedback(answerId) {
  const thanks = el("span", { class: "faint", role: "status" });
  const give = (rating, label) => {
    const choice = button(label, async () => {
      try {
        await post("/feedback", { answer_id: answerId, rating });
        thanks.textContent = "Thank you.";
      } catch (problem) {
        thanks.textContent = problem.message;
      }
    }, { class: "quiet" });
    return choice;
  };
  return el("span", { class: "feedback" }, give("up", "Helpful"), give("down", "Not helpful"), thanks);
}

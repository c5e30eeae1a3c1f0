// The ask view: the turns of one conversation, and the box to ask in.

import { events, get } from "./api.js";
import { answerView, statusText } from "./answer.js";
import { busy, button, el, problemBox, replace } from "./dom.js";
import { milliseconds } from "./format.js";

const STEPS = {
  intake: "Read the question", guardrail_pre: "Checked the question", route: "Chose where to look",
  sql: "Queried rows", s3: "Queried the warehouse", rag: "Searched documents", graph_rag: "Followed relations",
  summarization: "Summarized", classification: "Classified", final_answer: "Put the answer together",
  guardrail_post: "Checked every citation", closing: "Stored the answer",
};

export class Conversation {
  // `changed(sessionId)` is told when a first answer has made a session, and after every answer.
  constructor(place, changed) {
    this.changed = changed;
    this.sessionId = null;
    this.asking = null;
    this.log = el("div", { class: "log", role: "log", "aria-live": "polite", "aria-label": "Conversation" });
    this.field = el("textarea", { id: "question", rows: "1", placeholder: "Ask a question", autocomplete: "off", "aria-describedby": "question-help" });
    this.submit = el("button", { type: "submit", class: "primary" }, "Ask");
    this.form = el("form", { class: "composer" },
      el("label", { for: "question", class: "hidden" }, "Your question"), this.field, this.submit);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.asking) this.asking.abort();
      else this.ask(this.field.value);
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.asking) this.form.requestSubmit();
    });
    this.field.addEventListener("input", () => this.fit());
    replace(place, this.log, el("div", { class: "composer-place" }, this.form,
      el("p", { id: "question-help", class: "faint" }, "Enter asks, Shift+Enter makes a new line. Check the sources before you act on an answer.")));
  }

  // An address that names the conversation on show changes nothing.
  async open(sessionId) {
    if (sessionId === this.sessionId && this.log.hasChildNodes()) return;
    this.asking?.abort();
    this.sessionId = sessionId;
    if (!sessionId) {
      this.welcome();
      return;
    }
    replace(this.log, busy("Reading the conversation"));
    try {
      const { items } = await get(`/sessions/${encodeURIComponent(sessionId)}/messages`);
      if (this.sessionId !== sessionId) return;
      replace(this.log);
      items.forEach((message, i) => this.log.append(message.role === "user"
        ? questionView(message.text)
        : answerView(message.answer, items[i - 1]?.text)));
      this.field.focus({ preventScroll: true });
      this.log.lastElementChild?.scrollIntoView({ block: "start" });
    } catch (problem) {
      if (this.sessionId !== sessionId) return;
      replace(this.log, problemBox(problem), button("New conversation", () => this.changed(null)));
    }
  }

  welcome() {
    replace(this.log, el("div", { class: "welcome" },
      el("h1", {}, "Ask your documents and tables"),
      el("p", {}, "Every statement of an answer leads to the passage, page or rows that prove it."),
      el("p", { class: "faint" }, "Nothing uploaded yet? ", el("a", { href: "#/documents" }, "Add documents"),
        " or see which ", el("a", { href: "#/tables" }, "tables"), " there are.")));
    this.field.focus();
  }

  async ask(question) {
    const text = question.trim();
    if (!text) return;
    this.log.querySelector(".welcome")?.remove();
    const steps = el("ul", { class: "steps", "aria-live": "off" });
    const pending = el("div", { class: "pending" }, busy("Looking for evidence"), steps);
    const asked = questionView(text);
    this.log.append(asked, pending);
    this.field.value = "";
    this.fit();
    this.setAsking(new AbortController());
    asked.scrollIntoView({ block: "start", behavior: "smooth" });
    const mine = this.asking;
    try {
      const answer = await this.receive(text, steps, mine.signal);
      if (mine.signal.aborted) return;
      pending.replaceWith(answerView(answer, text));
      document.title = `${statusText(answer.status)} · Askline`;
      this.sessionId = answer.session_id;
      this.changed(answer.session_id);
    } catch (problem) {
      if (problem.name === "AbortError") {
        pending.replaceWith(el("p", { class: "faint" }, "Stopped."));
      } else {
        pending.replaceWith(problemBox(problem));
        if (!this.field.value) this.field.value = text;
        this.fit();
      }
    } finally {
      if (this.asking === mine) this.setAsking(null);
    }
    asked.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  async receive(question, steps, signal) {
    const body = { question, ...(this.sessionId ? { session_id: this.sessionId } : {}) };
    for await (const { event, data } of events("/ask", body, signal)) {
      if (event === "node") steps.append(el("li", {}, STEPS[data.name] ?? data.name, el("span", { class: "faint" }, ` ${milliseconds(data.ms)}`)));
      else if (event === "done") return data.answer;
      else if (event === "error") throw Object.assign(new Error(data.detail), data);
    }
    throw Object.assign(new Error("The connection ended before the answer came."), { fix: "Ask again." });
  }

  setAsking(controller) {
    this.asking = controller;
    this.submit.textContent = controller ? "Stop" : "Ask";
    this.log.setAttribute("aria-busy", String(Boolean(controller)));
  }

  // The box grows with its text, up to the limit in the style sheet.
  fit() {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
  }
}

function questionView(text) {
  return el("div", { class: "question" }, el("h2", {}, text));
}

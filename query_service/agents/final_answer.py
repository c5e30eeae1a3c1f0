"""final_answer: the one place where findings become the answer, with its numbered citations and its SQL."""

from __future__ import annotations

from typing import Any

from query_service.answer import Answer, AnswerStatus, AnswerWarning, Claim, RouteReport
from query_service.citations import cite
from query_service.services import Services
from query_service.state import Finding, QuestionState, Statement, open_clauses

NO_EVIDENCE = "Nothing that you can see in Askline answers this question."


def compose(services: Services, state: QuestionState) -> dict[str, Any]:
    """Statements with their marks, claims, citations, SQL and routes; a refusal becomes its plain sentence."""
    refusal = state.get("refusal")
    if refusal is not None:
        return {"answer": _base(state, "refused", refusal.message, [refusal])}
    findings = state.get("findings", [])
    done = [finding for finding in findings if finding.state == "done"]
    spans = [span for finding in done for statement in finding.statements for span in statement.spans]
    cited = cite(services.stores, state["principal"], spans, state.get("document_ids"))
    claims: list[Claim] = []
    said: set[Statement] = set()
    parts = []
    for finding in done:
        lines = []
        for statement in finding.statements:
            if statement in said:
                continue  # the whole question found what a clause of it had found
            said.add(statement)
            marks = sorted({cited[span].n for span in statement.spans if span in cited})
            if statement.spans and not marks and not finding.sql:
                continue  # what it stood on was deleted or replaced a moment ago
            claims.append(Claim(text=statement.text, citations=marks))
            lines.append(_line(statement, marks, finding))
        if lines:
            body = "\n".join(f"- {line}" for line in lines) if finding.listed else "\n\n".join(lines)
            parts.append(f"{finding.intro}\n\n{body}" if finding.intro else body)
    unanswered = open_clauses(state) if parts else {}
    parts += [f"Not answered: “{clause}” {_why(tried)}".rstrip() for clause, tried in unanswered.items()]
    late = [finding for finding in findings if finding.state in ("late", "failed")]
    warnings = [warning for finding in findings for warning in finding.warnings]
    warnings += [AnswerWarning(code=f"route_{f.state}", message=f"{f.route}: {f.why}") for f in late]
    status: AnswerStatus = "no_evidence"
    if parts:
        status = "partial" if late or unanswered else "answered"
    elif findings and len(late) == len(findings):
        status = "partial"
    answer = _base(state, status, "\n\n".join(parts) or _nothing(findings), warnings)
    answer.claims = claims
    answer.citations = list(cited.values())
    answer.sql = [entry for finding in done for entry in finding.sql]
    answer.graph = next((finding.graph for finding in done if finding.graph is not None), None)
    answer.routes = _reports(state, findings)
    return {"answer": answer}


def _why(tried: list[Finding]) -> str:
    return next((finding.why for finding in tried if finding.why), "")


def _line(statement: Statement, marks: list[int], finding: Finding) -> str:
    """Marks go to the end of the first line, so that a table under it stays a table."""
    tail = " " + "".join(f"[{n}]" for n in marks) if marks else ""
    first, newline, rest = statement.text.partition("\n")
    return f"{first}{tail}{newline}{rest}"


def _nothing(findings: list[Finding]) -> str:
    if findings and all(finding.state == "late" for finding in findings):
        return "Time ran out before anything was found. Ask again, or give it more time (deadline_s)."
    reasons = dict.fromkeys(finding.why for finding in findings if finding.why and finding.state == "empty")
    return " ".join([NO_EVIDENCE, *reasons])


def _reports(state: QuestionState, findings: list[Finding]) -> list[RouteReport]:
    reasons = {route["name"]: route["reason"] for route in state.get("routes", [])}
    return [
        RouteReport(
            name=finding.route,
            reason=finding.note or reasons.get(finding.route, "Tried because the chosen routes found nothing."),
            state=finding.state,
            ms=finding.ms,
        )
        for finding in findings
    ]


def _base(state: QuestionState, status: AnswerStatus, text: str, warnings: list[AnswerWarning]) -> Answer:
    return Answer(
        answer_id=state["answer_id"],
        session_id=state["session_id"],
        status=status,
        text=text,
        rewritten_question=state.get("rewritten_question", state["question"]),
        language=state.get("language", "en"),
        warnings=warnings,
    )

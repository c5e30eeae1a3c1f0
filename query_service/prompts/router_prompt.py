"""The routes that a question can take. This is the only list of them."""

from __future__ import annotations

ROUTES: dict[str, str] = {
    "sql": "Single or fresh rows of uploaded tables, from Postgres: list, look up, latest, one patient's records.",
    "s3": "Totals, averages, shares, rankings and trends over whole tables and marts, from the warehouse.",
    "rag": "What documents say: policies, guidelines, notices, reports; answered with verbatim quotes.",
    "graph_rag": "How things are connected: which drugs, conditions, people or terms relate, and what they mean.",
    "summarization": "A summary, overview or the key points of one or more documents.",
    "classification": "What kind of document something is, or which category, topic or label it belongs to.",
}
"""Route → what it is for, in one line."""

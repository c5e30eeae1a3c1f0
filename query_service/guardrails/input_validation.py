"""input_validation: questions that cannot be answered as they are get a plain sentence, not a search."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from foundation.errors import EmptyInput, TooLarge
from foundation.settings import ServiceSettings
from query_service.answer import AnswerWarning
from query_service.services import Services
from query_service.state import QuestionState

_WORD = re.compile(r"[^\W\d_]+")
# The commonest words of English questions; a question of six words or more holds one, in any domain.
_ENGLISH = frozenset(
    """a about all an and any are as at be by can could did do does find for from give had has have how i if in is it
    its list many me much my no not of on or our out show since should tell than that the their them there these they
    this to under us was we were what when where which who whom whose why will with without would you your""".split()
)


def clean_question(raw: str, service: ServiceSettings) -> str:
    """The question without control characters, in NFC. EmptyInput, TooLarge."""
    text = "".join(c for c in unicodedata.normalize("NFC", raw) if unicodedata.category(c) != "Cc" or c in "\n\t")
    text = text.strip()
    if not text:
        raise EmptyInput("question: it is empty.", fix="Write what you want to know.")
    if len(text) > service.max_question_chars:
        raise TooLarge(
            f"question: {len(text):,} characters; at most {service.max_question_chars:,} are read.",
            fix="Shorten it, or upload the text as a document and ask about it.",
        )
    return text


def check_question(services: Services, state: QuestionState) -> dict[str, Any]:
    """Refuse what holds no words, and what is in a language that cannot be reasoned in without a model."""
    question = state["rewritten_question"]
    words = [word.casefold() for word in _WORD.findall(question)]
    if not words:
        return _refuse("not_a_question", "There are no words in this question. Write what you want to know.")
    letters = "".join(words)
    latin = sum("LATIN" in unicodedata.name(c, "") for c in letters)
    if latin < len(letters) / 2 or (len(words) >= 6 and not _ENGLISH.intersection(words)):
        return {"language": "other"} | _refuse(
            "language_needs_model",
            "This question does not look like English. Without a language model Askline reads English questions only;"
            " please ask in English.",
        )
    return {"language": "en"}


def _refuse(code: str, message: str) -> dict[str, Any]:
    return {"refusal": AnswerWarning(code=code, message=message)}

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
# Those that other languages have as well: “Was ist …”, “Wat is …”, “in”.
_SHARED = frozenset("a all an as at by do had has in is me no of on or was we".split())
# Function words of other languages. Absent: what is an English word (die, pour, dove), a part of names (von, van, de,
# der, la, du) or a term or abbreviation of clinical English in small letters (los, het, del, para, qual, il, est).
_FOREIGN = frozenset(
    """auch aus bei das dem diese dieser dieses eine einem einen einer eines für gibt haben ich ist kann können mit nach
    nicht oder sich sind über und viel viele wann warum welche welchen welcher welches wer werden wie wieviel wieviele
    wird wurde wurden zum zur
    avec cette combien dans elle où pourquoi quand que quel quelle quelles quels qui sont sur une vous été
    como cual cuales cuando cuantas cuantos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo donde dónde está están
    más por qué quien quién sobre tiene tienen una
    anche che cosa degli dei della delle gli hanno nel nella perché quale quali quando quante quanti quanto questa
    questo è più
    há não onde pela pelo quais quantas quantos quem são também uma é
    bij deze een heeft hebben hoeveel ik naar niet ook uit voor waar waarom wanneer wat welke wordt worden
    zijn""".split()
)
_NAMED = re.compile(r"[\"“«][^\"“”«»]*[\"”»]|\S+\.\w{2,5}\b")
"""What stands in quotes, and file names: they may be in any language."""


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
    if latin < len(letters) / 2 or _foreign(question):
        return {"language": "other"} | _refuse(
            "language_needs_model",
            "This question does not look like English. Without a language model Askline reads English questions only;"
            " please ask in English.",
        )
    return {"language": "en"}


def _foreign(question: str) -> bool:
    """Whether function words of other languages outnumber the English ones, or a long question has no English one.

    A word with a capital inside the question is a name or an abbreviation, and says nothing.
    """
    words = _WORD.findall(_NAMED.sub(" ", question))
    if len(words) >= 6 and not any(word.casefold() in _ENGLISH for word in words):
        return True
    plain = [word.casefold() for place, word in enumerate(words) if (word[1:] if place == 0 else word).islower()]
    foreign = sum(word in _FOREIGN for word in plain)
    return foreign > sum(word.casefold() in _ENGLISH - _SHARED for word in words)


def _refuse(code: str, message: str) -> dict[str, Any]:
    return {"refusal": AnswerWarning(code=code, message=message)}

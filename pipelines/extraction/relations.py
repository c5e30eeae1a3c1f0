"""Relations that a sentence states, by the domain's patterns over the sentence with its entities masked.

Lists ("such as", "and other") follow Hearst, Automatic acquisition of hyponyms from large text corpora, COLING 1992.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from foundation.graph_schema import GraphSchema, Relation, mask
from foundation.lexicon import Term

_PARENTHESIS = re.compile(r"(<[\d,]+>) \( (?!(?:such|e|for|including|like|i) )(?:[^()]{0,80}?) ?\) ")
_DETERMINER = r"(?:(?:an?|the|some|other|also|even|sometimes|any|your|their|certain|possible|both) )?"
_QUALIFIER = re.compile(r"(<[\d,]+>) (?:in|of|within) (?:(?:an?|the|your|their|its|his|her|both) )?<([\d,]+)>")
_RELATIVE = re.compile(r"(<[\d,]+>) (?:, )?(?:that|which) ")
_LIST = re.compile(rf"<\d+>(?: , {_DETERMINER}<\d+>)* (?:, )?(?:and / or|and|or|as well as|plus) {_DETERMINER}<\d+>")
# What may stand before a phrase that opens a statement, determiners aside: a head that the phrase only qualifies
# (`lack of insulin causes`) makes another statement, unless the head is transparent (`use of insulin`).
_GOVERNED = re.compile(
    r" (?:of|in|to|from|for|on|by|at|about|into|during|after|within|than|causes?|treats?|prevents?|have|has|had)"
    r" (?:(?:an?|the|\w+ly) )*\Z"
)
# What stands before a phrase that a statement ends in, when the phrase belongs to another verb or preposition.
_DETACHED = re.compile(
    r" (?!including |being |during )(?:\w+ing|on|at|from|into|through|during|after)"
    r" (?:(?:an?|the|your|their) )*\Z"
)
_TRANSPARENT = re.compile(
    r" (?:uses?|types?|kinds?|forms?|cases?|doses?|courses?|presence|history|exposure|most|many|some|all|one|both)"
    r" (?:of|to|in) (?:(?:an?|the) )*\Z"
)
_CLAUSE_START = re.compile(
    r"(?:\A|\A |[,;:.)>] |\b(?:and|or|that|but|because|also|however|both) )(?:(?:an?|the|\w+ly) )*\Z"
)
_NEGATION_WINDOW = 6
"""Words before a statement in which a negation takes it back."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What may be an end of a relation: the span that is masked, and the term in it. Offsets in the sentence.

    `free`: a noun phrase that is no entity of its own unless a relation needs it.
    """

    start: int
    end: int
    term: Term
    free: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """arguments[source] `relation` arguments[target]."""

    source: int
    relation: str
    target: int


def _fold_lists(masked: str, arguments: Sequence[Argument]) -> str:
    """One placeholder for a list; no parentheses, relative pronouns or qualifiers (`in the <gene>`) behind it."""
    masked = _PARENTHESIS.sub(r"\1 ", masked)
    masked = _LIST.sub(lambda m: "<" + ",".join(re.findall(r"<(\d+)>", m.group())) + ">", masked)

    def unqualified(match: re.Match[str]) -> str:
        free = all(arguments[int(n)].free for n in match.group(2).split(","))
        return match.group(1) if free else match.group()

    return _RELATIVE.sub(r"\1 ", _QUALIFIER.sub(unqualified, masked))


def masked_sentence(text: str, arguments: Sequence[Argument], schema: GraphSchema) -> str:
    """As patterns read it; a subject of two verbs stands before each (`<0> causes <1> and <0> prevents <2>`)."""
    masked = _fold_lists(mask(text, [(a.start, a.end) for a in arguments]), arguments)
    return schema.second_predicate.sub(r"\g<subject> \g<first>\g<subject> \g<second>", masked)


def masked_list(
    text: str, arguments: Sequence[Argument], lead: int, items: Sequence[tuple[int, int]], schema: GraphSchema
) -> str:
    """The lead-in, then one placeholder for the argument that opens each item."""
    in_lead = [a for a in arguments if a.end <= lead]
    opening = []
    for start, end in items:
        for i, argument in enumerate(arguments):
            if start <= argument.start < end:
                if len(text[start : argument.start].split()) <= 1:
                    opening.append(str(i))
                break
    head = masked_sentence(text[:lead], in_lead, schema).rstrip(" :")
    return f"{head} : <{','.join(opening)}> . " if opening else head + " "


def find_statements(masked: str, arguments: Sequence[Argument], schema: GraphSchema) -> list[Statement]:
    """Each statement once, in the order of the schema's relations."""
    found: dict[Statement, None] = {}
    for name, cue, patterns in schema.statements:
        if not cue.search(masked):
            continue
        for pattern in patterns:
            for match in pattern.finditer(masked):
                before = " " + masked[: match.start()]
                if _negated(before, schema):
                    continue
                ends = {end: _usable(masked, match, end, arguments) for end in ("source", "target")}
                for source, target in product(ends["source"], ends["target"]):
                    if _fits(schema.relations[name], arguments[source].term, arguments[target].term, schema):
                        found[Statement(source, name, target)] = None
    return list(found)


def _usable(masked: str, match: re.Match[str], end: str, arguments: Sequence[Argument]) -> list[int]:
    """The arguments of this end that the statement is about, and not about a noun or verb that governs them."""
    members = [int(n) for n in match.group(end).strip("<>").split(",")]
    before = " " + masked[: match.start(end)]
    if match.start(end) > match.start():
        return [n for n in members if not (arguments[n].free and _DETACHED.search(before))]
    if _GOVERNED.search(before) and not _TRANSPARENT.search(before):
        return []
    return [n for n in members if not arguments[n].free or _CLAUSE_START.search(before)]


def _negated(before: str, schema: GraphSchema) -> bool:
    words = re.split(r"[;.()]", before)[-1].split()[-_NEGATION_WINDOW:]
    return any(word in schema.negations for word in words)


def _fits(relation: Relation, source: Term, target: Term, schema: GraphSchema) -> bool:
    """Types as the schema wants them, two different things, and not two things that only this text knows."""
    return (
        source.term_id != target.term_id
        and source.type in relation.source
        and target.type in relation.target
        and not (relation.same_type and source.type != target.type)
        and not (source.type == target.type == schema.free_type)
    )

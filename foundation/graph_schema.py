"""A domain's graph schema (`graph.yaml`): node types, relations, and the patterns that state or ask for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from foundation.errors import ConfigurationError

CO_OCCURS = "co_occurs_with"
DECLARED = "declared"
"""The method of a mention that is the line of an ontology's file: what such lines say is all that there is."""
IS_A = "is_a"


_Outline = tuple[re.Pattern[str], ...]
_Test = tuple[frozenset[str] | None, frozenset[str] | None, re.Pattern[str], tuple[_Outline, ...]]
"""Types of which an end must be one, if it takes no noun phrase of its own; the cue; the outline of each pattern."""


class QuestionPattern(BaseModel):
    """`given`: the end of the relation that the question names; `any` where it may be either."""

    model_config = ConfigDict(extra="forbid")
    pattern: str
    given: Literal["source", "target", "any"]


class StepPhrase(BaseModel):
    """Words that lead from one end of a relation to the other: `PHRASE of X`; `times`: as often (a grandparent: 2).

    `given`: the end that X is. `transitive`: X's, and theirs, and so on.
    """

    model_config = ConfigDict(extra="forbid")
    phrase: str
    given: Literal["source", "target"]
    times: int = Field(1, ge=1, le=5)
    transitive: bool = False


class DeclaringTable(BaseModel):
    """Columns, by their labels, of which each row states a relation. A `separator` parts many targets in one cell."""

    model_config = ConfigDict(extra="forbid")
    relation: str
    source: str | None = None
    source_id: str | None = None
    target: str | None = None
    target_id: str | None = None
    separator: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c for c in (self.source, self.source_id, self.target, self.target_id) if c)


class DeclaringTag(BaseModel):
    """The relation of an OBO tag or relationship; `given`: the end that the stanza's own term is."""

    model_config = ConfigDict(extra="forbid")
    relation: str
    given: Literal["source", "target"] = "source"


class Ontology(BaseModel):
    """How files of terms declare relations. `types`: of terms and codes, by what stands before the colon of an id."""

    model_config = ConfigDict(extra="forbid")
    types: dict[str, str] = {}
    tables: tuple[DeclaringTable, ...] = ()
    tags: dict[str, DeclaringTag] = {}


class Relation(BaseModel):
    """`source_is`, `target_is`: the node type that standing in the relation makes of that end (a sign is a symptom)."""

    model_config = ConfigDict(extra="forbid")
    label: str
    source: frozenset[str]
    target: frozenset[str]
    source_is: str | None = None
    target_is: str | None = None
    statement: str
    cues: str = ""
    patterns: tuple[str, ...] = ()
    questions: tuple[QuestionPattern, ...] = ()
    steps: tuple[StepPhrase, ...] = ()
    symmetric: bool = False
    same_type: bool = False
    states_negation: bool = False


class GraphSchema(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    node_types: tuple[str, ...]
    free_type: str
    person_type: str | None = None
    """The type of people; without one no people are looked for."""
    place_type: str | None = None
    exclusive_types: tuple[str, ...] = ()
    """Types of which no node is the same thing as a node of another type, whatever they are called."""
    relations: dict[str, Relation]
    negations: tuple[str, ...] = ()
    barriers: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    """Verbs that, after `and`, say something more of the subject before."""
    never_nouns: frozenset[str] = frozenset()
    """Verb forms that no noun phrase holds, whatever the tagger says."""
    stop_concepts: frozenset[str] = frozenset()
    meaning_questions: tuple[str, ...] = ()
    abbreviation_questions: tuple[str, ...] = ()
    overview_questions: tuple[str, ...] = ()
    together_questions: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Words between what a question asks for and a further thing that it must be tied to."""
    sharing: tuple[str, ...] = ()
    """Words between what a question asks for and what it has in common with the thing that is named."""
    ontology: Ontology = Ontology()
    type_words: dict[str, tuple[str, ...]] = {}
    """By node type, the words by which a question asks for nodes of that type."""
    lexicon_names: dict[str, str] = {}
    """By the part of a term's id before the colon, what the lexicon's source is called in an answer."""

    @cached_property
    def filler(self) -> str:
        """Up to four words between the parts of a pattern, none of them a barrier or a placeholder."""
        barred = "|".join(re.escape(word) for word in (*self.barriers, *self.negations)) or "(?!)"
        return rf"(?:(?!(?:{barred}) )[^\s<>,;:.()?!]+ ){{0,4}}?"

    @cached_property
    def second_predicate(self) -> re.Pattern[str]:
        """`<0> causes <1> and (raises the risk of <2>)`: groups `subject`, `first` and `second`, its verb."""
        verb = rf"(?:(?:also|can|may|\w+ly) ){{0,2}}(?:{'|'.join(map(re.escape, self.predicates)) or '(?!)'}) "
        return re.compile(rf"(?P<subject><[\d,]+>) (?P<first>{verb}[^.;:()]*?(?:, )?(?:and|but) )(?P<second>{verb})")

    def may_state(self, text: str, entities: Sequence[tuple[int, int, str]]) -> bool:
        """Whether a sentence with these entities (start, end, type; in order) may state a relation; cheap, no tags.

        An end that takes no noun phrase of its own must be among the entities, and the words of one pattern must
        follow each other as in the pattern. Never False where a pattern would match.
        """
        types = {entity[2] for entity in entities}
        lower, marked = text.lower(), ""
        for source, target, cue, outlines in self._tests:
            if (
                (source is None or not source.isdisjoint(types))
                and (target is None or not target.isdisjoint(types))
                and (len(entities) > 1 or source is None or target is None)
                and cue.search(lower)
            ):
                marked = marked or _marked(text, entities)
                if any(_follow(outline, marked) for outline in outlines):
                    return True
        return False

    @cached_property
    def _tests(self) -> tuple[_Test, ...]:
        return tuple(
            (
                relation.source if self.free_type not in relation.source else None,
                relation.target if self.free_type not in relation.target else None,
                re.compile(relation.cues),
                tuple(_outline(pattern, relation, self.free_type) for pattern in relation.patterns),
            )
            for relation in self.relations.values()
            if relation.patterns
        )

    @cached_property
    def statements(self) -> tuple[tuple[str, re.Pattern[str], tuple[re.Pattern[str], ...]], ...]:
        """Relation, its cue and its patterns, compiled, in the order of the file."""
        return tuple(
            (name, re.compile(relation.cues), tuple(self.compile(pattern) for pattern in relation.patterns))
            for name, relation in self.relations.items()
            if relation.patterns
        )

    def compile(self, pattern: str) -> re.Pattern[str]:
        """A regular expression over a masked sentence that ends in a space; groups `source`, `target`, `entity`."""
        text = pattern.replace("~ ", self.filler)
        for name in ("source", "target", "entity"):
            text = text.replace("{" + name + "}", rf"(?P<{name}><[\d,]+>)")
        return re.compile(r"(?<!\S)" + text + ("" if pattern.endswith((" ", r"\Z")) else r"(?=\s)"))


_HOLE = re.compile(r"(\{source\} ?|\{target\} ?|~ )")
_ENTITY = re.compile("<")


def _outline(pattern: str, relation: Relation, free_type: str) -> _Outline:
    """What any match of the pattern holds, in this order: its literal parts, and `<` for an end that is an entity."""
    if _branches(pattern):
        return ()
    outline = []
    after_space = True
    for part in _HOLE.split(pattern):
        if _HOLE.fullmatch(part):
            after_space = part.endswith(" ")
            taken = {"source": relation.source, "target": relation.target}.get(part.strip(" {}"))
            if taken is not None and free_type not in taken:
                outline.append(_ENTITY)
        elif part:
            try:
                outline.append(re.compile((r"(?<!\S)" if after_space else "") + part))
            except re.error:  # a group around a placeholder: any sentence may match
                return ()
            after_space = False
    return tuple(part for part in outline if not part.match(""))


def _branches(pattern: str) -> bool:
    """Whether a `|` stands outside all groups, so that no part is in every match."""
    depth = 0
    for mark in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", pattern):
        depth += (mark == "(") - (mark == ")")
        if mark == "|" and depth == 0:
            return True
    return False


def _follow(outline: _Outline, text: str) -> bool:
    at = 0
    for part in outline:
        match = part.search(text, at)
        if match is None:
            return False
        at = match.start() + 1
    return True


def _marked(text: str, entities: Sequence[tuple[int, int, str]]) -> str:
    """The words of the sentence as `mask` writes them, with `<` before those of each entity."""
    parts: list[str] = []
    at = 0
    for start, _, _ in entities:
        parts += [*_words(text[at:start]), "<"]
        at = start
    return " ".join((*parts, *_words(text[at:]))) + " "


_MASK_TOKEN = re.compile(r"\w+(?:['\-]\w+)*|[^\w\s]")


def mask(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """`text` as patterns read it: lower case, words and marks parted by one space, spans[i] written as <i>.

    Spans are in order and do not overlap. The result starts with a word and ends in a space.
    """
    parts: list[str] = []
    at = 0
    for i, (start, end) in enumerate(spans):
        parts += _words(text[at:start])
        parts.append(f"<{i}>")
        at = end
    parts += _words(text[at:])
    return " ".join(parts) + " "


def _words(text: str) -> list[str]:
    text = text.lower().replace("’", "'")
    words: list[str] = _MASK_TOKEN.findall(text)
    if "n't" in text:
        words = [part for word in words for part in _without_contraction(word)]
    # Placeholders are the only angle brackets.
    return [word for word in words if word not in "<>"] if "<" in text or ">" in text else words


def _without_contraction(word: str) -> tuple[str, ...]:
    if not word.endswith("n't"):
        return (word,)
    return ("can", "not") if word == "can't" else (word[:-3], "not") if len(word) > 3 else ("not",)


@cache
def load_graph_schema(path: Path) -> GraphSchema:
    """ConfigurationError names the field or the pattern that is wrong. Read once per process."""
    try:
        schema = GraphSchema.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise ConfigurationError(
            f"{path}: {error}", fix="Correct the named field of the domain's graph.yaml."
        ) from error
    ontology = schema.ontology
    declared = [*(table.relation for table in ontology.tables), *(tag.relation for tag in ontology.tags.values())]
    if strange := sorted(set(declared) - set(schema.relations)):
        raise ConfigurationError(
            f"{path}: ontology names the unknown relation {strange[0]!r}.",
            fix="Add it to relations, or correct its spelling.",
        )
    named: dict[str, list[str]] = {
        "ontology.types": list(ontology.types.values()),
        "type_words": list(schema.type_words),
        "exclusive_types": list(schema.exclusive_types),
        "person_type": [schema.person_type] if schema.person_type else [],
        "place_type": [schema.place_type] if schema.place_type else [],
    }
    for field, types in named.items():
        if strange := sorted(set(types) - set(schema.node_types)):
            raise ConfigurationError(
                f"{path}: {field} names the unknown node type {strange[0]!r}.",
                fix="Add it to node_types, or correct its spelling.",
            )
    for name, relation in schema.relations.items():
        roles = {role for role in (relation.source_is, relation.target_is) if role}
        unknown = (relation.source | relation.target | roles) - set(schema.node_types)
        if unknown:
            raise ConfigurationError(
                f"{path}: relation {name} names the unknown node type {sorted(unknown)[0]!r}.",
                fix="Add it to node_types, or correct its spelling.",
            )
        for pattern in (
            *schema.meaning_questions,
            *schema.abbreviation_questions,
            *schema.overview_questions,
            *schema.together_questions,
            *schema.links,
            *schema.sharing,
            *(step.phrase for step in relation.steps),
            *relation.patterns,
            *(q.pattern for q in relation.questions),
            relation.cues,
        ):
            try:
                schema.compile(pattern)
            except re.error as error:
                raise ConfigurationError(
                    f"{path}: relation {name}: {pattern!r} is no pattern: {error}",
                    fix="Patterns are Python regular expressions with {source}, {target} and ~.",
                ) from error
    return schema

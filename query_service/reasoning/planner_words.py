"""Words of questions that belong to no table: the English of counting, comparing, ordering and grouping."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from query_service.reasoning.joins import singular

NUMBERS = {
    w: n for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100}

# Phrase → (kind, payload). The longest phrase wins. Words that change a question's meaning (after, first, same, only,
# each other …) are absent unless the planner acts on them: an unknown word makes it decline.
_PHRASES: dict[str, tuple[str, str]] = {}


def _add(kind: str, payload: str, phrases: str) -> None:
    for phrase in phrases.split("|"):
        _PHRASES[phrase.strip()] = (kind, payload)


_add(
    "count",
    "",
    "how many|number of|total number of|count of|count|count the number of|what number of|total count of"
    "|amount of|how often|number|volume of",
)
_add("measure", "avg", "average|mean|on average|avg|typical|averaged")
_add("measure", "sum", "total|sum|sum of|total amount of|overall|in total|combined|altogether|how much")
_add("measure", "median", "median")
_add("extreme", "max", "highest|largest|maximum|max|greatest|biggest|most expensive|costliest|longest|top")
_add("extreme", "min", "lowest|smallest|minimum|min|least expensive|cheapest|shortest")
_add(
    "most",
    "max",
    "most|most common|commonest|most frequent|most frequently|most often|most commonly|most popular"
    "|most number of|highest number of|largest number of|greatest number of|most used|most prescribed|common|frequent|commonly|frequently",
)
_add("most", "min", "fewest|least common|least frequent|least often|rarest|lowest number of|smallest number of|least")
_add("latest", "desc", "latest|most recent|most recently|newest|last")
_add("latest", "asc", "earliest|oldest|first")
_add(
    "percent",
    "",
    "percentage of|percent of|share of|proportion of|fraction of|percentage|proportion|what percent"
    "|what percentage|what proportion|% of|what fraction",
)
_add(
    "group",
    "",
    "by|per|for each|for every|grouped by|group by|split by|stratified by|stratify by|broken down by|broken out by|break down by"
    "|breakdown by|in each|of each|each|every|according to|categorized by|by each|across|at each|distribution by|with a breakdown by",
)
_add("distribution", "", "distribution of|breakdown of|distribution")
_add(
    "grain",
    "year",
    "each year|every year|year|yearly|annual|annually|calendar year|over time|over the years|year by year",
)
_add("grain", "month", "each month|every month|month|monthly|calendar month|month by month")
_add("grain", "quarter", "each quarter|every quarter|quarter|quarterly")
_add("grain", "day", "each day|every day|day|daily|date")
_add(
    "negation",
    "",
    "without|no|not|never|excluding|except|except for|other than|lack|lacks|lacking|didnt|dont|doesnt|havent|hasnt|werent|wasnt|isnt|arent|hadnt|didn't|don't|doesn't|haven't|hasn't|weren't|wasn't|isn't|aren't|hadn't|do not|did not|does not|have not|has not|had not|were not|was not|is not|are not|that are not|who are not|with no",
)
_add("or", "", "or")
_add("and", "", "and|as well as|and also|both|along with|plus|also")
_add("distinct", "", "distinct|different|unique|individual|separate|various")
_add(
    "rows",
    "",
    "list|show|show me|list all|which|what are|what were|who|who are|whose|display|give me a list of|list of|names of"
    "|name of|give me|show all|what kinds of|what types of|what kind of|what type of|what other|details of",
)
_add("what", "", "tell me|let me know|do you know|what|what is|what was|whats|what's|how old is|how old was")
_add("when", "", "when|when was|when were|when did|what date|on what date|on which date|what time|date of")
_add("born", "", "born")
_add("died", "", "died|die|deceased|dead|passed away|have died|has died")
_add("alive", "", "alive|living|still alive")
_add("age", "", "age|ages|aged|years old|year old|years of age|old")
_add(
    "active",
    "",
    "currently|active|ongoing|current|still active|currently active|open|unresolved|at present|now|right now",
)
_add("missing", "", "missing|unknown|empty|null|unrecorded|blank")
_add("top", "", "top")
_add(
    "duration",
    "",
    "length of stay|duration|how long|length|time spent|duration in days|duration in hours|duration in minutes",
)
_add("unit", "days", "in days|days")
_add("unit", "hours", "in hours|hours")
_add("unit", "minutes", "in minutes|minutes")
_add("youngest", "", "youngest")
_add(
    "with",
    "",
    "with|having|have|has|had|received|receiving|who have|who had|who has|that have|that had|which have|that has|have had|has had",
)
_add(
    "is",
    "",
    "is|are|was|were|be|been|being|who are|who were|that are|that were|which are|which were|that was|that is|who is|who was",
)
_STOP = """a an the of in on at for to from that do does did their our we us i me my you your its it there this these
those all any as please can could tell would will like want find get return calculate compute determine provide
see know let need available exist exists existing shown recorded record data dataset database table file entry stored
documented noted registered listed given receive get gets got getting during into 
up s i'd they them he she his her him occurred occur happened happen 
 ever us our report reported identified identify whole
entire system among information info 
 
""".split()
STOP = frozenset(_STOP)
_FILLER = ["over all", "across all", "among all", "overall", "live in", "lives in", "living in", "at least once", "at least one time", "lived in", "reside in", "residing in", "located in", "in the table", "in the data", "in the dataset", "in the database", "in the file", "in our data", "on record",
           "on file", "in the records", "in our records", "in our database", "in our system", "in total", "there are",
           "are there", "were there", "in this table", "across the whole history", "in the whole history"]  # fmt: skip
for _filler in _FILLER:
    _PHRASES.setdefault(_filler, ("stop", ""))
FRESH = re.compile(
    r"\b(?:today|yesterday|right now|now|currently|current|at present|this (?:week|month)|just (?:uploaded|added))\b",
    re.I,
)
MAX_PHRASE = max(len(p.split()) for p in _PHRASES)


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    end: int

    @property
    def stem(self) -> str:
        return singular(self.text)


def tokens(text: str) -> list[Token]:
    """Lower-case words and numbers with their places; hyphens and slashes part words, apostrophes inside stay."""
    return [
        Token(m.group().casefold().removesuffix("'s").replace("’s", ""), m.start(), m.end())
        for m in re.finditer(r"[^\W_]+(?:[.'’][^\W_]+)*|%", text)
    ]


def stems(text: str) -> tuple[str, ...]:
    return tuple(t.stem for t in tokens(text))


def phrase(words: tuple[str, ...]) -> tuple[str, str] | None:
    return _PHRASES.get(" ".join(words))


_AMOUNT = r"[$€£]?\s*(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))\s*(k\b)?"
_COMPARISONS = [
    ("or between", rf"\b(?:or|and)\s+(?:in\s+(?:the\s+)?age\s+)?(?:of\s+)?between\s+{_AMOUNT}\s*(?:and|to|-|–)\s*{_AMOUNT}"),
    ("or between", rf"\b(?:or|and)\s+(?:aged\s+)?{_AMOUNT}\s*(?:to|-|–)\s*{_AMOUNT}"),
    ("between", rf"\b(?:(?:in\s+)?ages?\s+|aged\s+|in\s+the\s+age\s+range\s+)?(?:of\s+)?between\s+(?:the\s+ages\s+of\s+)?{_AMOUNT}\s*(?:and|to|-|–)\s*{_AMOUNT}"),
    ("between", rf"\b(?:aged|ages?|from)\s+(?:from\s+)?{_AMOUNT}\s*(?:to|and|-|–)\s*{_AMOUNT}"),
    ("between", rf"\b(?:within\s+)?(?:the\s+)?age\s+ranges?\s+(?:of\s+|from\s+)?{_AMOUNT}\s*(?:to|-|–)\s*{_AMOUNT}"),
    (">=", rf"(?:\bat\s+least|\bno\s+less\s+than|\bno\s+fewer\s+than|\bminimum\s+of|>=|≥)\s*{_AMOUNT}"),
    ("<=", rf"(?:\bat\s+most|\bno\s+more\s+than|\bnot\s+more\s+than|\bup\s+to|<=|≤)\s*{_AMOUNT}"),
    (">", rf"(?:\b(?:is\s+)?(?:more|greater|higher|larger|older|longer|bigger)\s+than|\b(?:over|above|exceeding|exceeds|exceeded|exceed)|>)\s*(?:the\s+age\s+of\s+)?{_AMOUNT}"),
    ("<", rf"(?:\b(?:less|fewer|lower|smaller|younger|shorter|cheaper)\s+than|\b(?:under|below)|<)\s*(?:the\s+age\s+of\s+)?{_AMOUNT}"),
    (">=", rf"\b{_AMOUNT}\s*(?:years?\s+)?(?:or|and)\s+(?:more|older|above|over|up|higher|greater|longer)\b"),
    ("<=", rf"\b{_AMOUNT}\s*(?:years?\s+)?(?:or|and)\s+(?:less|younger|under|below|fewer|lower|shorter)\b"),
    ("=", rf"(?:\bexactly|\bequal\s+to|\bequals|=)\s*{_AMOUNT}"),
    ("age=", r"\baged\s+(\d{1,3})(\b)"),
]  # fmt: skip
_COMPILED = [(op, re.compile(p, re.IGNORECASE)) for op, p in _COMPARISONS]
_AGE = re.compile(r"\b(?:age|ages|aged|older|younger)\b", re.IGNORECASE)
_AGE_UNIT = re.compile(r"\s*(?:years?[\s-]+(?:old|of\s+age)|yo\b|y/o\b|year[\s-]olds?)", re.IGNORECASE)
_YEARS = re.compile(r"\s*years?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    values: tuple[float | int, ...]
    age: bool
    at: int
    until: int
    years: bool = False


def comparisons(question: str) -> list[Comparison]:
    """Numbers that the question compares with, in order; `age` where the phrase itself speaks of age."""
    found: list[Comparison] = []
    for operator, pattern in _COMPILED:
        for match in pattern.finditer(question):
            if re.match(r"\s*times?\b", question[match.end() :], re.IGNORECASE):
                continue
            if any(match.start() < c.until and c.at < match.end() for c in found):
                continue
            groups = match.groups()
            values = tuple(_number(groups[i], groups[i + 1]) for i in range(0, len(groups), 2))
            yearlike = all(1900 <= v <= 2199 and "," not in match.group() and "$" not in match.group() for v in values)
            if operator == "between" and yearlike:
                continue
            tail = question[match.end() :]
            unit = _AGE_UNIT.match(tail)
            years = _YEARS.match(tail)
            aged = operator == "age=" or bool(_AGE.search(match.group())) or unit is not None
            until = match.end() + (unit.end() if unit else years.end() if years else 0)
            found.append(
                Comparison("=" if operator == "age=" else operator, values, aged, match.start(), until, bool(years))
            )
    return _joined(sorted(found, key=lambda c: c.at), question)


def _joined(found: list[Comparison], question: str) -> list[Comparison]:
    """“between 18 and 35 or between 40 and 75” is one comparison with two ranges."""
    result: list[Comparison] = []
    for item in found:
        last = result[-1] if result else None
        if not item.operator.startswith("or"):
            result.append(item)
        elif last is not None and last.operator == "between" and not question[last.until : item.at].strip():
            result[-1] = replace(last, values=(*last.values, *item.values), age=last.age or item.age, until=item.until)
    return result


def _number(text: str, thousands: str | None) -> float | int:
    plain = text.lower().replace(",", "")
    value = float(NUMBERS[plain]) if plain in NUMBERS else float(plain)
    value *= 1_000 if thousands and thousands.strip() else 1
    return int(value) if value == int(value) else value

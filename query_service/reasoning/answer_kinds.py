"""The kind of answer that a question wants, and whether a passage holds one: a dose, a price, a date, a name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Asked = Literal[
    "definition", "dose", "percent", "duration", "frequency", "time", "date", "money", "phone", "email", "temperature",
    "limit", "person", "name", "place", "reason", "number",
]  # fmt: skip

_NUMBER = (
    r"(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million|half|twice"
    r"|once)"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug"
    "|sept|sep|oct|nov|dec"
)
_DATED = rf"\b(?:1[5-9]|20)\d\d\b|\b(?:{_MONTHS})\.? \d|\d\.? (?:{_MONTHS})\b"
_DURATION = rf"\b{_NUMBER}[\s\-](?:\w+ )?(?:to \w+ )?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
_REPEATED = (
    r"\b(?:every|each|once|twice|daily|weekly|monthly|quarterly|yearly|annual(?:ly)?|hourly|nightly|(?:a|per) (?:day"
    r"|week|month|year|hour))\b"
)
_TIMES = (
    rf"{_DATED}|{_DURATION}|\b\d{{1,2}}[:.]\d\d\b|\b\d{{1,2}} ?[ap]\.?m\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|\b(?:{_MONTHS}|before|after|when|whenever|while|during|until|once|if|unless|as soon as|daily|morning|evening"
    r"|night|noon|midnight|birth|childhood|infancy|adolescence|adulthood|age|aged|ages|trimester)\b"
)
_MONEY = (
    r"(?:[$€£¥]|\b(?:usd|eur|gbp|chf|cad|aud))\s?\d|\d\s?(?:[$€£¥]|(?:usd|eur|gbp|chf|dollars?|euros?|pounds?|cents?)\b)"
    r"|\bfree\b|\b(?:no|without) (?:\w+ )?(?:cost|charge|fee|copay)"
)
_ROLES = (
    r"\b(?:patients?|people|persons?|adults?|children|child|women|woman|men|man|infants?|babies|parents?|everyone|anyone"
    r"|nobody|no one|staff|team|committee|board|department|agency|physicians?|clinicians?|individuals?|males?|females?"
    r"|boys?|girls?|those|mates?|\w{3,}(?:er|or|ist|ian|ee|ant|master|nurse)s?)\b"
)
_PERSON = r"\b(?:Dr|Mr|Mrs|Ms|Prof)\.? [A-Z]|\b[A-Z][a-zà-ÿ]+ (?:[A-Z]\. )?[A-Z][a-zà-ÿ]+"

_EVIDENCE: Mapping[Asked, re.Pattern[str]] = {
    "dose": re.compile(
        rf"\b{_NUMBER}[\s\-]?(?:mg|g|mcg|µg|ug|ml|l|iu|units?|mmol|tablets?|capsules?|puffs?|drops?|doses?|injections?)\b"
        r"(?!/(?:min|d?l|g|m)\b)",
        re.I,
    ),
    "percent": re.compile(r"\d\s?(?:%|percent|per cent|in \d|of every|out of|per \d)|\bper \d", re.I),
    "duration": re.compile(rf"{_DURATION}|\buntil\b|\b(?:minutes|hours|days|weeks|months|years|lifelong|life)\b", re.I),
    "frequency": re.compile(rf"{_DURATION}|{_REPEATED}", re.I),
    "time": re.compile(_TIMES, re.I),
    "date": re.compile(_DATED, re.I),
    "money": re.compile(_MONEY, re.I),
    "phone": re.compile(r"\d(?:[\s\-./()]*\d){5,}|\b[2-9]11\b"),
    "email": re.compile(r"\S+@\S+\.\w+"),
    "temperature": re.compile(r"\d\s?(?:°|degrees?|celsius|fahrenheit)|\d\s?[CF]\b|\broom temperature\b", re.I),
    "limit": re.compile(
        r"\d.*\b(?:max(?:imum|imal)?|min(?:imum|imal)?|at most|at least|up to|no more|not more|highest|lowest|limit\w*"
        r"|exceed|or (?:more|less|fewer|higher|lower|older|younger))\b"
        r"|\b(?:max(?:imum|imal)?|min(?:imum|imal)?|at most|at least|up to|more than|less than|highest|lowest|limit\w*"
        r"|exceed\w*|over|under|below|above)\b.*\d",
        re.I | re.S,
    ),
    "person": re.compile(rf"{_PERSON}|(?i:{_ROLES})"),
    "name": re.compile(_PERSON),
    "place": re.compile(
        r"\b(?:in|at|on|under|near|behind|beside|above|below|inside|outside|next to|from|to|room|floor|building)\b",
        re.I,
    ),
    "reason": re.compile(
        r"\b(?:because|since|due to|so that|in order|reasons?|therefore|cause[sd]?|results? (?:in|from)|leads? to"
        r"|prevents?|avoids?|protects?|reduces?"
        r"|to (?:make|keep|ensure|allow|help|protect|prevent|avoid|reduce)"
        r"|as a result|risk)\b",
        re.I,
    ),
    "number": re.compile(rf"\b{_NUMBER}\b", re.I),
}
_PRICE = r"(?:costs?|prices?|fees?|fares?|charges?|charged|pay|paid|copays?|surcharges?)"
_ASKS: tuple[tuple[Asked, re.Pattern[str]], ...] = (
    ("phone", re.compile(r"\b(?:tele)?(?:phone|fax) (?:number|line)\b|\b(?:fax|phone|telephone)\b.*\?", re.I)),
    ("email", re.compile(r"\be-?mail(?: address)?\b", re.I)),
    (
        "money",
        re.compile(
            rf"\bhow (?:much|expensive)\b.*\b(?:{_PRICE}|is (?:a|an|the) (?:\w+ ){{0,3}}tickets?)\b"
            rf"|\bwhat (?:is|are|was|were|does|do|did|will)\b.*\b{_PRICE}\b|\bwhat {_PRICE}\b",
            re.I,
        ),
    ),
    ("duration", re.compile(r"\bhow many (?:\w+ )?(?:seconds|minutes|hours|days|weeks|months|years)\b", re.I)),
    (
        "limit",
        re.compile(r"\b(?:maximum|minimum|maximal|minimal|highest|lowest|upper limit|lower limit)\b|\bat most\b", re.I),
    ),
    (
        "dose",
        re.compile(
            r"(?<!-)\b(?:doses?|dosages?|dosing|how (?:much|many) (?:mg|ml|milligrams|tablets|pills|capsules))\b", re.I
        ),
    ),
    (
        "percent",
        re.compile(
            r"\b(?:percent(?:age)?|per cent|proportion|what share|rates?|prevalence|incidence|how common)\b|%", re.I
        ),
    ),
    ("temperature", re.compile(r"\btemperatures?\b|\bhow (?:cold|hot|warm)\b", re.I)),
    ("frequency", re.compile(r"\bhow (?:often|frequently)\b", re.I)),
    ("duration", re.compile(r"\bhow (?:long|soon|quickly|fast|old|late|early)\b|\bwhat age\b|\bduration\b", re.I)),
    ("date", re.compile(r"\bwhen (?:was|were|did)\b|\b(?:what|which) (?:year|date|day)\b|\bdate of\b", re.I)),
    ("time", re.compile(r"\bwhen\b|\b(?:what|which) time\b", re.I)),
    (
        "number",
        re.compile(r"\bhow (?:many|much|high|low|large|far|tall|big)\b|\b(?:number|amount) of\b", re.I),
    ),
    ("name", re.compile(r"^\W*who (?:is|was|are|were) the\b(?! \w+ (?:who|that)\b)|\bwhat is the name\b", re.I)),
    ("person", re.compile(r"^\W*(?:who|by whom|whose)\b", re.I)),
    ("place", re.compile(r"^\W*(?:where|in (?:which|what) (?:room|place|building|country|city|town))\b", re.I)),
    ("reason", re.compile(r"^\W*(?:why\b|what is the reason|for what reason)", re.I)),
    (
        "definition",
        re.compile(
            r"^\W*(?:what|who) (?:is|are|was|were|does)\b|\b(?:define|definition of|meaning of|stands? for)\b", re.I
        ),
    ),
)
_OPENS_WITH = re.compile(
    r"^\W*(?:(?:(?:and|by|in|at|for|within|on|with|to|from|since|until|of)\s+){0,2}(?:what|which|how|when|who|whom|whose|why)\b|(?:tell|give|name|state|show)\b)",
    re.I,
)
# Headers under which a number is such a value; a column of another kind does not answer.
_HEADERS: Mapping[Asked, re.Pattern[str]] = {
    "dose": re.compile(r"\bdos|\b(?:mg|mcg|ml|units?)\b", re.I),
    "percent": re.compile(r"%|percent|share|\brate", re.I),
    "duration": re.compile(r"\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|duration|age)\b", re.I),
    "frequency": re.compile(r"\b(?:every|interval|frequency|times)\b", re.I),
    "date": re.compile(r"\b(?:date|year|day|on|since)\b", re.I),
    "money": re.compile(rf"\b(?:{_PRICE}|amount|usd|eur|gbp|chf)\b|[$€£¥]", re.I),
    "phone": re.compile(r"phone|\btel|\bfax", re.I),
    "email": re.compile(r"mail", re.I),
    "temperature": re.compile(r"temp|°|celsius|fahrenheit", re.I),
}
# Words of a question that the kind of its answer explains: a price need not be called one where it stands.
_EXPLAINED: Mapping[Asked, str] = {
    "dose": "dose doses dosage dosages dosing adult much many recommended mg ml milligrams tablets pills capsules",
    "percent": "percent percentage proportion share rate rates prevalence incidence common people",
    "duration": "long soon quickly fast old late early age duration time seconds minutes hours days weeks months years",
    "frequency": "often frequently times",
    "time": "time times",
    "date": "year date day",
    "money": "cost costs price prices fee fees charge charges charged pay paid expensive much",
    "phone": "telephone phone number line reach call",
    "email": "e-mail email address mail",
    "temperature": "temperature temperatures cold hot warm",
    "limit": "maximum minimum maximal minimal highest lowest upper lower limit most",
    "name": "name",
    "reason": "reason",
    "number": "number amount total",
}


def asked(question: str) -> Asked | None:
    """The kind of answer that the question wants, if its words say so."""
    return next((kind for kind, pattern in _ASKS if pattern.search(question)), None)


def is_strict(kind: Asked | None) -> bool:
    """Whether a column holds such values or not, as its cells and header show."""
    return kind in _HEADERS


def asks_value(question: str, kind: Asked | None) -> bool:
    """Whether only an answer of that kind answers: not in `Do low doses help?`, and not for what something is."""
    return kind in _EVIDENCE and _OPENS_WITH.match(question) is not None


def fits(kind: Asked | None, sentence: str) -> bool:
    """Whether a sentence holds what such a question wants: a dose, a percentage, a time, a number."""
    pattern = _EVIDENCE.get(kind) if kind is not None else None
    return pattern is not None and pattern.search(sentence) is not None


def cell_fits(kind: Asked | None, header: str, cell: str) -> bool:
    """As `fits`, for a cell: `Fee (EUR)` makes a price of a bare number."""
    if fits(kind, cell) or fits(kind, f"{header}: {cell}"):
        return True
    heads = _HEADERS.get(kind) if kind is not None else None
    return heads is not None and heads.search(header) is not None and any(c.isdigit() for c in cell)


def explained(kind: Asked | None) -> frozenset[str]:
    """Words that say no more than which kind of answer is wanted."""
    return frozenset(_EXPLAINED.get(kind, "").split()) if kind is not None else frozenset()

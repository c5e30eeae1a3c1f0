"""Words of questions that belong to no table: the English of counting, comparing, ordering and grouping."""

from __future__ import annotations

import re
from dataclasses import dataclass

from query_service.reasoning.joins import singular

NUMBERS = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100}

# "kind [payload]: phrases". The longest phrase wins. Words that change what a question means (after, same, only, each
# other …) are absent unless the planner acts on them: an unknown word makes it decline.
_VOCABULARY = """
count: how many, number of, total number of, count of, count, count the number of, what number of, total count of
count: how many times, amount of, how often, number, volume of
measure avg: average, mean, on average, avg, averaged
measure sum: total, sum, sum of, total amount of, how much, in total
measure median: median
extreme max: highest, largest, maximum, max, greatest, biggest, most expensive, costliest, longest
extreme min: lowest, smallest, minimum, min, least expensive, cheapest, shortest
most max: most, most common, commonest, most frequent, most frequently, most often, most commonly, most popular
most max: most number of, highest number of, largest number of, greatest number of, most used, most prescribed
most max: common, frequent, commonly, frequently
most min: fewest, least common, least frequent, least often, rarest, lowest number of, smallest number of, least
latest desc: latest, most recent, most recently, newest, last
latest asc: earliest, oldest, first
percent: percentage of, percent of, share of, proportion of, fraction of, percentage, proportion, what percent
percent: what percentage, what proportion, % of, what fraction
group: by, per, for each, for every, grouped by, group by, split by, stratified by, stratify by, broken down by
group: broken out by, break down by, breakdown by, in each, of each, each, every, according to, categorized by, by each
group: across, at each, distribution by, with a breakdown by
distribution: distribution of, breakdown of, distribution
grain year: each year, every year, year, yearly, annual, annually, calendar year, over time, over the years
grain year: year by year
grain month: each month, every month, month, monthly, calendar month, month by month
grain quarter: each quarter, every quarter, quarter, quarterly
grain day: each day, every day, day, daily, date
negation: without, no, not, never, excluding, except, except for, other than, lack, lacks, lacking, with no
less: after, net of, less, minus
negation: do not, did not, does not, have not, has not, had not, were not, was not, is not, are not
negation: that are not, who are not, don't, didn't, doesn't, haven't, hasn't, hadn't, weren't, wasn't, isn't, aren't
or: or
and: and, as well as, and also, both, along with, plus, also
distinct: distinct, different, unique, individual, separate, various
rows: list, show, show me, list all, which, what are, what were, who, who are, whose, display, give me a list of
rows: list of, names of, name of, give me, show all, what kinds of, what types of, what kind of, what type of
rows: what other, details of
what: tell me, let me know, do you know, what, what is, what was, whats, what's, how old is, how old was
when: when, when was, when were, when did, what date, on what date, on which date, what time, date of
born: born
died: died, die, deceased, dead, passed away, have died, has died
alive: alive, living, still alive
age: age, ages, aged, years old, year old, years of age, old
active: currently, active, ongoing, current, still active, currently active, unresolved, at present, now, right now
missing: missing, unknown, empty, null, unrecorded, blank
top: top
duration: length of stay, duration, how long, length, time spent
unit days: in days, days
unit hours: in hours, hours
unit minutes: in minutes, minutes
youngest: youngest
with: with, having, have, has, had, received, receiving, who have, who had, who has, that have, that had, which have
with: that has, have had, has had
is: is, are, was, were, be, been, being, who are, who were, that are, that were, which are, which were
is: that was, that is, who is, who was
stop: over all, across all, among all, overall, live in, lives in, living in, lived in, reside in, residing in
stop: located in, i need, we need
stop: at least once, at least one time, in the table, in this table, in the data, in the dataset, in the database
stop: in the file, in our data, on record, on file, in the records, in our records, in our database, in our system
stop: there are, are there, were there, across the whole history, in the whole history
"""
STOP = frozenset(
    """a an the of in on at for to from that do does did their our we us i me my you your its it there this these those
    all any as please can could tell would will like want find get return calculate compute determine provide see know
    let available exist exists existing shown recorded record data dataset database table file entry stored
    documented noted registered listed given receive get gets got getting during into up s i'd they them he she his her
    him occurred occur happened happen ever report reported identified identify whole entire system among information
    info started began begun""".split()
)


PRONOUNS = {"it", "them", "they"}
"""Words that stand for something said before; alone they ask about nothing."""


def _phrases() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in _VOCABULARY.strip().splitlines():
        key, _, phrases = line.partition(": ")
        kind, _, payload = key.partition(" ")
        found.update(dict.fromkeys(phrases.split(", "), (kind, payload)))
    return found


_PHRASES = _phrases()
MAX_PHRASE = max(len(p.split()) for p in _PHRASES)
ASKS = re.compile(r"(?:how|what|which|who|whose|when|where|list|show)\b", re.IGNORECASE)
FRESH = re.compile(
    r"\b(?:today|yesterday|right now|now|currently|current|at present|this (?:week|month)|just (?:uploaded|added))\b",
    re.IGNORECASE,
)


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


def is_plural(text: str) -> bool:
    """Whether the phrase ends in a regular plural: classes, not class."""
    return tokens(text)[-1].stem != tokens(text)[-1].text


def stems(text: str) -> tuple[str, ...]:
    return tuple(t.stem for t in tokens(text))


def phrase(words: tuple[str, ...]) -> tuple[str, str] | None:
    return _PHRASES.get(" ".join(words))

"""What a round uploads, updates and deletes. The bytes are made once a session, so that every round has the same."""

from __future__ import annotations

import io
import random
import zipfile
from dataclasses import dataclass
from pathlib import Path

import docx

SAMPLES = Path(__file__).parents[2] / "samples"
_DRUGS = ("Metformin", "Warfarin", "Lisinopril", "Oseltamivir", "Insulin", "Prednisone", "Atorvastatin")
_DISEASES = ("type 2 diabetes", "atrial fibrillation", "hypertension", "influenza", "asthma", "chronic kidney disease")
_PEOPLE = ("Ana Petrova", "John T. Doe", "Maria Lindqvist", "Samuel Okafor")


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a client: put these bytes under the name, or delete what is there (`data` None)."""

    name: str
    data: bytes | None


Lane = tuple[Step, ...]
"""Steps of one file, which follow each other."""


def make_lanes(rng: random.Random, *, marts: bool) -> list[Lane]:
    """Names are without the round's prefix. `marts`: with a table that dbt builds a mart from."""
    notice = (SAMPLES / "clinic_notice.txt").read_bytes()
    policy = (SAMPLES / "referral_policy.docx").read_bytes()
    ledger = _table(rng, 300)
    lanes: list[Lane] = [
        (Step("notice.txt", notice), Step("notice-copy.txt", notice)),
        (Step("policy.docx", policy),),
        (Step("prices.xlsx", (SAMPLES / "clinic_price_list.xlsx").read_bytes()),),
        (Step("rounds.docx", _word(rng)),),
        (Step("rules.md", _markdown(rng)),),
        (Step("bundle.zip", _archive(rng)),),
        (Step("cut.docx", policy[: len(policy) // 2]),),
        # updated, a text and a table
        (Step("journal.txt", _text(rng, 12)), Step("journal.txt", _text(rng, 14))),
        (Step("stock.csv", _table(rng, 200)), Step("stock.csv", _table(rng, 240))),
        # deleted at whatever stage it is in, and deleted and sent again
        (Step("gone.txt", _text(rng, 24)), Step("gone.txt", None)),
        (Step("gone.csv", _table(rng, 300)), Step("gone.csv", None)),
        (Step("ledger.csv", ledger), Step("ledger.csv", None), Step("ledger.csv", ledger)),
    ]
    if marts:
        lines = (SAMPLES / "encounters.csv").read_bytes().splitlines(keepends=True)
        lanes.append((Step("encounters.csv", b"".join(lines[:80])),))
    return lanes


def _sentence(rng: random.Random) -> str:
    drug, disease, person = rng.choice(_DRUGS), rng.choice(_DISEASES), rng.choice(_PEOPLE)
    return rng.choice(
        (
            f"{drug} is used to treat {disease} in the ward {rng.randrange(90)}.",
            f"{person} was seen for {disease} on day {rng.randrange(300)} of the year.",
            f"{person} takes {drug} since the visit number {rng.randrange(900)}.",
            f"Room {rng.randrange(500)} keeps the {drug} that {person} counted.",
        )
    )


def _text(rng: random.Random, paragraphs: int) -> bytes:
    return "\n\n".join(" ".join(_sentence(rng) for _ in range(6)) for _ in range(paragraphs)).encode()


def _markdown(rng: random.Random) -> bytes:
    return b"---\nlicence: CC BY 4.0\neffective_date: 2026-01-31\n---\n# Rules\n\n" + _text(rng, 6)


def _table(rng: random.Random, rows: int) -> bytes:
    lines = ["code,drug,counted_on,units,price"]
    lines += [
        f"{rng.randrange(100_000):06},{rng.choice(_DRUGS)},2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02},"
        f"{rng.randrange(1000)},{rng.randrange(100_000) / 100:.2f}"
        for _ in range(rows)
    ]
    return ("\n".join(lines) + "\n").encode()


def _word(rng: random.Random) -> bytes:
    document = docx.Document()
    for number in range(3):
        document.add_heading(f"Round {number}", 1)
        document.add_paragraph(_text(rng, 2).decode())
    table = document.add_table(rows=5, cols=2)
    for row in table.rows:
        row.cells[0].text, row.cells[1].text = rng.choice(_DRUGS), str(rng.randrange(100))
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _archive(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner/report.txt", _text(rng, 5))
        archive.writestr("inner/beds.csv", _table(rng, 50))
    return out.getvalue()

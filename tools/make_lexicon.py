"""Makes domains/healthcare/lexicon.tsv.gz out of the Disease Ontology's tables (CC0).

    python tools/make_lexicon.py ../shared/data/graph/disease_ontology domains/healthcare/lexicon.tsv.gz

Takes HumanDO.tsv (every id, name and parent), terms.jsonl.gz (synonyms with scope, for three in five of them) and
disease-symptom.tsv. Exact synonyms are kept, related ones only where they name no other term exactly, broad and narrow
ones not at all.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path

from foundation.lexicon import normalise


def rows(folder: Path) -> list[tuple[str, str, str, str, str]]:
    with gzip.open(folder / "terms.jsonl.gz", "rt", encoding="utf-8") as lines:
        terms = [json.loads(line) for line in lines]
    synonyms = {term["id"]: term["synonyms"] for term in terms}
    with (folder / "HumanDO.tsv").open(encoding="utf-8") as lines:
        diseases = {row["id"]: row for row in csv.DictReader(lines, delimiter="\t")}
    id_of = {row["label"]: row["id"] for row in diseases.values()}
    parents = {term["id"]: term["parents"] for term in terms}
    exact = {normalise(name) for name in id_of}
    exact |= {normalise(s["text"]) for listed in synonyms.values() for s in listed if s["scope"] == "EXACT"}
    made = []
    for identifier, row in sorted(diseases.items()):
        above = dict.fromkeys([*parents.get(identifier, []), *(id_of[p] for p in [row["subClassOf"]] if p in id_of)])
        aliases = [
            s["text"]
            for s in synonyms.get(identifier, [])
            if s["scope"] == "EXACT" or (s["scope"] == "RELATED" and normalise(s["text"]) not in exact)
        ]
        aliases = [a for a in dict.fromkeys(aliases) if normalise(a) != normalise(row["label"]) and "|" not in a]
        made.append((identifier, "disease", row["label"], "|".join(above), "|".join(aliases)))
    with (folder / "disease-symptom.tsv").open(encoding="utf-8") as lines:
        symptoms = {r["symptom_id"]: r["symptom_label"] for r in csv.DictReader(lines, delimiter="\t")}
    # A symptom that the ontology also lists as a disease (anemia, hepatitis) stays one thing: the disease.
    made += [(i, "symptom", name, "", "") for i, name in sorted(symptoms.items()) if i and normalise(name) not in exact]
    return made


def main(source: str, target: str) -> None:
    header = ("id", "type", "name", "parents", "aliases")
    text = "".join("\t".join(row) + "\n" for row in (header, *rows(Path(source))))
    # No time and no name in the gzip header: the same tables give the same bytes.
    Path(target).write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])

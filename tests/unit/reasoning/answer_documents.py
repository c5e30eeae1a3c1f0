"""Three documents whose every fact is known, for the questions of answer_questions.yaml: Word, PDF and text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import docx
from pdf_files import lines, write_pdf

Rows = Sequence[Sequence[str]]

VESSELS: Rows = [
    ("Vessel", "Crew", "Length (m)", "Built", "Home port"),
    ("Kittiwake", "14", "38.5", "2009", "Lindholm"),
    ("Gannet", "9", "27.2", "1998", "Sandvik"),
    ("Razorbill", "22", "61.0", "2016", "Lindholm"),
    ("Dunlin", "", "19.4", "2021", "Orrefors"),
]
FARES: Rows = [
    ("Ticket", "Adult fare", "Child fare", "Validity"),
    ("Single", "EUR 6.40", "EUR 3.20", "one crossing"),
    ("Day pass", "EUR 15.00", "EUR 7.50", "until midnight"),
    ("Season card", "EUR 290.00", "not sold", "12 months"),
]
DOSES: Rows = [
    ("Medicine", "Adult dose", "Maximum per day", "Route"),
    ("Paracetamol", "500 mg every 6 hours", "4 g", "oral"),
    ("Ondansetron", "4 mg every 8 hours", "16 mg", "intravenous"),
    ("Enoxaparin", "40 mg once daily", "40 mg", "subcutaneous"),
    ("Salbutamol", "2 puffs when needed", "8 puffs", "inhaled"),
]
STATIONS = """FIELD STATION RULES

Issued on 3 May 2024 by the Arden Survey. These rules replace the rules of 2019.

STATION 2: LOWER WEIR

1. Sign the log before you enter the hut.
2. Check the float gauge every 12 hours.
3. The pump runs for 45 minutes and then rests for 15 minutes.

STATION 4: NORTH RIDGE

1. At most 5 people may stay in the hut overnight.
2. Radio the base at 18:30 each evening.

Dogs are not allowed at any station. Open fires are forbidden from 1 June to 15 September. The key is kept by Hanna \
Berg, the warden of the ridge, who can be reached at 555-0187. Nobody may drink from the weir, because its water \
carries giardia.

STORES

| Item | Station 2 | Station 4 |
|---|---|---|
| Blankets | 6 | 11 |
| Water, litres | 80 | 45 |
| Gas bottles | 2 | 3 |

A spare radio was bought in 2022 for EUR 480. The solar panel of station 2 was replaced in March 2023.
"""


def write_documents(folder: Path) -> list[Path]:
    return [_fleet(folder / "fleet_handbook.docx"), _formulary(folder / "ward_formulary.pdf"), _stations(folder)]


def _fleet(path: Path) -> Path:
    document = docx.Document()
    document.add_heading("Fleet handbook of the Lindholm ferry line", 0)
    document.add_heading("Vessels", 1)
    document.add_paragraph("The line runs four vessels. All of them carry an automatic identification transponder.")
    _table(document, VESSELS)
    document.add_paragraph("The Dunlin is on loan to the pilot service and takes no passengers.")
    document.add_heading("Fares", 1)
    _table(document, FARES)
    document.add_paragraph("Bicycles travel free of charge. Dogs need a muzzle, but no ticket.")
    document.add_heading("Safety", 1)
    document.add_paragraph(
        "A lifeboat drill is held every 14 days. The drill is led by the first mate. Passengers must not enter the "
        "engine room. Life jackets for children are kept under the benches of the saloon."
    )
    document.add_paragraph(
        "The handbook was approved on 12 February 2023 by Ingrid Solberg, the harbour master. The Gannet was refitted "
        "in 2017 at a cost of EUR 1.3 million."
    )
    document.add_heading("Refunds", 1)
    document.add_paragraph(
        "A ticket is refunded in full when the crossing is cancelled. A request must be filed within 21 days. "
        "No refund is paid for delays under 60 minutes, because such delays are common in winter."
    )
    document.save(str(path))
    return path


def _table(document: docx.document.Document, rows: Rows) -> None:
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text


def _formulary(path: Path) -> Path:
    top, height, columns = 640, 20, (72, 180, 320, 430, 530)
    bottom = top - height * len(DOSES)
    drawn = ["1 w"]
    drawn += [f"72 {top - height * i} m 530 {top - height * i} l S" for i in range(len(DOSES) + 1)]
    drawn += [f"{x} {bottom} m {x} {top} l S" for x in columns]
    for i, row in enumerate(DOSES):
        drawn += [lines(text, x=x + 4, y=top - height * i - 14, size=9) for x, text in zip(columns, row, strict=False)]
    page = [
        lines("Formulary of ward 7", y=740, size=22),
        lines("Doses", y=700, size=15),
        lines("Valid from 1 September 2025. Doses are for adults with normal kidney function.", y=675, size=11),
        *drawn,
        lines("Notes", y=500, size=15),
        lines(
            "Metformin is stopped two days before a scan with contrast and restarted by the doctor.",
            "Do not give enoxaparin when the platelet count is below 50. Ondansetron can cause constipation.",
            "Salbutamol relieves wheezing. Insulin is stored at 2 to 8 degrees Celsius and used within 28 days.",
            "Paracetamol is not given to patients with acute liver failure. Allergies are written on the red card.",
            "The pharmacist visits ward 7 on Mondays and Thursdays at 10:30. Her name is Dr. Amara Okafor.",
            y=475,
        ),
    ]
    return write_pdf(path, ["\n".join(page)])


def _stations(folder: Path) -> Path:
    path = folder / "field_stations.md"
    path.write_text(STATIONS)
    return path

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foundation.sentences import split_sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith gave 5.5 mg/kg (e.g. Ibuprofen).", "It helped.", "See Fig. 3 and Table 2."],
        ["Take vitamin C.", "Foods rich in it help.", "Mary J. Smith said so.", "E. coli was found."],
        ["The U.S. Department agreed.", "It closes at 5 p.m.", "The nurse leaves."],
        [
            "Was it useful?",
            "Yes!",
            '"No." he said.',
            "Therapy failed.12",
            "The second arm (n = 17) did not.[3,4]",
            "So?",
        ],
        ["Nehmen Sie z.B. 400 mg ein.", "Dr. Müller, bzw. Frau Weber, hilft."],
    ],
)
def test_a_full_stop_that_an_abbreviation_owns_ends_nothing(sentences: list[str]) -> None:
    assert cut(" ".join(sentences)) == sentences


def test_blank_lines_list_items_and_table_rows_part_and_a_wrapped_line_does_not() -> None:
    assert cut("Dosage\n\nAdults take\none a day\n- with meals, etc.\n- before bed\n1. Wash. Dry.\n2. Rest") == [
        "Dosage", "Adults take\none a day", "- with meals, etc.", "- before bed", "1. Wash.", "Dry.", "2. Rest",
    ]  # fmt: skip
    assert cut("Drug | Dose\nA | 5 mg\nB | 6 mg") == ["Drug | Dose", "A | 5 mg", "B | 6 mg"]


def test_wide_full_stops_need_no_space() -> None:
    assert cut("线粒体很重要。它们产生能量！好的") == ["线粒体很重要。", "它们产生能量！", "好的"]


@given(st.text(alphabet=st.sampled_from("aA1.!?…\"')]( \n|-•。\u00a0é"), max_size=200))
def test_spans_are_trimmed_ordered_and_hold_all_but_white_space(text: str) -> None:
    spans = split_sentences(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)


@pytest.mark.parametrize("pattern", [".", ". ", "\n", ".\n ", '"', ".1,1", "\n| ", "[1,", " ", "a"])
def test_hostile_text_takes_linear_time(pattern: str) -> None:
    started = time.process_time()
    split_sentences(pattern * 100_000)
    assert time.process_time() - started < 5

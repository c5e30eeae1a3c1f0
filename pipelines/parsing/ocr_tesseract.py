"""Tesseract, as the program on PATH: its words with boxes and confidences."""

from __future__ import annotations

import csv
import io
import os
import resource
import shutil
import subprocess
from functools import cache
from itertools import groupby

from PIL import Image

from foundation.errors import ConfigurationError
from pipelines.parsing.ocr_types import PageUnreadable, Row, Spot

_WORD = "5"
"""Tesseract's level of a single word in its TSV."""
_MOST_LANGUAGES = 4
"""Each one more makes a page slower, and beyond a few also worse."""
_NOT_LANGUAGES = {"osd", "equ", "snum"}


def program() -> str | None:
    return shutil.which("tesseract")


@cache
def languages(wanted: str) -> str:
    """What goes behind -l: `wanted` (`eng+fra`), or what is installed, English first.

    ConfigurationError for a language that is not installed.
    """
    shown = subprocess.run(
        [program() or "tesseract", "--list-langs"], capture_output=True, text=True, timeout=30, check=False
    )
    installed = [name.strip() for name in shown.stdout.splitlines()[1:] if name.strip()]
    if missing := [name for name in wanted.split("+") if name and name not in installed]:
        raise ConfigurationError(
            f"Tesseract has no language {', '.join(missing)} (ASKLINE_OCR__LANGUAGES); it has {', '.join(installed)}.",
            fix="Install the language's data (Debian: tesseract-ocr-LANG), or leave the setting empty.",
        )
    found = [name for name in installed if name not in _NOT_LANGUAGES and "/" not in name]
    found.sort(key=lambda name: name != "eng")
    return wanted or "+".join(found[:_MOST_LANGUAGES]) or "eng"


def read(image: Image.Image, wanted: str, timeout_s: float) -> list[Row]:
    """Rows of words of a page, in the order in which tesseract reads them.

    PageUnreadable when it takes longer than `timeout_s`, or fails.
    """
    data = io.BytesIO()
    image.convert("L").save(data, "PPM")  # uncompressed: nothing is spent on packing
    command = [program() or "tesseract", "-", "-", "--psm", "1", "-l", languages(wanted), "tsv", "quiet"]
    # More threads than one make tesseract slower when several pages are read at once.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        _limit_cpu(process.pid, timeout_s)
        try:
            output, _ = process.communicate(data.getvalue(), timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise PageUnreadable(f"tesseract took longer than {timeout_s:g} s") from error
    if process.returncode != 0:
        raise PageUnreadable(f"tesseract ended with code {process.returncode}")
    return _rows(output.decode(errors="replace"))


def _limit_cpu(pid: int, seconds: float) -> None:
    """When our own process is killed, nobody waits for tesseract: it ends by itself."""
    try:
        resource.prlimit(pid, resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    except ProcessLookupError:
        return


def _rows(tsv: str) -> list[Row]:
    words = [
        entry
        for entry in csv.DictReader(io.StringIO(tsv), delimiter="\t", quoting=csv.QUOTE_NONE)
        if entry["level"] == _WORD and (entry["text"] or "").strip()
    ]
    lines = groupby(words, key=lambda w: (w["block_num"], w["par_num"], w["line_num"]))
    return [[_spot(word) for word in line] for _, line in lines]


def _spot(word: dict[str, str]) -> Spot:
    left, top, width, height = (float(word[name]) for name in ("left", "top", "width", "height"))
    return Spot(word["text"].strip(), (left, top, left + width, top + height), max(0.0, float(word["conf"])) / 100)

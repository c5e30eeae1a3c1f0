"""Temporary folders: gone at the end, and when their process was killed gone with the next one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from foundation.held_files import scratch_folder

HOLDER = """
import time
from foundation.held_files import scratch_folder
with scratch_folder() as folder:
    (folder / "out of a document").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_scratch_folder_is_gone_at_the_end_whatever_lies_in_it(tmp_path: Path) -> None:
    with scratch_folder() as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "file").touch()
        assert list(tmp_path.glob("*/sub/file"))
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        theirs = Path(holder.stdout.readline().strip())
        with scratch_folder():
            assert list(theirs.iterdir())
        holder.kill()
    with scratch_folder():
        assert not theirs.exists()
    assert not list(tmp_path.iterdir())

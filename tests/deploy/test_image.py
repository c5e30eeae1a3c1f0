"""What the image holds is enough for both programs: the Dockerfile's own commands, carried out in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.dockerfile import DOCKERFILE, Image, instructions

NO_NETWORK = {f"{scheme}_PROXY": "http://127.0.0.1:1" for scheme in ("HTTP", "HTTPS", "ALL")}
HADOLINT = Path(sys.executable).with_name("hadolint")
AWS = {
    "ASKLINE_PROFILE": "aws",
    "ASKLINE_AWS__REGION": "eu-central-1",
    "ASKLINE_S3__BUCKET": "b",
    "ASKLINE_DATABASE__URL": "postgresql://askline@127.0.0.1:1/askline",
    "AWS_ACCESS_KEY_ID": "k",
    "AWS_SECRET_ACCESS_KEY": "s",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    made = Image(tmp_path_factory.mktemp("image"))
    # Without bytecode, and files as links into uv's cache: seconds instead of minutes.
    made.build("build", UV_COMPILE_BYTECODE="0", UV_LINK_MODE="hardlink")
    yield made


@pytest.mark.slow
def test_the_image_has_both_programs_and_their_aws_adapters(image: Image, tmp_path: Path) -> None:
    check = (
        "from foundation.settings import get_settings; from query_service.app import create_app;"
        " from foundation import aws_stores; import foundation, pipelines.definitions, pipelines.transform.definitions;"
        " settings = get_settings(); create_app(settings); aws_stores.landing(settings);"
        " aws_stores.embedder(settings, settings.embedding_model); print(foundation.__file__)"
    )
    out = image.run(f'/opt/venv/bin/python -c "{check}"', ASKLINE_DATA_DIR=str(tmp_path), **AWS)
    assert out.strip().splitlines()[-1] == str(image.folder / "app" / "foundation" / "__init__.py")


@pytest.mark.slow
def test_nothing_is_fetched_or_parsed_at_the_start_of_a_container(image: Image, tmp_path: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in (image.folder / "app" / "dbt_project" / "target").iterdir()}
    assert any(path.name == "manifest.json" for path in before)
    ask = "from foundation.adapters.embedded.model_files import ensure_model as e; print(e('bge-small-en-v1.5').onnx)"
    found = image.run(f'/opt/venv/bin/python -c "{ask}"', **NO_NETWORK)
    assert Path(found.strip()).is_relative_to(image.folder / "opt" / "cache")
    image.run("/opt/venv/bin/python -c 'import pipelines.transform.definitions'", ASKLINE_DATA_DIR=str(tmp_path))
    assert {p: p.stat().st_mtime_ns for p in before} == before


@pytest.mark.slow
def test_every_command_that_a_container_is_given_is_there(image: Image) -> None:
    for command in (
        "python -m dagster api grpc --help",
        "python -m dagster._daemon --help",
        "python -m dagster_webserver --help",
        "celery --version",
        "askline --help",
    ):
        image.run(f"/opt/venv/bin/{command}")


def test_the_stage_that_runs_is_not_root_and_takes_only_what_was_built() -> None:
    run = list(instructions("run"))
    assert [rest for word, rest in run if word == "USER"] == ["10001:10001"]
    assert all(rest.startswith("--from=build") for word, rest in run if word == "COPY")


def test_base_images_are_pinned_to_one_version() -> None:
    found = re.findall(r"^FROM (\S+)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(set(found)) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", found[0])


@pytest.mark.skipif(not HADOLINT.is_file(), reason="make deploy-check installs it")
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([str(HADOLINT), str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")

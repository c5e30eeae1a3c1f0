"""`askline doctor`: what is installed, what runs, what is missing, and what to do."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx

from cli.doctor_aws import examine_aws
from cli.finding import Finding
from cli.stack import running
from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.model_files import installed_model
from foundation.domain import load_domain
from foundation.errors import AsklineError
from foundation.registry.address import postgres_folder
from foundation.registry.rights import missing_rights
from foundation.settings import Settings

_PACKAGES = ("dagster", "dbt-core", "dbt-duckdb", "fastapi", "langgraph", "duckdb", "tantivy", "onnxruntime", "spacy")


def examine(settings: Settings) -> list[dict[str, Any]]:
    found = [_python(), *_packages(), *_model(settings), _domain(settings), _disk(settings), _postgres(settings)]
    found += [*examine_aws(settings), *_stack(settings)]
    return [asdict(finding) for finding in found]


def _python() -> Finding:
    ok = (3, 11) <= sys.version_info[:2] < (3, 13)
    return Finding("python", "ok" if ok else "warning", sys.version.split()[0], None if ok else "Use Python 3.11.")


def _packages() -> list[Finding]:
    found = []
    for name in _PACKAGES:
        try:
            found.append(Finding(name, "ok", version(name)))
        except PackageNotFoundError:
            found.append(Finding(name, "missing", "not installed", "Run `make install`."))
    return found


def _model(settings: Settings) -> list[Finding]:
    """Of the embedded adapter; Bedrock's is tried with the permissions."""
    if settings.adapter("embeddings") == "aws":
        return []
    chosen = settings.embeddings
    try:
        files = installed_model(chosen.model, chosen.model_dir)
    except AsklineError as error:
        return [Finding("embedding model", "missing", error.message, error.fix)]
    return [Finding("embedding model", "ok", f"{chosen.model} in {files.onnx.parent}")]


def _domain(settings: Settings) -> Finding:
    try:
        domain = load_domain(settings.domain)
    except AsklineError as error:
        return Finding("domain", "missing", error.message, error.fix)
    return Finding("domain", "ok", f"{domain.name} in {domain.folder}")


def _disk(settings: Settings) -> Finding:
    folder = next(path for path in (settings.folder, *settings.folder.parents) if path.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        reason = f"{settings.folder}: {folder} " + ("cannot be written" if folder.is_dir() else "is no folder")
        return Finding("data folder", "missing", reason, "Name another by ASKLINE_DATA_DIR, or correct permissions.")
    free = shutil.disk_usage(folder).free / 1e9
    detail = f"{settings.folder}: {free:.0f} GB free"
    return Finding("data folder", "ok" if free > 2 else "warning", detail, None if free > 2 else "Free some space.")


def _postgres(settings: Settings) -> Finding:
    if settings.database.url is not None:
        return _own_postgres(settings)
    try:
        postgres.wheel()
    except AsklineError as error:
        return Finding("postgres", "missing", error.message, error.fix)
    pid = postgres.running_pid(postgres_folder(settings))
    if pid is None:
        return Finding("postgres", "stopped", "the embedded server does not run", "Start it with `askline up`.")
    return Finding("postgres", "ok", f"embedded, process {pid}")


def _own_postgres(settings: Settings) -> Finding:
    try:
        lacks = missing_rights(settings)
    except AsklineError as error:
        return Finding("postgres", "stopped" if error.transient else "missing", error.message, error.fix)
    if lacks:
        return Finding("postgres", "missing", f"the user lacks {', '.join(lacks)}", "Grant it; docs/aws.md.")
    return Finding("postgres", "ok", "of ASKLINE_DATABASE__URL: it lets us in, and may make schemas and roles")


def _stack(settings: Settings) -> list[Finding]:
    found = running(settings)
    if found is None:
        ports = ", ".join(
            f"{port} {'free' if _free(port) else 'taken, the next free one will be used'}"
            for port in (settings.service.port, settings.dagster.port)
        )
        return [Finding("stack", "stopped", f"nothing runs over this data folder; ports: {ports}", "Run `askline up`.")]
    findings = [Finding("stack", "ok", f"process {found.pid}: {found.service_url}, {found.dagster_url}")]
    try:
        health = httpx.get(f"{found.service_url}/health", timeout=5).json()
        parts = health["dependencies"].items()
    except (httpx.HTTPError, ValueError, KeyError) as error:
        reason = f"{found.service_url} does not answer ({type(error).__name__})"
        return [*findings, Finding("query service", "stopped", reason, f"Read {settings.folder}/logs.")]
    for name, part in parts:
        detail = ", ".join(f"{key} {value}" for key, value in part.items() if key not in ("status", "fix"))
        findings.append(Finding(name, "ok" if part["status"] == "ok" else "stopped", detail, part.get("fix")))
    return findings


def _free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0

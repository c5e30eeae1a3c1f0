"""What tests of the whole service share: files to upload, what the API answers, what the registry has of a document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from foundation.access import local_principal
from foundation.registry.database import transaction
from foundation.registry.documents import get_document
from foundation.stores import Stores

SAMPLES = Path(__file__).parents[2] / "samples"
FERRY = b"The ferry to Skarholm leaves at 06:40 from the north pier."
FERRY_LATER = b"The ferry to Skarholm leaves at 07:15 from the south pier."
WHEN = "When does the ferry to Skarholm leave?"


def send(client: TestClient, *files: tuple[str, bytes], headers: Mapping[str, str] | None = None, **form: Any) -> Any:
    """The answer to an upload of these files, (name, content)."""
    return client.post("/upload", files=[("files", file) for file in files], data=form, headers=headers)


def put_all(
    client: TestClient, *files: tuple[str, bytes], headers: Mapping[str, str] | None = None, **form: Any
) -> list[dict[str, Any]]:
    """Upload these files; what is said of each."""
    response = send(client, *files, headers=headers, **form)
    assert response.status_code == 202, response.text
    items: list[dict[str, Any]] = response.json()["items"]
    return items


def put(
    client: TestClient, name: str, data: bytes, headers: Mapping[str, str] | None = None, **form: Any
) -> dict[str, Any]:
    (item,) = put_all(client, (name, data), headers=headers, **form)
    return item


def shown(client: TestClient, document_id: str) -> dict[str, Any]:
    """A document's record, as the API has it."""
    found: dict[str, Any] = client.get(f"/documents/{document_id}").json()
    return found


def record(stores: Stores, document_id: str) -> dict[str, Any]:
    """A document's record, as the registry has it, for the local principal."""
    with transaction(stores.engine) as connection:
        return dict(get_document(connection, local_principal("local"), document_id))


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The response is this problem, in full."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["code"] == code
    assert body["detail"]
    assert body["fix"]
    return body

"""The app object, built without its lifespan: nothing is started."""

from __future__ import annotations

from typing import Any

import pytest

from foundation.settings import Settings


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from query_service.app import create_app

    return create_app(Settings(data_dir=tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="session")
def openapi(app: Any) -> dict[str, Any]:
    document: dict[str, Any] = app.openapi()
    return document

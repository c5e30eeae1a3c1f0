import pytest
from sqlalchemy import Engine

from foundation.adapters.embedded.catalog import RegistryCatalog
from foundation.contracts.catalog import CatalogContract


class TestRegistryCatalog(CatalogContract):
    @pytest.fixture
    def catalog(self, registry_engine: Engine) -> RegistryCatalog:
        return RegistryCatalog(registry_engine)

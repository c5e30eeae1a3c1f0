import pytest
from doubles.scripted_model import ScriptedModel, throttled

from foundation.contracts.language_model import LanguageModelContract


class TestScriptedModel(LanguageModelContract):
    @pytest.fixture
    def model(self) -> ScriptedModel:
        return ScriptedModel(lambda messages, schema: {"route": "rag"} if schema else "Hello.")

    @pytest.fixture
    def throttled_model(self) -> ScriptedModel:
        return ScriptedModel(throttled)

"""What every adapter of the language_model port must do. Inherit `LanguageModelContract` and give the fixtures."""

from __future__ import annotations

import asyncio
import json

import pytest

from foundation.errors import Unavailable
from foundation.ports.language_model import LanguageModel
from foundation.types import Message

SCHEMA = {"type": "object", "properties": {"route": {"type": "string"}}, "required": ["route"]}


class LanguageModelContract:
    @pytest.fixture
    def model(self) -> LanguageModel:
        """A model that answers anything, and with {"route": …} where a schema asks for it."""
        raise NotImplementedError("give a model")

    @pytest.fixture
    def throttled_model(self) -> LanguageModel:
        """A model whose provider answers 429."""
        raise NotImplementedError("give a model that is throttled")

    def test_a_completion_names_its_model_and_counts_its_tokens(self, model: LanguageModel) -> None:
        done = asyncio.run(model.complete([Message("system", "Be short."), Message("user", "Hello?")]))
        assert done.text
        assert done.model == model.model
        assert done.input_tokens > 0
        assert done.output_tokens > 0
        assert 0 <= done.cached_tokens <= done.input_tokens

    def test_with_a_schema_the_text_is_one_json_value_of_it(self, model: LanguageModel) -> None:
        done = asyncio.run(model.complete([Message("user", "Which route?")], schema=SCHEMA))
        assert isinstance(json.loads(done.text)["route"], str)

    def test_throttling_is_transient(self, throttled_model: LanguageModel) -> None:
        with pytest.raises(Unavailable) as raised:
            asyncio.run(throttled_model.complete([Message("user", "Hello?")]))
        assert raised.value.transient

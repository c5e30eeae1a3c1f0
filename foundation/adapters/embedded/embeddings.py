"""Embeddings by an int8 ONNX model on the CPU: no torch, no hub, no key."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from foundation.adapters.embedded.model_files import DEFAULT_MODEL, ModelFiles, ensure_model
from foundation.adapters.embedded.turns import Turns
from foundation.freed_memory import give_back
from foundation.types import Vector

_A_TURN = 256
"""Texts, some three seconds of two cores: so long another process waits."""
_FEW = 8
"""So few are done at once, whoever has the turn: a small file need not wait for a large one."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How a model wants to be used, from its model card."""

    max_tokens: int
    pooling: Literal["cls", "mean"]
    query_instruction: str = ""


_FORMS = {
    "bge-small-en-v1.5": _Form(512, "cls", "Represent this sentence for searching relevant passages: "),
    "all-MiniLM-L6-v2": _Form(256, "mean"),
}


class OnnxEmbedder:
    """See foundation.ports.embeddings.Embedder. Thread-safe; the weights load at the first embedding.

    Each text goes through the model alone, on one thread, `threads` texts at a time. The weights are quantized
    dynamically: activations are scaled by the range of the whole batch, so in a batch a vector would depend on its
    neighbours (cosine down to .991 against itself alone, measured). Alone it is the same bits every time, there is no
    padding, and it is faster than batches: bench/embedding.py.
    """

    dimension = 384

    def __init__(
        self, model: str = DEFAULT_MODEL, folder: Path | None = None, threads: int = 2, turns: Path | None = None
    ) -> None:
        """ConfigurationError, Unavailable as ensure_model. `folder` holds the model's files; None fetches them.

        turns: a folder in which the processes of this machine agree who embeds many texts; None waits for nobody.
        """
        self._files: ModelFiles = ensure_model(model, folder)
        self._form = _FORMS[model]
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="embed")
        self._turns = None if turns is None else Turns(turns, "embedding", threads)
        self._loaded: Any = None
        self.model = model
        self.revision = self._files.revision
        self.max_tokens = self._form.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        longest_first = sorted(range(len(encoded)), key=lambda i: -len(encoded[i]))
        vectors = np.empty((len(encoded), self.dimension), np.float32)
        turns = self._turns if len(encoded) > _FEW else None
        size = len(encoded) if turns is None else _A_TURN
        for place in range(0, len(encoded), size):
            some = longest_first[place : place + size]
            with nullcontext() if turns is None else turns.turn():
                vectors[some] = list(self._pool.map(self._embed, (encoded[i] for i in some)))
        return vectors

    def embed_query(self, text: str) -> Vector:
        return self._embed(self._tokenizer.encode(self._form.query_instruction + text).ids)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._files.tokenizer))
        # The file's own limits are those of its makers' examples; offsets must cover the whole text.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _embed(self, ids: list[int]) -> Vector:
        if len(ids) > self.max_tokens:
            ids = [*ids[: self.max_tokens - 1], ids[-1]]  # keep the closing [SEP]
        tokens = np.array([ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        session, options = self._session()
        hidden = session.run(None, inputs, options)[0][0]
        pooled = hidden[0] if self._form.pooling == "cls" else hidden.mean(axis=0)
        vector: Vector = (pooled / np.linalg.norm(pooled)).astype(np.float32, copy=False)
        return vector

    def _session(self) -> Any:
        """(session, options of a run)."""
        with self._lock:
            if self._loaded is None:
                import onnxruntime

                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = options.inter_op_num_threads = 1
                session = onnxruntime.InferenceSession(
                    str(self._files.onnx), options, providers=["CPUExecutionProvider"]
                )
                run = onnxruntime.RunOptions()
                # What the longest text needs, 45 MB a thread, would stay for good; taking it anew costs 3 % at most.
                run.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
                self._loaded = session, run
                give_back()  # the file's bytes, which the session has copied
            return self._loaded

"""What every adapter of the objects port must do. Inherit `ObjectsContract` and give the `store` fixture."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from foundation.errors import InvalidInput, NotFound
from foundation.ports.objects import ObjectStore


class ObjectsContract:
    @pytest.fixture
    def store(self) -> ObjectStore:
        raise NotImplementedError("give a versioned store")

    def test_bytes_come_back_as_they_were_put(self, store: ObjectStore) -> None:
        data = bytes(range(256)) * 5000
        version = store.put("uploads/a/ä b+c.bin", io.BytesIO(data))
        assert version.sha256 == hashlib.sha256(data).hexdigest()
        assert version.size == len(data)
        assert store.read("uploads/a/ä b+c.bin") == data
        with store.local_path("uploads/a/ä b+c.bin", version.version_id) as path:
            assert path.read_bytes() == data

    def test_an_earlier_version_stays_readable(self, store: ObjectStore) -> None:
        first = store.put("k", b"one")
        second = store.put("k", b"two")
        assert first.version_id != second.version_id
        assert store.read("k", first.version_id) == b"one"
        assert store.read("k") == b"two"
        assert [v.version_id for v in store.versions("k")] == [first.version_id, second.version_id]

    def test_the_same_bytes_again_are_the_same_version(self, store: ObjectStore) -> None:
        assert store.put("k", b"one") == store.put("k", b"one")

    def test_what_is_not_there_is_not_found(self, store: ObjectStore) -> None:
        with pytest.raises(NotFound):
            store.read("nothing")
        store.put("k", b"one")
        with pytest.raises(NotFound):
            store.read("k", "obj_unknown")

    def test_a_key_cannot_leave_the_bucket(self, store: ObjectStore) -> None:
        for key in ("../x", "a/../../x", "/etc/passwd", "", "a//b", "a\0b"):
            with pytest.raises(InvalidInput):
                store.put(key, b"x")

    def test_current_lists_each_key_once(self, store: ObjectStore) -> None:
        store.put("a/1", b"one")
        latest = store.put("a/1", b"two")
        store.put("b/1", b"three")
        assert {v.key for v in store.current()} == {"a/1", "b/1"}
        assert list(store.current("a/")) == [latest]
        assert list(store.listing("a/")) == [("a/1", latest.version_id)]

    def test_purge_removes_every_version(self, store: ObjectStore) -> None:
        store.put("k", b"one")
        store.put("k", b"two")
        assert store.purge("k") == 2
        assert store.purge("k") == 0
        assert not store.exists("k")
        assert store.versions("k") == []
        assert list(store.current()) == []

    def test_a_put_that_breaks_off_leaves_nothing(self, store: ObjectStore) -> None:
        class Broken(io.RawIOBase):
            def read(self, size: int = -1) -> bytes:
                raise OSError("gone")

        with pytest.raises(OSError, match="gone"):
            store.put("k", Broken())  # type: ignore[arg-type]
        assert not store.exists("k")
        assert store.versions("k") == []

    def test_concurrent_puts_leave_one_whole_object(self, store: ObjectStore) -> None:
        contents = [bytes([n]) * 100_000 for n in range(8)]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(10):  # a reader among the writers sees whole versions only
                list(pool.map(lambda data: (store.put("k", data), store.versions("k"), store.head("k")), contents))
        assert store.read("k") in contents

    def test_puts_and_purges_beside_each_other_lose_no_write(self, store: ObjectStore) -> None:
        def write(n: int) -> None:
            store.put(f"folder/{n}", b"kept")
            store.put(f"folder/gone-{n}", b"gone")
            store.purge(f"folder/gone-{n}")
            assert store.read(f"folder/{n}") == b"kept"
            store.purge(f"folder/{n}")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(64)))
        assert list(store.current("folder/")) == []

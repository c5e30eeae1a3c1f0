import os
import time
from pathlib import Path

import pytest

from foundation.adapters.embedded.objects import LocalObjects
from foundation.contracts.objects import ObjectsContract
from foundation.held_files import held_file


class TestLocalObjects(ObjectsContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LocalObjects:
        return LocalObjects(tmp_path / "landing", versioned=True)

    def test_a_copied_file_is_found_once_it_has_settled(self, store: LocalObjects) -> None:
        path = store.root / "sub" / "report.txt"
        path.parent.mkdir()
        path.write_text("hello")
        assert list(store.current()) == []  # perhaps it is still being written
        time.sleep(1.1)
        (found,) = store.current()
        assert found.key == "sub/report.txt"
        assert store.read(found.key, found.version_id) == b"hello"
        assert list(store.current()) == [found]

    def test_an_edit_in_place_is_a_new_version_and_leaves_the_old(self, store: LocalObjects) -> None:
        first = store.put("k", b"one")
        with (store.root / "k").open("ab") as file:
            file.write(b" more")
        time.sleep(1.1)
        (second,) = store.current()
        assert store.read("k", second.version_id) == b"one more"
        assert store.read("k", first.version_id) == b"one"

    def test_links_are_not_followed(self, store: LocalObjects) -> None:
        (store.root / "link").symlink_to("/etc/hostname")
        time.sleep(1.1)
        assert list(store.current()) == []

    def test_what_a_killed_writer_left_goes_with_the_next_write(self, store: LocalObjects) -> None:
        kept = store.put("k", b"one")
        half = store.root / ".incoming" / "new_half"
        half.write_bytes(b"its note was not written any more")
        unnoted = store.root / ".versions" / "a" / "obj_half"
        unnoted.parent.mkdir()
        os.link(half, unnoted)
        with held_file(store.root / ".incoming") as (_, in_work):
            store.put("other", b"two")
            assert in_work.exists()
        assert not half.exists() and not unnoted.exists()
        assert store.read("k", kept.version_id) == b"one"

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from parsing_checks import assert_exact

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile, NoContent, ResourceLimit
from foundation.types import ParsedDocument
from pipelines.parsing import archive
from pipelines.parsing.members import UnpackLimits


def parse(tmp_path: Path, data: bytes, limits: UnpackLimits | None = None) -> ParsedDocument:
    path = tmp_path / "a.bin"
    path.write_bytes(data)
    document = archive.parse(path, path.name, tmp_path / "out", limits or UnpackLimits())
    assert_exact(document)
    return document


def zipped(build: Callable[[zipfile.ZipFile], object], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as target:
        build(target)
    return buffer.getvalue()


def tarred(*entries: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as target:
        for entry in entries:
            target.addfile(entry, io.BytesIO(b"x" * entry.size))
    return buffer.getvalue()


def tar_entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    entry.size = 5 if kind == tarfile.REGTYPE else 0
    return entry


def test_members_are_written_under_numbers_and_listed(tmp_path: Path) -> None:
    def build(target: zipfile.ZipFile) -> None:
        target.writestr("notes/ferry.txt", "The ferry")
        target.writestr("notes/", "")
        target.writestr("__MACOSX/notes/._ferry.txt", "x")
        target.writestr(".DS_Store", "x")

    document = parse(tmp_path, zipped(build))
    assert document.text == "An archive of 1 file.\n\nnotes/ferry.txt (9 bytes)"
    (member,) = document.members
    assert (member.path, member.file_name, member.size) == ("notes/ferry.txt", "ferry.txt", 9)
    assert Path(member.content).read_bytes() == b"The ferry"
    assert document.warnings == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_tar_and_a_compressed_file(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert [m.path for m in parse(tmp_path, pack(tarred(tar_entry("a/b.txt")))).members] == ["a/b.txt"]
    (member,) = parse(tmp_path, pack(b"just words")).members
    assert (member.file_name, Path(member.content).read_bytes()) == ("", b"just words")


def test_names_that_lead_outside_links_and_devices_are_left_out_and_told(tmp_path: Path) -> None:
    def build(target: zipfile.ZipFile) -> None:
        for name in ("../../evil.txt", "/etc/evil.txt", "..\\evil.txt", "C:\\evil.txt", "good.txt", "nul\0.txt"):
            target.writestr(zipfile.ZipInfo("x") if "\0" in name else name, "x")
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(link, "/etc/passwd")

    document = parse(tmp_path, zipped(build).replace(b"good.txt", b"good.txt"))
    assert {m.path for m in document.members} == {"good.txt", "x"}
    assert {w.code for w in document.warnings} == {"member_not_read"}
    assert len(document.warnings) == 5
    document = parse(
        tmp_path,
        tarred(
            tar_entry("good.txt"),
            tar_entry("../evil.txt"),
            tar_entry("link", tarfile.SYMTYPE, "/etc/passwd"),
            tar_entry("hard", tarfile.LNKTYPE, "good.txt"),
            tar_entry("pipe", tarfile.FIFOTYPE),
            tar_entry("disk", tarfile.BLKTYPE),
        ),
    )
    assert [m.path for m in document.members] == ["good.txt"]
    assert len(document.warnings) == 5
    assert not list(tmp_path.parent.glob("evil*"))


def test_two_members_of_one_name_are_two_files(tmp_path: Path) -> None:
    document = parse(tmp_path, tarred(tar_entry("a.txt"), tar_entry("a.txt"), tar_entry("a.txt")))
    assert [m.path for m in document.members] == ["a.txt", "a (2).txt", "a (3).txt"]


def test_a_name_in_an_old_code_page_is_read(tmp_path: Path) -> None:
    data = zipped(lambda target: target.writestr("xxxxxxxxxxxx.txt", "x"))
    name = "患者の薬一覧".encode("cp932")
    assert [m.path for m in parse(tmp_path, data.replace(b"xxxxxxxxxxxx", name)).members] == ["患者の薬一覧.txt"]


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (UnpackLimits(members=3, ratio=9999), "more than 3 files"),
        (UnpackLimits(megabytes=1), "more than 1 MB"),
        (UnpackLimits(ratio=50), "50 times its size"),
    ],
)
def test_a_bomb_is_stopped_by_each_limit_while_it_unpacks(tmp_path: Path, limits: UnpackLimits, says: str) -> None:
    def build(target: zipfile.ZipFile) -> None:
        for i in range(4):
            target.writestr(f"{i}.txt", bytes(5_000_000))

    with pytest.raises(ResourceLimit, match=says):
        parse(tmp_path, zipped(build), limits)
    written = sum(p.stat().st_size for p in (tmp_path / "out").iterdir())
    assert written <= 25_000_000


def test_a_directory_that_lies_about_sizes_is_no_way_around(tmp_path: Path) -> None:
    data = zipped(lambda target: target.writestr("a.txt", bytes(30_000_000)))
    lying = data.replace((30_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises((DamagedFile, ResourceLimit, NoContent)):
        parse(tmp_path, lying, UnpackLimits(megabytes=20))


def test_damage_passwords_and_emptiness_have_their_own_words(tmp_path: Path) -> None:
    with pytest.raises(EmptyFile):
        parse(tmp_path, b"")
    with pytest.raises(NoContent, match="no file that could be taken"):
        parse(tmp_path, zipped(lambda target: target.writestr("folder/", "")))
    data = zipped(lambda target: target.writestr("a.txt", os.urandom(5000)))
    for broken in (data[:2000], gzip.compress(tarred(tar_entry("a")))[:-20], b"\x1f\x8b" + os.urandom(300)):
        with pytest.raises(DamagedFile):
            parse(tmp_path, broken)
    # Bit 0 of the flags, in the local header and in the directory.
    local, central = data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8
    locked = bytearray(data)
    locked[local] |= 1
    locked[central] |= 1
    with pytest.raises(EncryptedFile):
        parse(tmp_path, bytes(locked))

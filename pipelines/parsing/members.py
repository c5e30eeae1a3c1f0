"""Writes the files inside a file to a folder, within limits. Each becomes a document of its own later."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from foundation.errors import NameRefused, ResourceLimit
from foundation.names import safe_name
from foundation.types import ParsedMember
from pipelines.parsing.assembly import clean
from pipelines.parsing.warning_list import WarningList

_MB = 1_000_000
_LONGEST_PATH = 1000
_BLOCK = 1 << 20
# What file managers leave behind; nobody put it there.
_LITTER = re.compile(r"(^|/)(__MACOSX/.*|\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """members: files in one file; megabytes: of all of them together; ratio: unpacked size over packed size."""

    members: int = 2000
    megabytes: int = 1000
    ratio: int = 200


class MemberWriter:
    """Takes the members one by one, into `folder` if there is one; ResourceLimit says which limit is passed."""

    def __init__(self, file_name: str, packed: int, folder: Path | None, limits: UnpackLimits) -> None:
        self._file_name = file_name
        self._packed = packed
        self._folder = folder
        self._limits = limits
        self._bytes = 0
        self._paths: set[str] = set()
        self.members: list[ParsedMember] = []
        self.warnings = WarningList()

    def refuse(self, path: str, why: str) -> None:
        """A member that is not taken, with the reason."""
        warnings = self.warnings
        warnings.add("member_not_read", f"{self._file_name}: {clean(path)[:200]!r} {why}; it was not read.")

    def add(self, path: str, blocks: Iterable[bytes]) -> ParsedMember | None:
        """Write a member; None for what is not taken: names that lead outside, and the litter of file managers."""
        if _LITTER.search(path):
            return None
        if problem := _problem(path):
            self.refuse(path, problem)
            return None
        try:
            name = safe_name(path)
        except NameRefused:
            self.refuse(path, "has no name that can be used")
            return None
        return self._write(self._unique(unicodedata.normalize("NFC", clean(path))[-_LONGEST_PATH:]), name, blocks)

    def add_only(self, blocks: Iterable[bytes]) -> ParsedMember:
        """The one file inside a compressed file: without a name, since it is called after its holder."""
        return self._write("content", "", blocks)

    def _write(self, path: str, name: str, blocks: Iterable[bytes]) -> ParsedMember:
        if len(self.members) >= self._limits.members:
            raise ResourceLimit(
                f"{self._file_name} holds more than {self._limits.members:,} files.",
                fix=_fix("ASKLINE_PARSING__UNPACK_MEMBERS"),
            )
        size = 0
        with self._open() as file:
            for block in blocks:
                size += len(block)
                self.count(len(block))
                file.write(block)
        member = ParsedMember(path, name, size, file.name)
        self.members.append(member)
        return member

    def _open(self) -> BinaryIO:
        if self._folder is None:  # nobody wants the bytes
            return Path(os.devnull).open("wb")
        self._folder.mkdir(parents=True, exist_ok=True)
        return (self._folder / str(len(self.members))).open("wb")

    def count(self, size: int) -> None:
        """So many bytes more have been unpacked."""
        self._bytes += size
        if self._bytes > self._limits.megabytes * _MB:
            raise ResourceLimit(
                f"{self._file_name} unpacks to more than {self._limits.megabytes:,} MB.",
                fix=_fix("ASKLINE_PARSING__UNPACK_MB"),
            )
        # Small files pack very well and harm nobody.
        if self._bytes > 10 * _MB and self._bytes > self._limits.ratio * self._packed:
            raise ResourceLimit(
                f"{self._file_name} unpacks to more than {self._limits.ratio} times its size.",
                fix=_fix("ASKLINE_PARSING__UNPACK_RATIO"),
            )

    def _unique(self, path: str) -> str:
        """Two members of one name are two files, both kept."""
        stem, dot, suffix = path.rpartition(".")
        number, unique = 1, path
        while unique in self._paths:
            number += 1
            unique = f"{stem} ({number}){dot}{suffix}" if stem and "/" not in suffix else f"{path} ({number})"
        self._paths.add(unique)
        return unique


def _fix(setting: str) -> str:
    return f"Unpack it and upload the files inside, or raise {setting}, and upload it again."


def read_blocks(file: object) -> Iterable[bytes]:
    """The content of a binary file, in blocks."""
    return iter(lambda: file.read(_BLOCK), b"")  # type: ignore[attr-defined]  # any file-like object


def _problem(path: str) -> str | None:
    if "\0" in path:
        return "has a name with a NUL character"
    parts = re.split(r"[/\\]", path)
    if ".." in parts:
        return "has a name that leads outside of the archive"
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[/\\]", path):
        return "has an absolute name"
    return None

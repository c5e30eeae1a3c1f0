"""Outlook mails made by hand: an OLE container with the property streams of [MS-OXMSG]."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SECTOR = 512
_CUTOFF = 4096
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
Tree = dict[str, "bytes | Tree"]


def container(tree: Tree) -> bytes:
    """A compound file (version 3); streams under 4096 bytes lie in the mini stream, as they must."""
    entries: list[_Entry] = []
    _collect("Root Entry", tree, entries)
    small = _Sectors(64)
    for entry in entries[1:]:
        if entry.content and len(entry.content) < _CUTOFF:
            entry.start = small.store(entry.content)
    entries[0].content = b"".join(small.sectors)
    big = _Sectors(_SECTOR)
    for entry in entries:
        if entry.content and (entry is entries[0] or len(entry.content) >= _CUTOFF):
            entry.start = big.store(entry.content)
    directory_start = big.store(b"".join(entry.packed() for entry in entries))
    mini_fat = struct.pack(f"<{len(small.next)}I", *small.next) if small.next else b""
    mini_start = big.store(mini_fat, b"\xff") if mini_fat else _END
    fat_sectors = 1
    while len(big.sectors) + fat_sectors > fat_sectors * _SECTOR // 4:
        fat_sectors += 1
    fat = [*big.next, *[_FAT] * fat_sectors]
    fat += [_FREE] * (fat_sectors * _SECTOR // 4 - len(fat))
    difat = [len(big.sectors) + i for i in range(fat_sectors)] + [_FREE] * (109 - fat_sectors)
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    mini_sectors = -(-len(mini_fat) // _SECTOR)
    header += struct.pack("<IIIIIIIII", 0, fat_sectors, directory_start, 0, _CUTOFF, mini_start, mini_sectors, _END, 0)
    header += struct.pack("<109I", *difat)
    return header + b"".join(big.sectors) + struct.pack(f"<{len(fat)}I", *fat)


class _Sectors:
    def __init__(self, size: int) -> None:
        self.size = size
        self.sectors: list[bytes] = []
        self.next: list[int] = []

    def store(self, data: bytes, fill: bytes = b"\0") -> int:
        first = len(self.sectors)
        for offset in range(0, len(data), self.size):
            self.sectors.append(data[offset : offset + self.size].ljust(self.size, fill))
            self.next.append(len(self.sectors))
        self.next[-1] = _END
        return first


def mail(
    texts: dict[int, str], binaries: dict[int, bytes] | None = None, *, header: int = 32, **storages: Tree
) -> Tree:
    """A message or, with another header size, what is inside one: property id → value; storages by name."""
    tree: Tree = {}
    properties = bytes(header)
    for number, text in texts.items():
        data = text.encode("utf-16-le")
        tree[f"__substg1.0_{number:04X}001F"] = data
        properties += struct.pack("<HHIII", 0x001F, number, 6, len(data) + 2, 0)
    for number, data in (binaries or {}).items():
        tree[f"__substg1.0_{number:04X}0102"] = data
        properties += struct.pack("<HHIII", 0x0102, number, 6, len(data), 0)
    tree["__properties_version1.0"] = properties
    return {**tree, **storages}


@dataclass
class _Entry:
    name: str
    kind: int
    content: bytes = b""
    child: int = _FREE
    right: int = _FREE
    start: int = _END

    def packed(self) -> bytes:
        name = self.name.encode("utf-16-le")
        data = name.ljust(64, b"\0") + struct.pack("<HBB", len(name) + 2, self.kind, 1)
        data += struct.pack("<III", _FREE, self.right, self.child) + bytes(36)
        return data + struct.pack("<IQ", self.start, len(self.content))


def _collect(name: str, tree: Tree, entries: list[_Entry]) -> int:
    number = len(entries)
    entries.append(_Entry(name, 5 if number == 0 else 1))
    last = None
    for child_name, content in tree.items():
        if isinstance(content, bytes):
            child = len(entries)
            entries.append(_Entry(child_name, 2, content))
        else:
            child = _collect(child_name, content, entries)
        if last is None:
            entries[number].child = child
        else:
            entries[last].right = child
        last = child
    return number

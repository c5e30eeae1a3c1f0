"""Compressed RTF, as Outlook keeps bodies ([MS-OXRTFCP])."""

from __future__ import annotations

from foundation.errors import DamagedFile

_START = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    + b"\r\n"
    + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_WINDOW = 4096
_HEADER = 16


def decompress(data: bytes) -> bytes:
    """The RTF; at most as many bytes as its header says. DamagedFile for a stream of another kind."""
    raw_size, kind = int.from_bytes(data[4:8], "little"), data[8:12]
    if kind == b"MELA":
        return data[_HEADER : _HEADER + raw_size]
    if kind != b"LZFu":
        raise DamagedFile("The RTF body of the mail is of an unknown compression.")
    window = bytearray(_START.ljust(_WINDOW, b"\0"))
    at, out, position = len(_START), bytearray(), _HEADER
    while position < len(data) and len(out) < raw_size:
        control = data[position]
        position += 1
        for bit in range(8):
            if position + (control >> bit & 1) >= len(data):
                break
            if control >> bit & 1:
                token = int.from_bytes(data[position : position + 2], "big")
                position += 2
                offset, length = token >> 4, (token & 15) + 2
                if offset == at:
                    return bytes(out)
                copied = []
                for i in range(length):
                    copied.append(window[(offset + i) % _WINDOW])
                    window[(at + i) % _WINDOW] = copied[-1]
            else:
                copied = [data[position]]
                window[at] = data[position]
                position += 1
            out += bytes(copied)
            at = (at + len(copied)) % _WINDOW
    return bytes(out[:raw_size])

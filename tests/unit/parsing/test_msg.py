from __future__ import annotations

import os
from pathlib import Path

import pytest
from outlook_files import Tree, container, mail
from parsing_checks import assert_exact, kinds

from foundation.errors import DamagedFile
from foundation.media_type import detect_file
from foundation.types import ParsedDocument
from pipelines.parsing import msg
from pipelines.parsing.members import UnpackLimits
from pipelines.parsing.rtf_compressed import decompress

SUBJECT, BODY, HTML, SENDER, ADDRESS, RTF = 0x0037, 0x1000, 0x1013, 0x0C1A, 0x0C1F, 0x1009
NAME, DATA, LONG_NAME, DISPLAY, SMTP = 0x3704, 0x3701, 0x3707, 0x3001, 0x39FE
HEADERS = {SUBJECT: "Lunch", SENDER: "Ann", ADDRESS: "ann@example.com"}
# The example of [MS-OXRTFCP] 3.1.1.
COMPRESSED = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
)


def parse(tmp_path: Path, tree: Tree) -> ParsedDocument:
    path = tmp_path / "a.msg"
    path.write_bytes(container(tree))
    assert detect_file(path, path.name).kind == "msg"
    document = msg.parse(path, path.name, tmp_path / "out", UnpackLimits())
    assert_exact(document)
    return document


def attachment(name: str, data: bytes) -> Tree:
    return mail({LONG_NAME: name}, {DATA: data}, header=8)


def test_headers_body_recipients_and_attachments(tmp_path: Path) -> None:
    document = parse(
        tmp_path,
        mail(
            {**HEADERS, BODY: "Noon at the ward?\r\n\r\nBring the list."},
            **{
                "__recip_version1.0_#00000000": mail({DISPLAY: "Bob", SMTP: "bob@example.com"}, header=8),
                "__attach_version1.0_#00000000": attachment("beds.csv", b"a,b\n1,2\n"),
                "__attach_version1.0_#00000001": attachment("..\\notes.txt", b"words"),
            },
        ),
    )
    assert kinds(document)[:4] == [
        ("title", "Lunch"),
        ("paragraph", 'From: "Ann" <ann@example.com>\nTo: Bob <bob@example.com>'),
        ("paragraph", "Noon at the ward?"),
        ("paragraph", "Bring the list."),
    ]
    assert [m.path for m in document.members] == ["beds.csv", "notes.txt"]
    assert Path(document.members[0].content).read_bytes() == b"a,b\n1,2\n"


def test_a_mail_inside_a_mail_becomes_a_mail_of_its_own(tmp_path: Path) -> None:
    inner = mail(
        {SUBJECT: "Inner", BODY: "Words of the inner mail."},
        header=24,
        **{"__attach_version1.0_#00000000": attachment("deep.txt", b"deep")},
    )
    outer = mail({**HEADERS, BODY: "See below."}, **{
        "__attach_version1.0_#00000000": mail({}, header=8, **{"__substg1.0_3701000D": inner}),
    })  # fmt: skip
    (member,) = parse(tmp_path, outer).members
    assert member.path == "Inner.eml"
    data = Path(member.content).read_bytes()
    assert b"Words of the inner mail." in data
    assert b"deep.txt" in data


def test_the_body_is_html_or_compressed_rtf_where_there_is_no_plain_one(tmp_path: Path) -> None:
    table = "<meta charset=windows-1252><p>Größe</p><table><tr><th>Drug<th>Dose<tr><td>A<td>5 mg</table>"
    document = parse(tmp_path, mail(HEADERS, {HTML: table.encode("cp1252")}))
    assert "Größe" in document.text
    assert "Drug: A | Dose: 5 mg" in document.text
    assert decompress(COMPRESSED) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert "hello world" in parse(tmp_path, mail(HEADERS, {RTF: COMPRESSED})).text


def test_damage_is_told_or_read_around(tmp_path: Path) -> None:
    path = tmp_path / "a.msg"
    whole = container(mail({**HEADERS, BODY: "Words."}))
    for data in (whole[:600], whole[:512] + os.urandom(4000), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        path.write_bytes(data)
        with pytest.raises(DamagedFile):
            msg.parse(path, path.name, None, UnpackLimits())

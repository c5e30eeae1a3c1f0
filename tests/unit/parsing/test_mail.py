from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest
from parsing_checks import assert_exact, kinds

from foundation.errors import EmptyFile, ResourceLimit
from foundation.types import ParsedDocument
from pipelines.parsing import eml
from pipelines.parsing.members import UnpackLimits


def parse(tmp_path: Path, data: bytes | str | EmailMessage, limits: UnpackLimits | None = None) -> ParsedDocument:
    path = tmp_path / "a.eml"
    match data:
        case str():
            path.write_text(data, encoding="utf-8", newline="\r\n")
        case bytes():
            path.write_bytes(data)
        case _:
            path.write_bytes(data.as_bytes())
    document = eml.parse(path, path.name, tmp_path / "out", limits or UnpackLimits())
    assert_exact(document)
    return document


def mail(**headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in {"subject": "Lunch", "from": "a@example.com", "to": "b@example.com", **headers}.items():
        message[name] = value
    return message


def test_headers_then_the_body_once_then_what_is_attached(tmp_path: Path) -> None:
    message = mail()
    message.set_content("Noon at the ward?\n\n- soup\n- bread\n")
    message.add_alternative("<p>Noon at the ward?</p><ul><li>soup<li>bread</ul>", subtype="html")
    message.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="Menü.csv")
    document = parse(tmp_path, message)
    assert kinds(document) == [
        ("title", "Lunch"),
        ("paragraph", "From: a@example.com\nTo: b@example.com"),
        ("paragraph", "Noon at the ward?"),
        ("list_item", "- soup"),
        ("list_item", "- bread"),
        ("paragraph", "Attachments: Menü.csv (text/csv, 8 bytes)"),
    ]
    (member,) = document.members
    assert (member.path, member.file_name, Path(member.content).read_bytes()) == ("Menü.csv", "Menü.csv", b"a,b\n1,2\n")


def test_the_html_is_taken_where_only_it_has_the_table(tmp_path: Path) -> None:
    message = mail()
    message.set_content("Drug\nDose\nMetformin\n500 mg\nInsulin\n10 units\n")
    table = "<table><tr><th>Drug<th>Dose<tr><td>Metformin<td>500 mg<tr><td>Insulin<td>10 units</table>"
    message.add_alternative(table, subtype="html")
    assert "Drug: Insulin | Dose: 10 units" in parse(tmp_path, message).text


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"Subject: =?utf-8?B?R3LDvMOfZQ==?= =?iso-8859-1?Q?_f=FCr?=\r\n\r\nx", "Grüße für"),
        ("Subject: Grüße\r\n\r\nx".encode("cp1252"), "Grüße"),
        ("Subject: x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGröße".encode("cp1252"), "Größe"),
        ("Subject: x\r\nContent-Type: text/plain; charset=no-such\r\n\r\nGröße".encode(), "Größe"),
        (
            "Subject: x\r\nContent-Type: text/plain; charset=iso-2022-jp\r\n\r\n患者の薬".encode("iso2022_jp"),
            "患者の薬",
        ),
        (b"Subject: x\r\nContent-Transfer-Encoding: base64\r\n\r\n!!bm90ZQ", "x"),
        (b"Subject: =?utf-8?B?broken\r\n\r\nwords", "words"),
        (b"\xef\xbb\xbf\r\n\r\nFrom someone Mon Jan 1\r\nSubject: Found\r\n\r\nx", "Found"),
        ("From: a@example.com\nSubject: wide\n\nx".encode("utf-16"), "wide"),
        (b"just some words that are no mail", "just some words"),
    ],
)
def test_what_breaks_the_rules_is_read_all_the_same(tmp_path: Path, raw: bytes, says: str) -> None:
    assert says in parse(tmp_path, raw).text


def test_a_name_of_an_attachment_is_only_a_name(tmp_path: Path) -> None:
    message = mail()
    message.set_content("x")
    for name in ("../../etc/passwd", "C:\\Users\\a\\notes.txt", "notes.txt", ""):
        message.add_attachment(b"x", maintype="application", subtype="pdf", filename=name)
    document = parse(tmp_path, message)
    assert [m.path for m in document.members] == ["passwd", "notes.txt", "notes (2).txt", "attachment-4.pdf"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["0", "1", "2", "3"]


def test_an_encrypted_mail_says_so_and_hands_out_no_cipher(tmp_path: Path) -> None:
    message = mail()
    message.add_attachment(b"\x30\x80", maintype="application", subtype="pkcs7-mime", filename="smime.p7m")
    document = parse(tmp_path, message)
    assert [w.code for w in document.warnings] == ["encrypted_mail"]
    assert document.members == []


def test_an_empty_mail_is_read_with_a_warning_and_no_bytes_fail(tmp_path: Path) -> None:
    assert [w.code for w in parse(tmp_path, b" \n\n ").warnings] == ["empty_mail"]
    with pytest.raises(EmptyFile):
        parse(tmp_path, b"")


def test_too_many_attachments_are_refused(tmp_path: Path) -> None:
    message = mail()
    message.set_content("x")
    for _ in range(4):
        message.add_attachment(b"x", maintype="text", subtype="plain", filename="a.txt")
    with pytest.raises(ResourceLimit, match="more than 3 files"):
        parse(tmp_path, message, UnpackLimits(members=3))

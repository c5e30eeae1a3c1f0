"""A mail, whatever file it came in, as text: subject, headers, body, what is attached."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing.assembly import Assembly, clean
from pipelines.parsing.html import read_html
from pipelines.parsing.members import MemberWriter
from pipelines.parsing.text import text_elements

_ENCRYPTED_TYPES = ("application/pgp-encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    media_type: str
    content: bytes


@dataclass(slots=True)
class Mail:
    """`headers` in the order to be shown. `plain` and `html` say the same where both are there."""

    subject: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    plain: str = ""
    html: str = ""
    attachments: list[Attachment] = field(default_factory=list)
    signed_or_sealed: bool = False
    """The container says that the content is encrypted."""

    @property
    def encrypted(self) -> bool:
        sealed = (a.media_type in _ENCRYPTED_TYPES or a.name.lower().endswith(".p7m") for a in self.attachments)
        return self.signed_or_sealed or any(sealed)


def mail_document(mail: Mail, file_name: str, parser: str, writer: MemberWriter) -> ParsedDocument:
    """The mail's text; its attachments go to `writer`, except those of an encrypted mail, which nobody can read."""
    assembly, warnings = Assembly(), list[FileWarning]()
    if subject := " ".join(clean(mail.subject).split()):
        assembly.add("title", subject, level=1)
    headers = [f"{name}: {' '.join(clean(value).split())}" for name, value in mail.headers if value.strip()]
    if headers:
        assembly.add("paragraph", "\n".join(headers))
    body = _body(mail)
    text = body.text()
    for element in body.elements:
        # A heading inside a mail stands below its subject.
        level = element.level + 1 if element.level is not None else None
        assembly.add(element.kind, text[element.start : element.end], level=level)
    if mail.attachments:
        names = [
            f"{' '.join(clean(a.name).split())} ({a.media_type}, {len(a.content):,} bytes)" for a in mail.attachments
        ]
        assembly.add("paragraph", "Attachments: " + "; ".join(names))
    if mail.encrypted:
        message = f"{file_name} is encrypted; only its headers can be read."
        warnings.append(FileWarning("encrypted_mail", message))
    else:
        for attachment in mail.attachments:
            writer.add(attachment.name, [attachment.content])
    if not body.elements and not mail.attachments and not mail.encrypted:
        warnings.append(FileWarning("empty_mail", f"{file_name} has no text and no attachment."))
    if not assembly.elements:
        assembly.add("paragraph", "A mail without sender, subject and text.")
    warnings += writer.warnings.all()
    return ParsedDocument(
        assembly.text(), assembly.elements, parser, title=subject or None, warnings=warnings, members=writer.members
    )


def attachment_name(name: str, number: int, extension: str) -> str:
    """A mail may attach what has no name, and a name may be a path of the sender's machine."""
    last = PurePosixPath(name.replace("\\", "/")).name.strip(". ")
    return last or f"attachment-{number}{extension}"


def _body(mail: Mail) -> Assembly:
    """The plain text, once; the HTML where there is no plain text, or where only the HTML has the tables."""
    html = read_html(mail.html) if mail.html.strip() else Assembly()
    plain = _plain(mail.plain)
    has_tables = any(element.kind == "table" for element in html.elements)
    if not plain.elements or (html.elements and (has_tables or len(plain.text()) * 3 < len(html.text()))):
        return html
    return plain


def _plain(text: str) -> Assembly:
    assembly, tidy = Assembly(), clean(text)
    for element in text_elements(tidy, markdown=False):
        assembly.add(element.kind, tidy[element.start : element.end], level=element.level)
    return assembly

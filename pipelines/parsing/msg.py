"""Outlook mails (MSG): the properties of an OLE container, read with python-oxmsg."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import SMTPUTF8
from pathlib import Path
from typing import Any, TypeVar

import oxmsg
from oxmsg.domain import constants
from oxmsg.properties import Properties

from foundation.charset import decoded
from foundation.errors import DamagedFile
from foundation.types import ParsedDocument
from pipelines.parsing.html import decode_html
from pipelines.parsing.mail import Attachment, Mail, attachment_name, mail_document
from pipelines.parsing.members import MemberWriter, UnpackLimits
from pipelines.parsing.rtf import plain_text
from pipelines.parsing.rtf_compressed import decompress

PARSER = "msg/2"

Found = TypeVar("Found")

_STRING8 = 0x001E
_RTF_COMPRESSED = 0x1009
_EMBEDDED = "__substg1.0_3701000D"
_DEEPEST = 5
_INNER_HEADER = 24
_KINDS = {1: "To", 2: "Cc", 3: "Bcc"}
_RECIPIENT_TYPE = 0x0C15


class _InnerMessage(oxmsg.Message):
    """A mail attached to a mail: its property stream has a shorter header ([MS-OXMSG] 2.4.1.2)."""

    @property
    def properties(self) -> Properties:
        return Properties(self._storage, properties_header_offset=_INNER_HEADER)


def parse(path: Path, file_name: str, folder: Path | None, limits: UnpackLimits) -> ParsedDocument:
    """Parse a mail; its attachments are written into `folder`. Raises DamagedFile, ResourceLimit."""
    try:
        message = oxmsg.Message.load(str(path))
    except (OSError, ValueError, LookupError) as error:
        raise DamagedFile(f"{file_name} is no Outlook mail: its container cannot be read.") from error
    if not _tried(lambda: message._storage.properties_stream_bytes):
        raise DamagedFile(f"{file_name} is cut off or damaged: the mail's properties are missing.")
    mail = _read(message, depth=0)
    return mail_document(mail, file_name, PARSER, MemberWriter(file_name, path.stat().st_size, folder, limits))


def _read(message: oxmsg.Message, depth: int) -> Mail:
    storage = message._storage
    mail = Mail(subject=_text(storage, message.properties, constants.PID_SUBJECT))
    sent = _tried(lambda: message.sent_date)
    sender: str | None = _tried(lambda: message.sender)
    shown = {"From": sender or "", **_recipients(message)}
    shown["Date"] = sent.isoformat(sep=" ", timespec="seconds") if sent else ""
    mail.headers = [(name, value) for name, value in shown.items() if value]
    mail.plain = _text(storage, message.properties, constants.PID_BODY)
    html = _tried(lambda: message.properties.binary_prop_value(constants.PID_HTML))
    page = decode_html(html) if html else None
    mail.html = page[0] if page else _text(storage, message.properties, constants.PID_BODY_HTML)
    if not mail.plain.strip() and not mail.html.strip():
        rtf = _tried(lambda: message.properties.binary_prop_value(_RTF_COMPRESSED))
        mail.plain = plain_text(decompress(rtf)) if rtf else ""
    kind = (_tried(lambda: message.message_class) or "").upper()
    mail.signed_or_sealed = kind.endswith(".SMIME")
    for number, attachment in enumerate(_tried(lambda: message.attachments) or (), 1):
        if (found := _attachment(attachment, number, depth)) is not None:
            mail.attachments.append(found)
    return mail


def _recipients(message: oxmsg.Message) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for recipient in _tried(lambda: message.recipients) or ():
        number, name, address = _recipient(recipient)
        shown = f"{name} <{address}>" if name and address and name != address else name or address
        found.setdefault(_KINDS.get(number & 3, "To"), []).append(shown)
    return {kind: ", ".join(names) for kind, names in sorted(found.items(), reverse=True)}


def _recipient(recipient: Any) -> tuple[int, str, str]:
    number: int | None = _tried(lambda: recipient.properties.int_prop_value(_RECIPIENT_TYPE))
    name: str | None = _tried(lambda: recipient.name)
    address: str | None = _tried(lambda: recipient.email_address)
    return number or 1, name or "", address or ""


def _attachment(attachment: Any, number: int, depth: int) -> Attachment | None:
    properties, storage = attachment.properties, attachment._storage
    name = _text(storage, properties, constants.PID_ATTACH_LONG_FILENAME) or _text(
        storage, properties, constants.PID_ATTACH_FILENAME
    )
    inner = next((s for s in storage.storages if s.name == _EMBEDDED), None)
    if inner is not None and inner.properties_stream_bytes and depth < _DEEPEST:
        mail = _read(_InnerMessage(inner), depth + 1)
        name = attachment_name(mail.subject[:80].replace("/", "-"), number, "")
        return Attachment(f"{name}.eml", "message/rfc822", _eml(mail))
    content = _tried(lambda: attachment.file_bytes)
    if content is None:
        return None
    kind = _tried(lambda: attachment.mime_type) or "application/octet-stream"
    return Attachment(attachment_name(name, number, mimetypes.guess_extension(kind) or ".bin"), kind, content)


def _eml(mail: Mail) -> bytes:
    """A mail inside a mail has no file of its own; as an RFC 5322 file it becomes a document like any other."""
    message = EmailMessage(policy=SMTPUTF8)
    for name, value in [("Subject", mail.subject), *mail.headers]:
        message[name if name != "Date" else "X-Date"] = " ".join(value.split())
    message.set_content(mail.plain or "")
    if mail.html:
        message.add_alternative(mail.html, subtype="html")
    for attachment in mail.attachments:
        kind, _, subtype = attachment.media_type.partition("/")
        if kind in ("message", "multipart", "text") or not subtype:
            kind, subtype = "application", "octet-stream"
        message.add_attachment(attachment.content, maintype=kind, subtype=subtype, filename=attachment.name)
    return message.as_bytes()


def _text(storage: Any, properties: Any, property_id: int) -> str:
    """A string property; one of before Unicode in whatever code page its bytes look like."""
    text = _tried(lambda: properties.str_prop_value(property_id))
    if text is None and (raw := _tried(lambda: storage.property_stream_bytes(property_id, _STRING8))):
        text = decoded(raw)
    return (text or "").strip("\0")


def _tried(read: Callable[[], Found]) -> Found | None:
    """One property; a damaged one does not cost the others."""
    try:
        return read()
    except (AssertionError, LookupError, ValueError, OSError, TypeError, AttributeError):
        return None

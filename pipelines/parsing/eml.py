"""Mails as RFC 5322 files. Real ones break most rules of it, so whatever can be read is read."""

from __future__ import annotations

import email
import email.header
import email.policy
import mimetypes
import re
from email.message import Message
from pathlib import Path

from foundation.charset import codec_of, decoded, detect_encoding
from foundation.errors import EmptyFile
from foundation.types import ParsedDocument
from pipelines.parsing.mail import Attachment, Mail, attachment_name, mail_document
from pipelines.parsing.members import MemberWriter, UnpackLimits

PARSER = "eml/2"

_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Message-ID")
_WORD = re.compile(r"[\w.:-]+")
_BODY_TYPES = ("text/plain", "text/html")


def parse(path: Path, file_name: str, folder: Path | None, limits: UnpackLimits) -> ParsedDocument:
    """Parse a mail; its attachments are written into `folder`. Raises EmptyFile, ResourceLimit."""
    data = path.read_bytes()
    if not data:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    encoding = detect_encoding(data)
    if encoding is not None and encoding.startswith(("utf-16", "utf-32")):
        data = data.decode(encoding, errors="replace").encode()
    # An mbox line, blank lines or a byte order mark before the first header would end the headers at once.
    data = re.sub(rb"\A(\xef\xbb\xbf)?(\s*\n)*(From [^\n]*\n)?", b"", data)
    mail = read_mail(email.message_from_bytes(data, policy=email.policy.compat32))
    return mail_document(mail, file_name, PARSER, MemberWriter(file_name, len(data), folder, limits))


def read_mail(message: Message) -> Mail:
    mail = Mail(subject=_header(message, "Subject"))
    mail.headers = [(name, value) for name in _SHOWN if (value := _header(message, name))]
    _read_part(message, mail, set())
    return mail


def _read_part(root: Message, mail: Mail, taken: set[str]) -> None:
    """Bodies and attachments of a part and of those in it, in their order."""
    stack = [(root, False)]
    while stack:
        part, alternative = stack.pop()
        kind = part.get_content_type()
        payload = part.get_payload()
        if part.is_multipart() and kind != "message/rfc822" and isinstance(payload, list):
            stack.extend((child, kind == "multipart/alternative") for child in reversed(payload) if child is not part)
        elif kind in _BODY_TYPES and not _is_attached(part):
            text = _text(part)
            if kind == "text/html":
                mail.html = f"{mail.html}\n{text}" if mail.html else text
            else:
                mail.plain = f"{mail.plain}\n\n{text}" if mail.plain else text
        elif not (alternative and kind.startswith("text/")):  # a calendar or rich text that says the same again
            mail.attachments.append(_attachment(part, len(mail.attachments) + 1))


def _is_attached(part: Message) -> bool:
    return _name(part) != "" or "attachment" in str(part.get("Content-Disposition", "")).lower()


def _attachment(part: Message, number: int) -> Attachment:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        payload = part.get_payload()
        first = payload[0] if isinstance(payload, list) and payload else None
        inner = first if isinstance(first, Message) else part
        name = _name(part) or f"{_header(inner, 'Subject')[:80] or 'mail'}.eml".replace("/", "-")
        return Attachment(attachment_name(name, number, ".eml"), kind, _bytes(inner))
    content = part.get_payload(decode=True)
    extension = mimetypes.guess_extension(kind) or ".bin"
    return Attachment(
        attachment_name(_name(part), number, extension), kind, content if isinstance(content, bytes) else b""
    )


def _bytes(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (UnicodeError, ValueError, TypeError, KeyError):  # headers that cannot be written again as they came
        body = message.get_payload(decode=True)
        return body if isinstance(body, bytes) else str(message.get_payload()).encode(errors="replace")


def _text(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    label = _WORD.search(str(part.get_param("charset", "") or ""))
    declared = codec_of(label[0]) if label else None
    if declared is not None:
        try:
            return content.decode(declared)
        except UnicodeError:
            pass  # it says what it is not
    return decoded(content, otherwise=declared or "cp1252")


def _name(part: Message) -> str:
    try:
        return _header_text(part.get_filename() or "")
    except (ValueError, LookupError, TypeError, AttributeError):  # broken RFC 2231 parameters
        return ""


def _header(message: Message, name: str) -> str:
    return "; ".join(_header_text(value) for key, value in message.raw_items() if key.lower() == name.lower())


def _header_text(value: object) -> str:
    """A header's value with its encoded words, or raw 8-bit bytes, turned into text."""
    raw = str(value).encode("utf-8", "surrogateescape")
    text = decoded(raw) if not raw.isascii() else str(value)
    text = re.sub(r"\r?\n[ \t]*", " ", text)
    try:
        words = email.header.decode_header(text)
    except (email.errors.HeaderParseError, ValueError):
        return text
    parts = []
    for word, label in words:
        if isinstance(word, str):
            parts.append(word)
        else:
            codec = codec_of(label) if label else "utf-8"
            parts.append(word.decode(codec, errors="replace") if codec else decoded(word))
    return "".join(parts).strip()

"""PDFs made by hand, so that a test knows every line and box of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def write_pdf(path: Path, pages: Sequence[str], attributes: str = "/MediaBox [0 0 612 792]") -> Path:
    """A PDF whose pages have these content streams, with Helvetica as /F1 and Helvetica-Bold as /F2."""
    kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
    ]
    for i, content in enumerate(pages):
        resources = "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {attributes} {resources} /Contents {6 + 2 * i} 0 R >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    path.write_bytes(data)
    return path


def lines(*texts: str, x: float = 72, y: float = 700, size: float = 11, font: str = "F1") -> str:
    """A content stream that writes these lines under each other."""
    escaped = [text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for text in texts]
    shown = f" 0 {-size * 1.2:.1f} Td ".join(f"({text}) Tj" for text in escaped)
    return f"BT /{font} {size} Tf {x} {y} Td {shown} ET"

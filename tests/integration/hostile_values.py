"""Requests made from the OpenAPI document: every operation, with one value after another replaced by a hostile one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

TEXTS = [
    "", " ", "\0", "a\0b", "\ud800", "\udfff\ud800", "x" * 10_000, "\U0001f469\u200d\U0001f680" * 50, "e\u0301",
    "\ufeff",
    "\u202e\u0000txt", "\uffff", "../../etc/passwd", "..%2f..%2f", "%00", "%", "'", "\"'; drop table documents; --",
    "`",
    "{{7*7}}", "${jndi:ldap://x}", "<script>alert(1)</script>", "\r\nSet-Cookie: a=b", "null", "true", "nan", "inf",
    "-1", "0", "1e309", "9" * 30, "9" * 5_000, "\u0661\u0662", "\\", "/", "//", "a/b", "?", "#", "*", "%_", "\t\n\x0b",
]  # fmt: skip
NUMBERS = [0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, float("nan"), float("inf"), True]
OTHERS: list[Any] = [None, [], {}, [[]], [None], {"a": None}, ["\0"], {"\0": 1}, {"\ud800": 1}]
BODIES = [
    b"", b"null", b"[]", b'"text"', b"1", b"{", b"{}}", b"\xff\xfe{", b"\0", b'{"a":1', b"[" * 50_000,
    b'{"a":' * 20_000 + b"1" + b"}" * 20_000, b"[" * 5_000 + b"]" * 5_000, b'{"question": 1e999}',
    b'{"question": "a", "question": "b"}', b"NaN", b"\xed\xa0\x80",
]  # fmt: skip
CONTENT_TYPES = [
    "text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data",
    "multipart/form-data; boundary=", "multipart/form-data; boundary=b", "application/json; charset=utf-16",
    "application/json; charset=nope", "/", "", "application/jsonx", "json",
]  # fmt: skip
HEADERS = {
    "accept": ["text/event-stream", "*/*", "text/event-stream;q=0", "\u00ff", ""],
    "idempotency-key": ["", "k" * 201, "\u00ff", "same"],
    "authorization": ["", "Bearer", "Bearer ", "Bearer ak_", "Basic YTpi", "Bearer ak_\u00ff", "ak_x"],
    "accept-encoding": ["gzip;q=x", "\u00ff"],
    "range": ["bytes=0-", "bytes=9-1", "x"],
    "if-none-match": ["*", '"x'],
}


@dataclass(frozen=True)
class Call:
    """One request. `what` says which value of it is hostile."""

    method: str
    path: str
    what: str
    query: str = ""
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


def calls(openapi: dict[str, Any], known: dict[str, str]) -> Iterator[Call]:
    """Every operation. `known`: parameter name → a value that exists, so that the others are looked at too."""
    for template, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield from _Operation(openapi, known, template, method.upper(), operation).calls()


class _Operation:
    def __init__(
        self, openapi: dict[str, Any], known: dict[str, str], template: str, method: str, operation: dict[str, Any]
    ) -> None:
        self.openapi, self.known, self.template, self.method = openapi, known, template, method
        parameters = operation.get("parameters", [])
        self.in_path = [p["name"] for p in parameters if p["in"] == "path"]
        self.in_query = {p["name"]: p["schema"] for p in parameters if p["in"] == "query"}
        self.content = operation.get("requestBody", {}).get("content", {})

    def calls(self) -> Iterator[Call]:
        yield self._call("nothing")
        for name in self.in_path:
            for text in TEXTS:
                yield self._call(f"path {name}={text!r:.40}", path={name: text})
        for name in self.in_query:
            for text in TEXTS:
                yield self._call(f"query {name}={text!r:.40}", query=_pairs({name: text}))
        if self.in_query:
            name = next(iter(self.in_query))
            yield self._call("a parameter twice", query=_pairs({name: "1"}) + "&" + _pairs({name: "x"}))
        yield self._call("an unknown parameter", query="%ED%A0%80=%00&&=&a=%ff")
        for header, values in HEADERS.items():
            for value in values:
                yield self._call(f"header {header}: {value!r:.40}", headers={header: value})
        if "application/json" in self.content:
            yield from self._json_calls()
        if "multipart/form-data" in self.content:
            yield from self._form_calls()

    def _json_calls(self) -> Iterator[Call]:
        kind = {"content-type": "application/json"}
        good = self._example(self.content["application/json"]["schema"])
        for body in BODIES:
            yield self._call(f"body {body[:20]!r}", body=body, headers=kind)
        for content_type in CONTENT_TYPES:
            yield self._call(f"content type {content_type}", body=_dump(good), headers={"content-type": content_type})
        for name in [*good, "unknown", "\ud800", "\0"]:
            for value in [*TEXTS, *NUMBERS, *OTHERS, [*TEXTS[:6]], ["x"] * 2_000]:
                yield self._call(f"field {name!r}={value!r:.40}", body=_dump({**good, name: value}), headers=kind)

    def _form_calls(self) -> Iterator[Call]:
        kind = {"content-type": "multipart/form-data; boundary=b"}
        names = self._properties(self.content["multipart/form-data"]["schema"])
        for content_type in CONTENT_TYPES:
            yield self._call(f"content type {content_type}", body=_form({}), headers={"content-type": content_type})
        for body in BODIES:
            yield self._call(f"body {body[:20]!r}", body=body, headers=kind)
        for name in [n for n in names if n != "files"] + ["unknown", "files"]:
            for text in TEXTS:
                yield self._call(f"form {name}={text!r:.40}", body=_form({name: text}), headers=kind)
        for text in TEXTS:
            yield self._call(f"file name {text!r:.40}", body=_form({}, file_name=text), headers=kind)

    def _call(
        self,
        what: str,
        *,
        path: dict[str, str] | None = None,
        query: str = "",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Call:
        address = self.template
        for name in self.in_path:
            value = (path or {}).get(name, self.known.get(name, "nosuch"))
            address = address.replace(f"{{{name}}}", quote(value, safe="", errors="surrogatepass"))
        headers = dict(headers or {})
        if body is None and self.content:
            body, kind = self._good_body()
            headers.setdefault("content-type", kind)
        return Call(self.method, address, f"{self.method} {self.template}: {what}", query, body, headers)

    def _good_body(self) -> tuple[bytes, str]:
        if "application/json" in self.content:
            return _dump(self._example(self.content["application/json"]["schema"])), "application/json"
        return _form({}), "multipart/form-data; boundary=b"

    def _properties(self, schema: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.openapi["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        return found

    def _example(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {name: self.known.get(name, _plain(kind)) for name, kind in self._properties(schema).items()}


def _plain(schema: dict[str, Any]) -> Any:
    """A value of the schema's first kind."""
    for kind in [schema, *schema.get("anyOf", [])]:
        if "enum" in kind:
            return kind["enum"][0]
        match kind.get("type"):
            case "string":
                return "text"
            case "integer" | "number":
                return max(1, kind.get("minimum", 1))
            case "array":
                return []
    return {}


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def _pairs(given: dict[str, str]) -> str:
    return "&".join(f"{quote(k, errors='surrogatepass')}={quote(v, errors='surrogatepass')}" for k, v in given.items())


def _form(fields: dict[str, str], file_name: str = "hostile.txt") -> bytes:
    parts = [(f'name="files"; filename="{file_name}"', "A plain text.")]
    parts += [(f'name="{name}"', text) for name, text in fields.items()]
    lines = [f"--b\r\ncontent-disposition: form-data; {about}\r\n\r\n{text}\r\n" for about, text in parts]
    return ("".join(lines) + "--b--\r\n").encode(errors="surrogatepass")

"""RDS's front door before a Postgres: TLS only, and a token of IAM for the password where IAM lets somebody in.

Behind it is the tests' own server, on its Unix socket, which asks for nothing.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from urllib.parse import parse_qs

from psycopg.conninfo import conninfo_to_dict

from tests.engines.certificates import Certificates

_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102
_CLEARTEXT = b"R" + struct.pack("!II", 8, 3)


class RdsDoor:
    """`tokens` holds what was presented, in order. `valid_s`: how long a token is good for; RDS's 900 if absent."""

    def __init__(self, upstream: str, certificates: Certificates) -> None:
        where = conninfo_to_dict(upstream)
        self.database = str(where["dbname"])
        self._socket = f"{where['host']}/.s.PGSQL.{where.get('port', 5432)}"
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificates.certificate, certificates.key)
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self.iam = True
        self.valid_s = 900.0
        self.tokens: list[str] = []
        self.connections = 0
        self.port = 0

    @contextmanager
    def running(self) -> Iterator[RdsDoor]:
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._let_in, "127.0.0.1", 0), self._loop)
        self.port = server.result().sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._close(server.result()), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def drop_all(self) -> None:
        """A failover: every connection is gone."""
        for writer in list(self._open):
            self._loop.call_soon_threadsafe(writer.transport.abort)

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, ssl.SSLError, asyncio.IncompleteReadError):
            await self._welcome(reader, writer)
        writer.close()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (code := (first := await _packet(reader))[0]) != _SSL:
            if code == _CANCEL:
                _, upstream = await asyncio.open_unix_connection(self._socket)
                upstream.write(first[1])
                upstream.close()
                return
            if code != _GSS:
                writer.write(_refusal("28000", "no pg_hba.conf entry for this host, no encryption"))
                await writer.drain()
                return
            writer.write(b"N")
        writer.write(b"S")
        await writer.start_tls(self._tls)
        _, startup = await _packet(reader)
        parts = startup[8:].split(b"\0")
        user = dict(zip(parts[::2], parts[1::2], strict=False))[b"user"].decode()
        if self.iam:
            writer.write(_CLEARTEXT)
            await reader.readexactly(1)
            length = struct.unpack("!I", await reader.readexactly(4))[0]
            token = (await reader.readexactly(length - 4)).rstrip(b"\0").decode()
            self.tokens.append(token)
            if not self._is_good(token, user):
                writer.write(_refusal("28P01", f'PAM authentication failed for user "{user}"'))
                await writer.drain()
                return
        self.connections += 1
        self._open.add(writer)
        try:
            await self._pass_on(startup, reader, writer)
        finally:
            self._open.discard(writer)

    async def _pass_on(self, startup: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_unix_connection(self._socket)
        forth.write(startup)
        ways = [asyncio.create_task(_pump(reader, forth)), asyncio.create_task(_pump(back, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        forth.close()

    def _is_good(self, token: str, user: str) -> bool:
        address, _, query = token.partition("/?")
        said = {name: values[0] for name, values in parse_qs(query).items()}
        if address != f"localhost:{self.port}" or said.get("Action") != "connect" or said.get("DBUser") != user:
            return False
        signed = datetime.strptime(said["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
        scope = said["X-Amz-Credential"].endswith("/rds-db/aws4_request")
        is_signature = re.fullmatch("[0-9a-f]{64}", said["X-Amz-Signature"]) is not None
        return scope and is_signature and time.time() - signed < self.valid_s + 1  # the date has whole seconds


async def _packet(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """(code, all of it) of a packet without a type, as a connection begins with."""
    head = await reader.readexactly(8)
    length, code = struct.unpack("!II", head)
    return code, head + await reader.readexactly(length - 8)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()


def _refusal(state: str, message: str) -> bytes:
    fields = b"".join(kind + text.encode() + b"\0" for kind, text in ((b"S", "FATAL"), (b"C", state), (b"M", message)))
    return b"E" + struct.pack("!I", len(fields) + 5) + fields + b"\0"

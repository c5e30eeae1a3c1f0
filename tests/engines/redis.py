"""A Redis with a password, by TLS if it is given certificates; the program is Debian's redis-server."""

from __future__ import annotations

import shutil
from pathlib import Path

import redis

from tests.engines.certificates import Certificates
from tests.engines.processes import Engine, EngineFailed, free_port

PASSWORD = "s3cret/with:signs"
_ENCODED = "s3cret%2Fwith%3Asigns"


def fetch(cache: Path) -> Path:
    """The installed program; EngineFailed says how to install it. Nothing goes into the cache."""
    found = shutil.which("redis-server")
    if found is None:
        raise EngineFailed("redis-server is not installed: apt-get install redis-server")
    return Path(found)


class RedisServer(Engine):
    """`url` lets in; nothing is kept on disk."""

    def __init__(self, folder: Path, certificates: Certificates | None = None) -> None:
        port = free_port()
        self.certificates = certificates
        scheme, ports = "redis", ["--port", str(port)]
        if certificates is not None:
            scheme = "rediss"
            files = {"cert": certificates.certificate, "key": certificates.key, "ca-cert": certificates.ca}
            ports = ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no"]
            ports += [part for name, path in files.items() for part in (f"--tls-{name}-file", str(path))]
        self.url = f"{scheme}://:{_ENCODED}@localhost:{port}/0"
        command = [str(fetch(folder)), "--bind", "127.0.0.1", *ports, "--requirepass", PASSWORD]
        command += ["--save", "", "--appendonly", "no", "--dir", str(folder), "--daemonize", "no"]
        super().__init__("redis", command, folder, self._answers, timeout_s=20)

    def client(self) -> redis.Redis:
        trusted = {"ssl_ca_certs": str(self.certificates.ca)} if self.certificates else {}
        return redis.Redis.from_url(self.url, **trusted)

    def _answers(self) -> bool:
        with self.client() as client:
            return bool(client.ping())

"""How we make ourselves known to OpenSearch, by the requests that arrive at a server."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from foundation import aws_stores
from foundation.adapters.aws.search_client import connect, patiently
from foundation.adapters.aws.search_layout import index_body
from foundation.errors import ConfigurationError
from foundation.settings import AwsSettings, OpenSearchSettings, Settings


class Recorder:
    """Answers {} to everything and keeps the headers."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.headers: list[dict[str, str]] = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                recorder.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps({}).encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    yield made
    made.close()


def settings(**chosen: Any) -> Settings:
    return Settings(opensearch=OpenSearchSettings(**chosen), aws=AwsSettings(region="eu-central-1"))


def test_a_request_is_signed_for_the_domain_with_the_credentials_of_the_environment(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    connect(settings(url=recorder.url)).info()
    (sent,) = recorder.headers
    assert sent["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/es/aws4_request" in sent["authorization"]
    assert sent["x-amz-security-token"] == "token"


def test_basic_authentication_sends_user_and_password(recorder: Recorder) -> None:
    connect(settings(url=recorder.url, auth="basic", user="askline", password=SecretStr("s3cret"))).info()
    assert recorder.headers[0]["authorization"] == "Basic YXNrbGluZTpzM2NyZXQ="


def test_nothing_is_sent_without_authentication(recorder: Recorder) -> None:
    connect(settings(url=recorder.url, auth="none")).info()
    assert "authorization" not in recorder.headers[0]


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({}, "ASKLINE_OPENSEARCH__URL is not set"),
        ({"url": "http://127.0.0.1:1", "auth": "basic"}, "needs a user and a password"),
        ({"url": "https://x.eu-central-1.aoss.amazonaws.com"}, "Serverless"),
        ({"url": "https://search.example.org", "service": "aoss"}, "Serverless"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_the_fix(chosen: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        aws_stores.search_index(settings(**chosen), "index", 3)
    assert refused.value.fix != ConfigurationError.fix


def test_signing_without_credentials_or_region_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    chosen = OpenSearchSettings(url="https://search.example.org")
    with pytest.raises(ConfigurationError, match="no AWS credentials"):
        connect(Settings(opensearch=chosen))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(ConfigurationError, match="no AWS region"):
        connect(Settings(opensearch=chosen))


def test_the_servers_certificate_is_checked_against_the_named_authorities(tmp_path: Path) -> None:
    certificate, key = _self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    recorder = Recorder(context)
    try:
        assert connect(settings(url=recorder.url, auth="none", ca_file=certificate)).info() == {}
        unknown = connect(settings(url=recorder.url, auth="none"))
        with pytest.raises(ConfigurationError, match="TLS failed") as refused:
            patiently("a look", unknown.info, 3)
        assert "ASKLINE_OPENSEARCH__CA_FILE" in refused.value.fix
    finally:
        recorder.close()


@pytest.mark.parametrize("engine", ["lucene", "faiss"])
def test_the_vector_field_names_its_engine(engine: Any) -> None:
    body = index_body("index", 384, OpenSearchSettings(engine=engine))
    assert body["mappings"]["properties"]["vector"]["method"]["engine"] == engine


def _self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "server.pem", folder / "server.key"
    cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert_file, key_file

"""The OpenSearch client as the settings describe it, and calls through it: patient with what passes, clear about the
rest."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection, exceptions

from foundation.adapters.aws.clients import session
from foundation.adapters.aws.errors import first_line
from foundation.errors import AsklineError, ConfigurationError, Conflict, InvalidInput, Unavailable
from foundation.settings import Settings

# It warns of each failed try, with a traceback; what stays failed is raised here, by its name.
logging.getLogger("opensearch").setLevel(logging.ERROR)

Result = TypeVar("Result")

READ_TRIES, WRITE_TRIES = 3, 12
"""Somebody waits for an answer; a run rather waits until a node has started again."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_CONNECTIONS = 20
_BUSY = {429, 502, 503, 504}


class AlreadyThere(Conflict):
    """An index of this name exists."""


def connect(settings: Settings) -> OpenSearch:
    """A client, which threads may share. ConfigurationError where the settings contradict each other."""
    chosen = settings.opensearch
    if not chosen.url:
        raise ConfigurationError(
            "ASKLINE_OPENSEARCH__URL is not set.",
            fix="Set it to the domain's endpoint, such as https://….es.amazonaws.com.",
        )
    if chosen.service == "aoss" or (urlsplit(chosen.url).hostname or "").endswith(".aoss.amazonaws.com"):
        raise ConfigurationError(
            f"{chosen.url} is OpenSearch Serverless, whose vector collections take no document ids, delete nothing by"
            " query and show a write up to a minute later: a version could be seen half, and not be erased.",
            fix="Use a managed OpenSearch domain (service es), or set ASKLINE_ADAPTERS__SEARCH=embedded.",
        )
    secure = chosen.url.startswith("https:")
    tls: dict[str, Any] = {"ca_certs": str(chosen.ca_file)} if secure and chosen.ca_file else {}
    return OpenSearch(
        chosen.url,
        http_auth=_auth(settings),
        connection_class=Urllib3HttpConnection,
        pool_maxsize=_CONNECTIONS,
        timeout=chosen.timeout_s,
        max_retries=0,  # its own come without a pause; see `patiently`
        http_compress=secure,  # across a network; on this machine it would only cost
        **tls,
    )


def _auth(settings: Settings) -> tuple[str, str] | Urllib3AWSV4SignerAuth | None:
    chosen = settings.opensearch
    if chosen.auth == "basic":
        if not chosen.user or chosen.password is None:
            raise ConfigurationError(
                "ASKLINE_OPENSEARCH__AUTH=basic needs a user and a password.",
                fix="Set ASKLINE_OPENSEARCH__USER and ASKLINE_OPENSEARCH__PASSWORD.",
            )
        return chosen.user, chosen.password.get_secret_value()
    if chosen.auth == "sigv4":
        found = session(settings)
        credentials = found.get_credentials()
        if credentials is None:
            raise ConfigurationError(
                "OpenSearch: there are no AWS credentials to sign with.",
                fix="Give the task a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            )
        if not found.region_name:
            raise ConfigurationError("OpenSearch: no AWS region is named.", fix="Set ASKLINE_AWS__REGION.")
        return Urllib3AWSV4SignerAuth(credentials, found.region_name, chosen.service)
    return None


def pauses(tries: int) -> Iterator[None]:
    """One turn a try, with a random pause before each but the first whose upper bound doubles (full jitter)."""
    for number in range(tries):
        if number:
            time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**number)))
        yield


def patiently(what: str, request: Callable[[], Result], tries: int) -> Result:
    """What `request` returns, tried again while OpenSearch is busy or does not answer; so it must be idempotent.

    NotFoundError and ConflictError of opensearch-py pass: the caller knows what they mean. All else becomes one of our
    errors, whose message begins with `what`.
    """
    last: exceptions.TransportError | None = None
    for _ in pauses(tries):
        try:
            return request()
        except (exceptions.NotFoundError, exceptions.ConflictError):
            raise
        except exceptions.TransportError as error:
            if not _passes(error):
                raise translated(error, what) from error
            last = error
    assert last is not None
    raise translated(last, what) from last


def is_busy(status: int) -> bool:
    """Whether an item of a bulk with this status is worth another try."""
    return status == 429 or status >= 500


def overloaded(what: str, said: str) -> Unavailable:
    return Unavailable(
        f"{what}: OpenSearch takes no more work now ({said}).",
        fix="It is retried; if it stays, add data nodes or a larger instance, or let fewer runs write at once.",
    )


def translated(error: exceptions.TransportError, what: str) -> AsklineError:
    if isinstance(error, exceptions.SSLError):
        return ConfigurationError(
            f"{what}: TLS failed: {first_line(error)}",
            fix="Name the certificates that sign OpenSearch's by ASKLINE_OPENSEARCH__CA_FILE, or correct its URL.",
        )
    if isinstance(error, exceptions.ConnectionError):
        return Unavailable(
            f"{what}: OpenSearch does not answer: {first_line(error)}",
            fix="Start it, or correct ASKLINE_OPENSEARCH__URL; a write that was cut off stays unseen until its retry.",
        )
    status, said = error.status_code, _reason(error)
    if status == 429:
        return overloaded(what, said)
    if status in (401, 403):
        return ConfigurationError(
            f"{what}: OpenSearch refused the credentials: {said}",
            fix="Allow es:ESHttp* on the domain in the role's policy and map the role in it (docs/aws.md), or correct"
            " ASKLINE_OPENSEARCH__AUTH, __USER and __PASSWORD.",
        )
    if said.startswith("resource_already_exists_exception"):
        return AlreadyThere(f"{what}: {said}")
    if status == 413:
        return InvalidInput(f"{what}: OpenSearch takes no request so large: {said}", fix="Chunk it more finely.")
    if isinstance(status, int) and status >= 500:
        return Unavailable(f"{what}: OpenSearch failed with {status}: {said}")
    return ConfigurationError(
        f"{what}: OpenSearch refused the request: {said}",
        fix="It must be 2.19 or later, with the k-NN and neural-search plugins, and the index Askline's own.",
    )


def _passes(error: exceptions.TransportError) -> bool:
    if isinstance(error, exceptions.ConnectionError):
        return not isinstance(error, exceptions.SSLError)
    return error.status_code in _BUSY


def _reason(error: exceptions.TransportError) -> str:
    """The innermost cause that OpenSearch names, since the outer one is often `all shards failed`."""
    info = error.info
    if not isinstance(info, dict) or not isinstance(cause := info.get("error"), dict):
        return first_line(error)
    cause = (cause.get("root_cause") or [cause])[0]
    while isinstance(inner := cause.get("caused_by"), dict):
        cause = inner
    return f"{cause.get('type')}: {cause.get('reason')}"


class IndexRequests:
    """Requests to one index, each with a name for the message of its error."""

    def __init__(self, client: OpenSearch, physical: str) -> None:
        self.client, self.physical = client, physical

    def ask(
        self,
        what: str,
        request: Callable[..., Any],
        body: Mapping[str, Any],
        params: Mapping[str, str] | None = None,
        *,
        tries: int = READ_TRIES,
    ) -> dict[str, Any]:
        """The answer to a request of the client that takes a body."""
        answer: dict[str, Any] = patiently(
            f"{what} in {self.physical}",
            lambda: request(index=self.physical, body=body, params=dict(params or {})),
            tries,
        )
        return answer

    def do(self, what: str, request: Callable[..., Any], **arguments: Any) -> Any:
        """What a writer asks for, or what is done to the index as a whole."""
        return patiently(f"{what} of {self.physical}", lambda: request(index=self.physical, **arguments), WRITE_TRIES)

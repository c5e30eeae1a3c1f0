"""The one exception tree. Each class says what HTTP status it is, whether a retry can help, and what the user can do.

AsklineError
├── InvalidInput            400  the request itself is wrong
│   ├── NameRefused         400  a file name that cannot be used
│   ├── TooLarge            413
│   ├── UnsupportedType     415
│   ├── EmptyInput          422
│   ├── CardRefused         422  a field of a document's card, or a sidecar, that cannot be taken
│   └── OutOfRange          422  a position, span or index that the thing does not have
├── SqlRefused              400  the guard's rule is in `rule`
├── Unauthenticated         401
├── Forbidden               403  (never for "you may not see this": that is NotFound)
├── NotFound                404
├── Conflict                409
├── IdempotencyMismatch     422
├── QueryFailed             422  a permitted query that the engine refused
│   └── QueryTimedOut       422
├── ProcessingFailed        500  a version cannot be processed; ends as `failed`
│   ├── DamagedFile, EncryptedFile, EmptyFile, ResourceLimit, NoContent, UnsupportedFile
│   └── StageFailed              a stage failed for another reason
├── ConfigurationError      500  a setting is missing or contradicts another
└── Unavailable             503  transient: a dependency does not answer
"""

from __future__ import annotations

from typing import Any


class AsklineError(Exception):
    """Base. `code` is stable, `message` names the file or field, `fix` says what to do."""

    code = "internal"
    status = 500
    transient = False
    fix = "Look at the service's log for this time; if it stays, report it."

    def __init__(self, message: str, *, fix: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if fix is not None:
            self.fix = fix
        if code is not None:
            self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        # Some classes take keyword-only arguments, which the default of BaseException cannot restore; errors travel
        # back from parser processes.
        return _restore, (type(self), self.message, self.__dict__.copy())


def _restore(kind: type[AsklineError], message: str, state: dict[str, Any]) -> AsklineError:
    error = kind.__new__(kind, message)
    error.__dict__.update(state)
    return error


class InvalidInput(AsklineError):
    code, status, fix = "invalid_input", 400, "Correct the named field and send the request again."


class NameRefused(InvalidInput):
    code, fix = "name_refused", "Give the file a plain name: no control characters, no NUL."


class TooLarge(InvalidInput):
    code, status, fix = "too_large", 413, "Split the file, or raise ASKLINE_SERVICE__MAX_UPLOAD_MB."


class UnsupportedType(InvalidInput):
    code, status = "unsupported_type", 415
    fix = "Upload one of the supported types (docs/operating.md lists them) with its own extension."


class EmptyInput(InvalidInput):
    code, status, fix = "empty_input", 422, "Send something that is not empty."


class CardRefused(InvalidInput):
    """A field of a document's card, or a sidecar, that cannot be taken; the message names it and its limit."""

    code, status, fix = "card_refused", 422, "Shorten or correct the named field; docs/api.md has the card's fields."


class OutOfRange(InvalidInput):
    """A position, span or index that lies outside of what it is asked of; the message names the field and the bound."""

    code, status, fix = "out_of_range", 422, "Give a value within the bound that the message names."


class SqlRefused(AsklineError):
    """A statement that the guard does not let through. `rule` names the rule of docs/security.md."""

    code, status = "sql_refused", 400
    fix = "Ask with one plain SELECT over the tables that GET /tables lists."

    def __init__(self, message: str, *, rule: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.rule = rule


class Unauthenticated(AsklineError):
    code, status, fix = "unauthenticated", 401, "Send a key: Authorization: Bearer ak_…"


class Forbidden(AsklineError):
    code, status, fix = "forbidden", 403, "Use a key whose scopes include this action."


class NotFound(AsklineError):
    code, status, fix = "not_found", 404, "Check the id; GET /documents lists what you can see."


class Conflict(AsklineError):
    code, status, fix = "conflict", 409, "Read the current state and try again."


class IdempotencyMismatch(AsklineError):
    code, status = "idempotency_mismatch", 422
    fix = "Use a new Idempotency-Key for a different request."


class QueryFailed(AsklineError):
    code, status, fix = "query_failed", 422, "Correct the statement; the message is the engine's."


class QueryTimedOut(QueryFailed):
    code = "query_timed_out"
    fix = "Narrow the question, or raise ASKLINE_QUERY__STATEMENT_TIMEOUT_S."


class ProcessingFailed(AsklineError):
    """A version cannot be processed: it ends `failed` with this code, message and fix."""

    code = "processing_failed"


class DamagedFile(ProcessingFailed):
    code, fix = "damaged_file", "Open and save the file again with its own program, then upload it again."


class EncryptedFile(ProcessingFailed):
    """Also refused at upload (422) where the container shows it: an office file inside an OLE container."""

    code, status, fix = "encrypted_file", 422, "Remove the password and upload the file again."


class EmptyFile(ProcessingFailed):
    code, fix = "empty_file", "Upload a file that has content."


class NoContent(ProcessingFailed):
    code = "no_content"
    fix = "Upload one whose text can be seen: a sharper scan, the right way up, or the file it was printed from."


class UnsupportedFile(ProcessingFailed):
    code, fix = "unsupported_file", "Convert the file to PDF, DOCX, TXT, CSV or XLSX."


class ResourceLimit(ProcessingFailed):
    """Over a limit. Where a setting holds the limit, whoever raises this names it in the fix."""

    code, fix = "resource_limit", "Split the file, or save it anew with its own program, and upload it again."


class StageFailed(ProcessingFailed):
    code, fix = "stage_failed", "POST /documents/{id}/retry; if it fails again, the run's log has the cause."


class ConfigurationError(AsklineError):
    code, fix = "configuration", "Correct the named setting; docs/settings.md describes each."


class Unavailable(AsklineError):
    code, status, transient = "unavailable", 503, True
    fix = "Try again in a moment; `askline doctor` shows which part is down."

"""Where Athena works: the Glue database, the work group, the folder of results."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from foundation.adapters.aws.errors import aws_errors, code_of
from foundation.errors import ConfigurationError
from foundation.registry.datasets import relation_name

_MB = 1_000_000


def glue_table(dataset_id: str) -> str:
    """A dataset's table in Glue: named after the content, as its Postgres copy is."""
    return relation_name(dataset_id)


@dataclass(slots=True)
class AthenaPlace:
    """`results`: s3:// folder that ends with /."""

    athena: Any
    """boto3's client, as `glue`."""
    glue: Any
    database: str
    work_group: str
    results: str
    scan_limit_mb: int
    _seen: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare_catalog(self) -> None:
        """Make the database if it is absent; once a process."""
        self._once("database", self._ensure_database)

    def prepare_statements(self) -> None:
        """Make the work group as well.

        ConfigurationError for one that bounds no statement, or that keeps results elsewhere.
        """
        self.prepare_catalog()
        self._once("work group", self._ensure_work_group)

    def _once(self, what: str, ensure: Callable[[], None]) -> None:
        with self._lock:
            if what not in self._seen:
                ensure()
                self._seen.add(what)

    def _ensure_database(self) -> None:
        with aws_errors(f"Glue database {self.database}"):
            try:
                self.glue.get_database(Name=self.database)
            except ClientError as error:
                if code_of(error) != "EntityNotFoundException":
                    raise
                about = {"Name": self.database, "Description": "Askline's typed tables"}
                _unless_made(self.glue.create_database, "AlreadyExistsException", DatabaseInput=about)

    def _ensure_work_group(self) -> None:
        with aws_errors(f"Athena work group {self.work_group}"):
            try:
                found = self.athena.get_work_group(WorkGroup=self.work_group)["WorkGroup"]
            except ClientError as error:
                if code_of(error) != "InvalidRequestException":
                    raise
                found = self._wanted()
                _unless_made(self.athena.create_work_group, "InvalidRequestException", **found)
        self._check(found.get("Configuration") or {})

    def _wanted(self) -> dict[str, Any]:
        return {
            "Name": self.work_group,
            "Description": "Askline's statements",
            "Configuration": {
                "EnforceWorkGroupConfiguration": False,
                "PublishCloudWatchMetricsEnabled": True,
                "BytesScannedCutoffPerQuery": self.scan_limit_mb * _MB,
            },
        }

    def _check(self, configuration: dict[str, Any]) -> None:
        if not configuration.get("BytesScannedCutoffPerQuery"):
            raise ConfigurationError(
                f"Athena work group {self.work_group} does not bound what a statement reads.",
                fix="Give it BytesScannedCutoffPerQuery, or name another group by ASKLINE_ATHENA__WORKGROUP.",
            )
        own = (configuration.get("ResultConfiguration") or {}).get("OutputLocation")
        if configuration.get("EnforceWorkGroupConfiguration") and own and own.rstrip("/") != self.results.rstrip("/"):
            raise ConfigurationError(
                f"Athena work group {self.work_group} keeps results in {own}, not in {self.results}, where Askline"
                " removes them.",
                fix=f"Set ASKLINE_ATHENA__OUTPUT_LOCATION to {own}, or let the group not enforce its configuration.",
            )


def _unless_made(make: Any, code: str, **arguments: Any) -> None:
    """Another process may have made it in between."""
    try:
        make(**arguments)
    except ClientError as error:
        if code_of(error) != code or ("exist" not in str(error).lower() and "created" not in str(error).lower()):
            raise

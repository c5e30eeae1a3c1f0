"""Ask Dagster to start a run right after a commit. Errors are logged and forgotten: the sensors are the guarantee."""

from __future__ import annotations

import logging
import time
from datetime import date
from typing import Any

import httpx

from foundation.settings import DagsterSettings

logger = logging.getLogger(__name__)
_TOGETHER_S = 10.0

_LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchRun(executionParams: $params) { __typename ... on PythonError { message } }
}
"""


class Nudge:
    """Posts launchRun to the Dagster webserver of the settings; does nothing when no URL is set."""

    def __init__(self, settings: DagsterSettings) -> None:
        self._url = settings.url if settings.nudge else None
        self._erased_at = -_TOGETHER_S

    def ingest(self, day: date) -> None:
        config = {"ops": {"raw_files": {"config": {"scope": "pending"}}}}
        self._launch("ingest", config, {"dagster/partition": day.isoformat(), "askline/trigger": "upload"})

    def erase(self) -> None:
        """One run takes all that is deleted when it starts: the first of many asks, for the rest the sensor does."""
        now = time.monotonic()
        if now - self._erased_at < _TOGETHER_S:
            return
        self._erased_at = now
        self._launch("erase_job", {}, {"askline/trigger": "deletion"})

    def _launch(self, job: str, config: dict[str, Any], tags: dict[str, str]) -> None:
        if self._url is None:
            return
        params = {
            "selector": {
                "repositoryLocationName": "askline",
                "repositoryName": "__repository__",
                "jobName": job,
            },
            "runConfigData": config,
            "mode": "default",
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        }
        try:
            response = httpx.post(
                f"{self._url.rstrip('/')}/graphql",
                json={"query": _LAUNCH, "variables": {"params": params}},
                timeout=30,
            )
            outcome = response.json()["data"]["launchRun"]["__typename"]
        except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
            logger.warning("Dagster was not nudged (%s); its sensor starts the run.", type(error).__name__)
            return
        if outcome != "LaunchRunSuccess":
            logger.warning("Dagster refused the nudge (%s); its sensor starts the run.", outcome)

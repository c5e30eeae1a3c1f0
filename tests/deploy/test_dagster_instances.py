"""deploy/dagster: each instance passes Dagster's own schema, down to the config of every class that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config
from dagster._core.workspace.config_schema import process_workspace_config
from dagster_shared.utils.warnings import disable_dagster_warnings

from foundation.settings import Settings
from tests.deploy.dockerfile import ROOT

FOLDER = ROOT / "deploy" / "dagster"
VALUES: dict[str, Any] = yaml.safe_load((FOLDER / "kubernetes" / "values.yaml").read_text(encoding="utf-8"))
ENVIRONMENT = {
    "DAGSTER_LOGS_BUCKET": "bucket",
    "DAGSTER_RUN_TASK_DEFINITION": "askline-run",
    "DAGSTER_CODE_HOST": "code",
    "DAGSTER_PG_PASSWORD": "p",
    "CELERY_BROKER_URL": "redis://redis:6379/1",
    "CELERY_RESULT_BACKEND": "redis://redis:6379/1",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def configurable(config: Any) -> Iterator[Mapping[str, Any]]:
    """Every {module, class, config} of an instance."""
    if isinstance(config, Mapping):
        if {"module", "class"} <= set(config):
            yield config
        else:
            for value in config.values():
                yield from configurable(value)


def validated(folder: Path) -> dict[str, Any]:
    """The instance of a folder. An error of Dagster's for what its schema or that of a class does not know."""
    with disable_dagster_warnings():
        config, _ = dagster_instance_config(str(folder))
    raw = yaml.safe_load((folder / "dagster.yaml").read_text(encoding="utf-8"))
    for named in configurable(raw):
        module = __import__(named["module"], fromlist=[named["class"]])
        kind = getattr(module, named["class"])
        found = process_config(resolve_to_config_type(kind.config_type()), named.get("config") or {})
        assert found.success, (named["class"], [error.message for error in found.errors or ()])
    return dict(config)


@pytest.mark.parametrize("name", ["aws", "celery"])
def test_dagster_takes_the_instance(name: str) -> None:
    config = validated(FOLDER / name)
    assert config["storage"]["custom"]["class"] == "PooledPostgresStorage"
    assert config["run_monitoring"]["enabled"] is True
    assert config["concurrency"]["pools"]["default_limit"] == 1


def test_the_check_sees_a_wrong_field_of_a_class(tmp_path: Path) -> None:
    wrong = yaml.safe_load((FOLDER / "aws" / "dagster.yaml").read_text(encoding="utf-8"))
    wrong["run_launcher"]["config"]["task_definitions"] = "typo"
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(wrong))
    with pytest.raises(AssertionError, match="task_definitions"):
        validated(tmp_path)


def test_a_run_on_aws_is_a_task_whose_output_goes_to_s3() -> None:
    config = validated(FOLDER / "aws")
    assert config["run_launcher"]["class"] == "EcsRunLauncher"
    assert config["compute_logs"]["class"] == "S3ComputeLogManager"


@pytest.mark.parametrize("name", ["celery", "kubernetes"])
def test_redis_hands_out_no_run_twice_while_it_may_run(name: str, tmp_path: Path) -> None:
    folder = FOLDER / name
    if name == "kubernetes":
        folder = tmp_path
        (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(chart_instance(VALUES)))
    config = validated(folder)
    assert config["run_launcher"]["class"] == "WarmRunLauncher"
    options = config["run_launcher"]["config"]["config_source"]["broker_transport_options"]
    assert options["visibility_timeout"] > config["run_monitoring"]["max_runtime_seconds"]


def test_plain_machines_fail_a_run_that_did_not_start_when_the_settings_say_so() -> None:
    assert validated(FOLDER / "celery")["run_monitoring"]["start_timeout_seconds"] == Settings().dagster.start_timeout_s


def test_the_workspace_has_both_code_locations() -> None:
    raw = yaml.safe_load((FOLDER / "workspace.yaml").read_text(encoding="utf-8"))
    assert process_workspace_config(raw).success


def chart_instance(values: Mapping[str, Any]) -> dict[str, Any]:
    """The dagster.yaml that Dagster's chart writes from its values (templates/configmap-instance.yaml)."""
    daemon, launcher = values["dagsterDaemon"], values["runLauncher"]["config"]["customRunLauncher"]
    queue = daemon["runCoordinator"]["config"]["queuedRunCoordinator"]
    logs = values["computeLogManager"]["config"]["s3ComputeLogManager"]
    monitoring, postgres = daemon["runMonitoring"], values["postgresql"]
    return {
        "storage": {
            "postgres": {
                "postgres_db": {
                    "username": postgres["postgresqlUsername"],
                    "password": {"env": "DAGSTER_PG_PASSWORD"},
                    "hostname": postgres["postgresqlHost"],
                    "db_name": postgres["postgresqlDatabase"],
                    "port": postgres["service"]["port"],
                    "params": postgres["postgresqlParams"],
                }
            }
        },
        "run_launcher": launcher,
        "run_coordinator": {
            "module": "dagster._core.run_coordinator",
            "class": "QueuedRunCoordinator",
            "config": {
                name: queue[key]
                for name, key in (
                    ("max_concurrent_runs", "maxConcurrentRuns"),
                    ("dequeue_interval_seconds", "dequeueIntervalSeconds"),
                )
                if queue[key] is not None
            },
        },
        "compute_logs": {
            "module": "dagster_aws.s3.compute_log_manager",
            "class": "S3ComputeLogManager",
            "config": {
                "bucket": logs["bucket"],
                "prefix": logs["prefix"],
                "skip_empty_files": logs["skipEmptyFiles"],
                "upload_interval": logs["uploadInterval"],
            },
        },
        "run_monitoring": {
            "enabled": monitoring["enabled"],
            "start_timeout_seconds": monitoring["startTimeoutSeconds"],
            "cancel_timeout_seconds": monitoring["cancelTimeoutSeconds"],
            "max_runtime_seconds": monitoring["maxRuntimeSeconds"],
            "poll_interval_seconds": monitoring["pollIntervalSeconds"],
        },
        "sensors": {"use_threads": daemon["sensors"]["useThreads"], "num_workers": daemon["sensors"]["numWorkers"]},
        "retention": {
            "sensor": {"purge_after_days": values["retention"]["sensor"]["purgeAfterDays"]},
            "schedule": {"purge_after_days": values["retention"]["schedule"]["purgeAfterDays"]},
        },
        "telemetry": values["telemetry"],
        **values["additionalInstanceConfig"],
    }


def test_dagster_takes_what_its_chart_makes_of_the_values(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(chart_instance(VALUES)))
    assert validated(tmp_path)["concurrency"]["pools"]["default_limit"] == 1


def test_every_pod_of_the_chart_runs_the_pinned_image_and_not_as_root() -> None:
    pods = [VALUES["dagsterWebserver"], VALUES["dagsterDaemon"], *VALUES["dagster-user-deployments"]["deployments"]]
    images = {f"{pod['image']['repository']}:{pod['image']['tag']}" for pod in pods}
    for manifest in VALUES["extraManifests"]:
        if manifest["kind"] == "Deployment":
            spec = manifest["spec"]["template"]["spec"]
            images |= {container["image"] for container in spec["containers"]}
            pods.append({"podSecurityContext": spec["securityContext"]})
    assert len(images) == 1
    assert all(pod["podSecurityContext"]["runAsNonRoot"] for pod in pods)

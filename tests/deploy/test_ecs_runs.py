"""deploy/dagster/aws against moto's ECS: a run becomes a task of the fixed definition, with the rights of the stack."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import boto3
import dagster as dg
import pytest
import yaml
from botocore.client import BaseClient
from dagster._core.launcher import LaunchRunContext, WorkerStatus
from dagster._core.test_utils import instance_for_test

from tests.deploy.dockerfile import ROOT

CLUSTER, FAMILY = "askline", "askline-run"


@dg.op
def nothing() -> None:
    pass


@dg.job
def empty() -> None:
    nothing()


@pytest.fixture
def ecs(aws: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    client: Any = boto3.client("ecs")
    client.create_cluster(clusterName=CLUSTER)
    for family, container in ((FAMILY, "run"), ("askline-daemon", "daemon")):
        client.register_task_definition(
            family=family,
            networkMode="awsvpc",
            requiresCompatibilities=["FARGATE"],
            cpu="512",
            memory="2048",
            containerDefinitions=[{"name": container, "image": "askline:0.1.0", "memory": 2048}],
        )
    return client


@pytest.fixture
def daemon(ecs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The task that we are in, as ECS tells it to those inside."""
    ec2: Any = boto3.client("ec2")
    subnet = ec2.describe_subnets()["Subnets"][0]
    group = ec2.create_security_group(GroupName="pipelines", Description="d", VpcId=subnet["VpcId"])["GroupId"]
    network = {"subnets": [subnet["SubnetId"]], "securityGroups": [group]}
    task = ecs.run_task(
        cluster=CLUSTER,
        taskDefinition="askline-daemon",
        launchType="FARGATE",
        networkConfiguration={"awsvpcConfiguration": network},
    )["tasks"][0]

    class Metadata(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            told = {"Cluster": CLUSTER, "TaskARN": task["taskArn"], "Name": "daemon"}
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ECS_CONTAINER_METADATA_URI_V4", f"http://127.0.0.1:{server.server_port}")
    yield {**network, "taskArn": task["taskArn"]}
    server.shutdown()
    server.server_close()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Actions of AWS that were asked for, as IAM names them."""
    made: set[str] = set()
    real = BaseClient._make_api_call

    def recorded(self: BaseClient, operation: str, arguments: Any) -> Any:
        made.add(f"{self.meta.service_model.endpoint_prefix}:{operation}")
        return real(self, operation, arguments)

    monkeypatch.setattr(BaseClient, "_make_api_call", recorded)
    return made


def test_a_run_is_a_task_beside_the_daemon_and_no_right_is_missing(
    ecs: Any, daemon: dict[str, Any], calls: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAGSTER_RUN_TASK_DEFINITION", FAMILY)
    launcher = yaml.safe_load((ROOT / "deploy/dagster/aws/dagster.yaml").read_text())["run_launcher"]
    with instance_for_test(overrides={"run_launcher": launcher}, temp_dir=str(tmp_path)) as instance:
        origin = dg.reconstructable(empty).get_python_origin()
        run = instance.create_run_for_job(empty, job_code_origin=origin)
        instance.run_launcher.launch_run(LaunchRunContext(dagster_run=run, workspace=None))
        tags = instance.get_run_by_id(run.run_id).tags  # type: ignore[union-attr]
        health = instance.run_launcher.check_run_worker_health(instance.get_run_by_id(run.run_id))
        assert health.status is WorkerStatus.RUNNING
        asked = set(calls)
        assert instance.run_launcher.terminate(run.run_id)
    (task,) = ecs.describe_tasks(cluster=CLUSTER, tasks=[tags["ecs/task_arn"]])["tasks"]
    assert f"/{FAMILY}:" in task["taskDefinitionArn"]
    (override,) = task["overrides"]["containerOverrides"]
    assert override["name"] == "run" and "execute_run" in " ".join(override["command"])
    subnets = [d["value"] for a in task["attachments"] for d in a["details"] if d["name"] == "subnetId"]
    assert subnets == daemon["subnets"]
    # What deploy/cdk/rights.py lets the daemon do; TagResource and PassRole come with RunTask.
    assert asked == {"ecs:DescribeTaskDefinition", "ecs:DescribeTasks", "ecs:RunTask", "ec2:DescribeNetworkInterfaces"}
    assert calls - asked == {"ecs:StopTask"}

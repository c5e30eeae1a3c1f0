"""deploy/cdk: synthesized offline, by cdk-nag's rules, and in step with what the docs and the programs expect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from foundation.adapters.aws import embeddings, image_embeddings
from foundation.settings import Settings
from tests.deploy.dockerfile import ROOT

pytestmark = pytest.mark.slow
cdk = pytest.importorskip("aws_cdk", reason="make deploy-check installs it")
assertions = pytest.importorskip("aws_cdk.assertions")

CONTEXT = {
    "account": "111122223333",
    "region": "eu-central-1",
    "tag": "0.1.0",
    "certificate": "arn:aws:acm:eu-central-1:111122223333:certificate/0a1b",
    "public_url": "https://askline.example.org",
    "clients": "203.0.113.0/24",
    "email": "operations@example.org",
    "budget": "500",
}
Resources = dict[str, dict[str, Any]]


def app_of(folder: Path, **context: str) -> Any:
    return cdk.App(outdir=str(folder), context={**CONTEXT, **context})


def synthesized(folder: Path, **context: str) -> dict[str, Any]:
    """The template. RuntimeError where cdk-nag finds something."""
    from deploy.cdk.app import make

    app = app_of(folder, **context)
    made = make(app)
    found: dict[str, Any] = app.synth().get_stack_by_name(made.stack_name).template
    return found


@pytest.fixture(scope="module", autouse=True)
def _quiet_node() -> Iterator[None]:
    """The CDK's runtime is loud about the age of Node.js."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")
        patch.setenv("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")
        yield


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return synthesized(tmp_path_factory.mktemp("cdk"))


def of_type(template: dict[str, Any], kind: str) -> Resources:
    return {name: r["Properties"] for name, r in template["Resources"].items() if r["Type"] == f"AWS::{kind}"}


def the_one(template: dict[str, Any], kind: str, part: str = "") -> tuple[str, dict[str, Any]]:
    ((name, found),) = [(n, p) for n, p in of_type(template, kind).items() if part in n]
    return name, found


def statements(template: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Of a program's role."""
    kinds = ("IAM::Policy", "IAM::ManagedPolicy")
    policies = [p for kind in kinds for n, p in of_type(template, kind).items() if n.startswith(f"Programs{role}Role")]
    return [one for policy in policies for one in policy["PolicyDocument"]["Statement"]]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_the_template_is_the_one_that_was_reviewed(template: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert template == snapshot.use_extension(JSONSnapshotExtension)


@pytest.mark.parametrize("size", ["medium", "large"])
def test_every_size_keeps_the_rules(size: str, tmp_path: Path) -> None:
    domain = the_one(synthesized(tmp_path, size=size), "OpenSearchService::Domain")[1]
    assert domain["ClusterConfig"]["DedicatedMasterEnabled"] is True


def test_what_breaks_a_rule_without_a_reason_is_not_synthesized(tmp_path: Path) -> None:
    from aws_cdk import aws_sqs

    from deploy.cdk.app import make

    app = app_of(tmp_path)
    aws_sqs.Queue(make(app), "Careless")
    with pytest.raises(RuntimeError, match="AwsSolutions-SQS3"):
        app.synth()


def test_nothing_in_it_waits_for_itself(tmp_path: Path) -> None:
    from deploy.cdk.options import read
    from deploy.cdk.stack import Askline

    app = app_of(tmp_path)
    # It refuses a template whose resources depend on each other in a circle.
    assertions.Template.from_stack(Askline(app, read(app.node.try_get_context)))


def test_the_first_deployment_starts_no_program(tmp_path: Path) -> None:
    services = of_type(synthesized(tmp_path, started="false"), "ECS::Service")
    assert {service["DesiredCount"] for service in services.values()} == {0}


def test_only_the_query_service_is_behind_the_balancer(template: dict[str, Any]) -> None:
    balanced = {n for n, service in of_type(template, "ECS::Service").items() if service.get("LoadBalancers")}
    assert {name.split("Service")[0] for name in balanced} == {"ProgramsQuery"}
    assert the_one(template, "ElasticLoadBalancingV2::Listener")[1]["Port"] == 443
    the_one(template, "ElasticLoadBalancingV2::TargetGroup")


def test_dagsters_page_is_reached_by_the_service_and_the_operator_only(template: dict[str, Any]) -> None:
    webserver, group = the_one(template, "EC2::SecurityGroup", "NetworkWebserver")
    rules = of_type(template, "EC2::SecurityGroupIngress").values()
    callers = {r["SourceSecurityGroupId"]["Fn::GetAtt"][0] for r in rules if r["GroupId"]["Fn::GetAtt"][0] == webserver}
    assert "SecurityGroupIngress" not in group
    assert {caller[: -len("12345678")] for caller in callers} == {"NetworkQuery", "NetworkOperator"}


def test_addresses_outside_reach_the_balancer_only_and_by_the_named_ranges(template: dict[str, Any]) -> None:
    outside = {
        n: g["SecurityGroupIngress"]
        for n, g in of_type(template, "EC2::SecurityGroup").items()
        if "SecurityGroupIngress" in g
    }
    ((name, rules),) = outside.items()
    assert name.startswith("NetworkEntrance") and [rule["CidrIp"] for rule in rules] == ["203.0.113.0/24"]
    assert all("CidrIp" not in rule for rule in of_type(template, "EC2::SecurityGroupIngress").values())
    assert the_one(template, "RDS::DBInstance")[1]["PubliclyAccessible"] is False


def test_models_are_named_one_by_one_and_are_those_that_the_adapter_calls(template: dict[str, Any]) -> None:
    from deploy.cdk.environment import EMBEDDING_MODEL
    from deploy.cdk.rights import MODEL_IDS

    called = [embeddings.MODEL_ID, image_embeddings.MODEL_ID]
    assert EMBEDDING_MODEL in embeddings.MODELS and list(MODEL_IDS) == called
    every = [s for policy in of_type(template, "IAM::Policy").values() for s in policy["PolicyDocument"]["Statement"]]
    calls = [s for s in every if any(str(action).startswith("bedrock:") for action in listed(s["Action"]))]
    assert calls
    for statement in calls:
        assert statement["Action"] == "bedrock:InvokeModel"
        assert re.findall(r"foundation-model/([^']+)", str(statement["Resource"])) == called


def test_no_role_has_all_actions_of_a_service(template: dict[str, Any]) -> None:
    of_roles = [p for n, p in of_type(template, "IAM::Policy").items()]
    actions = [a for p in of_roles for s in p["PolicyDocument"]["Statement"] for a in listed(s["Action"])]
    assert actions and [action for action in actions if "*" in action] == []


@pytest.mark.parametrize(
    ("action", "roles"),
    [
        ("s3:DeleteObjectVersion", {"Query", "Operator", "Run"}),  # Query and Operator: Athena's results
        ("es:ESHttpDelete", {"Run"}),
        ("sqs:DeleteMessage", {"Code", "Run"}),
        ("glue:CreateTable", {"Run"}),
        ("bedrock:InvokeModel", {"Query", "Operator", "Run"}),
        ("ecs:RunTask", {"Daemon"}),
        ("iam:PassRole", {"Daemon"}),
        ("ssmmessages:OpenDataChannel", {"Operator"}),
        ("rds-db:connect", {"Query", "Operator", "Run", "Code", "Daemon", "Webserver"}),
    ],
)
def test_each_program_may_do_what_it_does_and_no_more(template: dict[str, Any], action: str, roles: set[str]) -> None:
    programs = ("Run", "Code", "Daemon", "Webserver", "Query", "Operator", "DatabaseSetup")
    may = {p for p in programs if any(action in listed(s["Action"]) for s in statements(template, p))}
    assert may == roles


def test_a_run_may_do_everything_that_the_doctor_tries(template: dict[str, Any]) -> None:
    source = (ROOT / "foundation" / "adapters" / "aws" / "permissions.py").read_text(encoding="utf-8")
    tried = set(re.findall(r'"((?:s3|sqs|glue|athena|bedrock|es):[A-Z]\w+)"', source))
    allowed = {action for statement in statements(template, "Run") for action in listed(statement["Action"])}
    # The stack has made the databases, so that nobody else needs to.
    assert tried and tried - allowed == {"glue:CreateDatabase"}


def test_the_domain_itself_lets_nobody_do_more_than_their_roles(template: dict[str, Any]) -> None:
    for statement in the_one(template, "OpenSearchService::Domain")[1]["AccessPolicies"]["Statement"]:
        for principal in listed(statement["Principal"]["AWS"]):
            program = re.fullmatch(r"Programs(\w+)Role[0-9A-F]{8}", principal["Fn::GetAtt"][0])
            assert program
            allowed = {action for s in statements(template, program[1]) for action in listed(s["Action"])}
            assert set(listed(statement["Action"])) <= allowed


def test_only_runs_remove_versions_of_documents(template: dict[str, Any]) -> None:
    def removes(role: str) -> str:
        found = [s["Resource"] for s in statements(template, role) if "s3:DeleteObjectVersion" in listed(s["Action"])]
        return str(found)

    assert "/landing/*" in removes("Run")
    assert "/landing/*" not in removes("Query") and "/athena/*" in removes("Query")


def test_the_task_with_the_masters_password_may_do_nothing_else(template: dict[str, Any]) -> None:
    assert statements(template, "DatabaseSetup") == []
    holders = [
        container["Name"]
        for definition in of_type(template, "ECS::TaskDefinition").values()
        for container in definition["ContainerDefinitions"]
        if any(secret["Name"] == "PGPASSWORD" for secret in container.get("Secrets", []))
    ]
    assert holders == ["setup"]


def test_every_setting_of_a_program_exists_and_is_taken(
    template: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    for name in [name for name in os.environ if name.startswith("ASKLINE_")]:
        monkeypatch.delenv(name)
    secret = {"ASKLINE_REDIS__URL": "rediss://:p@h:6380/0"}
    for definition in of_type(template, "ECS::TaskDefinition").values():
        for container in definition["ContainerDefinitions"]:
            given = {one["Name"]: one["Value"] for one in container.get("Environment", [])}
            given |= {one["Name"]: secret.get(one["Name"], "p") for one in container.get("Secrets", [])}
            with monkeypatch.context() as patch:
                for name, value in given.items():
                    plain = value if isinstance(value, str) else "postgresql://u@h:5433/d" if "URL" in name else "x"
                    patch.setenv(name, plain)
                settings = Settings()
            if container["Name"] == "setup":
                continue
            assert settings.profile == "aws" and settings.database.iam and settings.s3.bucket
            for name in (name for name in given if name.startswith("ASKLINE_")):
                group, _, field = name.removeprefix("ASKLINE_").lower().partition("__")
                assert group in Settings.model_fields and (not field or hasattr(getattr(settings, group), field)), name


def test_a_task_may_take_as_long_to_begin_its_run_as_dagster_gives_it() -> None:
    from deploy.cdk.environment import START_TIMEOUT_S

    instance = yaml.safe_load((ROOT / "deploy" / "dagster" / "aws" / "dagster.yaml").read_text(encoding="utf-8"))
    assert instance["run_monitoring"]["start_timeout_seconds"] == START_TIMEOUT_S


def test_commands_of_the_page_name_what_the_stack_has(template: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "aws.md").read_text(encoding="utf-8")
    families = {definition["Family"] for definition in of_type(template, "ECS::TaskDefinition").values()}
    named = set(re.findall(r"--task-definition ([\w-]+)", page))
    assert named and named <= families
    assert set(re.findall(r"\$\(output (\w+)\)", page)) <= set(template["Outputs"])


def test_the_work_group_bounds_a_statement_and_leaves_the_place_of_results_to_us(template: dict[str, Any]) -> None:
    group = the_one(template, "Athena::WorkGroup")[1]["WorkGroupConfiguration"]
    assert group["BytesScannedCutoffPerQuery"] == Settings().athena.scan_limit_mb * 1_000_000
    assert group["EnforceWorkGroupConfiguration"] is False
    assert "OutputLocation" not in group["ResultConfiguration"]


def test_what_arrives_in_the_landing_folder_reaches_the_queue_and_fails_into_dead_letters(
    template: dict[str, Any],
) -> None:
    rule = the_one(template, "Events::Rule")[1]
    assert rule["EventPattern"]["detail"]["object"]["key"] == [{"prefix": Settings().s3.landing_prefix}]
    queue, arrivals = the_one(template, "SQS::Queue", "Arrivals")
    assert rule["Targets"][0]["Arn"] == {"Fn::GetAtt": [queue, "Arn"]}
    dead = arrivals["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
    watched = [a["Dimensions"] for n, a in of_type(template, "CloudWatch::Alarm").items() if "DeadLetters" in n]
    assert dead in str(watched)
    assert arrivals["VisibilityTimeout"] >= Settings().sqs.visibility_s


def test_what_runs_print_is_deleted_for_good(template: dict[str, Any]) -> None:
    name, bucket = the_one(template, "S3::Bucket", "RunLogs")
    assert "VersioningConfiguration" not in bucket
    removes = [s["Resource"] for s in statements(template, "Run") if "s3:DeleteObject" in listed(s["Action"])]
    assert name in str(removes)
    held = [
        one["Value"]
        for definition in of_type(template, "ECS::TaskDefinition").values()
        for container in definition["ContainerDefinitions"]
        for one in container.get("Environment", [])
        if one["Name"] == "DAGSTER_LOGS_BUCKET"
    ]
    assert held and all(value == {"Ref": name} for value in held)


def test_logs_are_kept_for_a_month_and_encrypted(template: dict[str, Any]) -> None:
    groups = of_type(template, "Logs::LogGroup")
    assert groups and all(g["RetentionInDays"] == 30 and "KmsKeyId" in g for g in groups.values())


def test_money_has_a_limit_that_somebody_is_told_of(template: dict[str, Any]) -> None:
    budget = the_one(template, "Budgets::Budget")[1]
    assert budget["Budget"]["BudgetLimit"] == {"Amount": 500, "Unit": "USD"}
    told = [one["Subscribers"][0]["Address"] for one in budget["NotificationsWithSubscribers"]]
    assert set(told) == {CONTEXT["email"]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"certificate": ""}, "-c certificate="),
        ({"size": "huge"}, "none of small, medium, large"),
        ({"budget": "much"}, "whole number"),
        ({"clients": "0.0.0.0/0"}, "everybody"),
    ],
)
def test_what_is_chosen_wrongly_is_named(wrong: dict[str, str], message: str) -> None:
    from deploy.cdk.options import read

    with pytest.raises(ValueError, match=message):
        read({**CONTEXT, **wrong}.get)

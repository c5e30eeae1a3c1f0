"""What a role may do, a statement for each thing that a program does; programs.py says which program does what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs

from deploy.cdk.database import OWNER, READER, Database
from deploy.cdk.exceptions import accept, spelled
from deploy.cdk.options import Options
from deploy.cdk.search import NAME as DOMAIN
from deploy.cdk.storage import BUILDS, DERIVED, RESULTS, Storage
from deploy.cdk.warehouse import DATABASE, SCHEMAS, WORK_GROUP

MODEL_IDS = ("amazon.titan-embed-text-v2:0", "amazon.titan-embed-image-v1")
"""The models that may be called, and no others."""
CLUSTER = "askline"
_OBJECTS = "The objects below one prefix of one bucket; their names are those of people's files."
_OUTPUT = "What runs print; it is named after their ids."
_DOMAIN = "The paths of one domain; the names of its indexes come from model and chunker."
_TABLES = "The tables of Askline's own databases, named after the content that they hold."
_FAMILY = "Every revision of one family: a deployment makes a new one."
_TASKS = "The tasks of one cluster; their ids are made by ECS."
_CATALOG = "Who lists databases is asked for the right on all of them; it shows names."
_NO_RESOURCE = "These actions know no resource."


@dataclass(frozen=True)
class Right:
    """`why`: the reason for a resource that ends with *."""

    statement: iam.PolicyStatement
    why: str = ""


Statements = list[Right]


def allow(actions: Sequence[str], *resources: str, why: str = "", **conditions: Mapping[str, object]) -> Right:
    return Right(
        iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=conditions or None), why
    )


def give(role: iam.Role, rights: Statements) -> None:
    """Each right to the role, and to cdk-nag the reasons for wildcards."""
    reasons: dict[str, str] = {}
    for right in rights:
        role.add_to_policy(right.statement)
        if right.why:
            resources = [spelled(role, resource) for resource in right.statement.resources]
            reasons |= {resource: right.why for resource in resources if "*" in resource}
    for resource, why in reasons.items():
        accept(role, f"IAM5[Resource::{resource}]", why)


@dataclass(frozen=True)
class Rights:
    options: Options
    storage: Storage
    database: Database
    key: kms.IKey

    def registry(self, *roles: str) -> Statements:
        """Log in to Postgres with a token."""
        return [allow(["rds-db:connect"], *(self.database.user_arn(role) for role in roles or (OWNER, READER)))]

    def read_objects(self, *prefixes: str) -> Statements:
        return [
            *self._list(prefixes),
            allow(["s3:GetObject", "s3:GetObjectVersion"], *self._objects(prefixes), why=_OBJECTS),
            self._decrypt(),
        ]

    def list_everything(self) -> Statements:
        """Names in the whole bucket, for a role to which every folder of it is open anyway."""
        actions = ("ListBucket", "ListBucketVersions", "ListBucketMultipartUploads")
        return [allow([f"s3:{action}" for action in actions], self.storage.bucket.bucket_arn)]

    def write_objects(self, *prefixes: str) -> Statements:
        return [
            allow(
                ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"],
                *self._objects(prefixes),
                why=_OBJECTS,
            ),
            self._encrypt(),
        ]

    def purge_objects(self, *prefixes: str) -> Statements:
        """Every version and delete marker, as an erasure must."""
        return [allow(["s3:DeleteObject", "s3:DeleteObjectVersion"], *self._objects(prefixes), why=_OBJECTS)]

    def arrivals(self) -> Statements:
        actions = ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes")
        return [allow([f"sqs:{action}" for action in actions], self.storage.queue.queue_arn)]

    def search(self, *methods: str) -> Statements:
        """HTTP methods on the domain. A bulk and a search are both POSTs, and a bulk names its index in the body."""
        return [
            allow([f"es:ESHttp{method}" for method in methods], f"{self._arn('es', 'domain', DOMAIN)}/*", why=_DOMAIN)
        ]

    def embed(self) -> Statements:
        models = [
            f"arn:{cdk.Aws.PARTITION}:bedrock:{self.options.region}::foundation-model/{name}" for name in MODEL_IDS
        ]
        return [allow(["bedrock:InvokeModel"], *models)]

    def ask_tables(self) -> Statements:
        """SELECTs of the work group over Glue's tables; the results are read once and removed."""
        athena = ("GetWorkGroup", "StartQueryExecution", "StopQueryExecution", "GetQueryExecution", "GetQueryResults")
        glue = ("GetDatabase", "GetDatabases", "GetTable", "GetTables", "GetPartition", "GetPartitions")
        return [
            allow([f"athena:{action}" for action in athena], self._arn("athena", "workgroup", WORK_GROUP)),
            allow([f"glue:{action}" for action in glue], *self._catalog(DATABASE), why=_TABLES),
            # Athena looks there in every query.
            allow(["glue:GetDatabase"], self._glue("catalog"), self._arn("glue", "database", "default")),
            *self.read_objects(DERIVED, RESULTS),
            *self.write_objects(RESULTS),
            *self.purge_objects(RESULTS),
        ]

    def build_tables(self) -> Statements:
        """What loads tables and runs dbt: everything in its own databases, and in none beside them."""
        tables = ("CreateTable", "UpdateTable", "DeleteTable", "BatchDeleteTable", "GetTableVersions")
        databases = (DATABASE, *(f"{DATABASE}_{schema}" for schema in SCHEMAS))
        reads = ("GetDatabase", "GetDatabases", "GetTable", "GetTables", "GetPartition", "GetPartitions")
        return [
            allow([f"glue:{action}" for action in (*reads, *tables)], *self._catalog(*databases), why=_TABLES),
            allow(["glue:GetDatabases"], self._glue("catalog"), self._arn("glue", "database", "*"), why=_CATALOG),
            # dbt-athena asks which kind of catalog it works in.
            allow(["athena:GetDataCatalog"], self._arn("athena", "datacatalog", "awsdatacatalog")),
            *self.read_objects(BUILDS),
            *self.write_objects(BUILDS),
            *self.purge_objects(BUILDS),
        ]

    def read_run_logs(self) -> Statements:
        bucket = self.storage.run_logs
        return [
            allow(["s3:ListBucket"], bucket.bucket_arn),
            allow(["s3:GetObject"], bucket.arn_for_objects("*"), why=_OUTPUT),
            self._decrypt(),
        ]

    def write_run_logs(self) -> Statements:
        """And remove them: an erasure takes the output of runs that worked on the document."""
        everything = self.storage.run_logs.arn_for_objects("*")
        return [*self.read_run_logs(), allow(["s3:PutObject", "s3:DeleteObject"], everything, why=_OUTPUT)]

    def launch_runs(self, family: str, roles: Sequence[str], output: logs.ILogGroup) -> Statements:
        """Start runs as tasks of one family, with its roles and no others."""
        tag = allow(["ecs:TagResource"], self._tasks(), why=_TASKS, StringEquals={"ecs:CreateAction": "RunTask"})
        return [
            allow(
                ["ecs:RunTask"], self._arn("ecs", "task-definition", f"{family}:*"), why=_FAMILY, **self._in_cluster()
            ),
            tag,
            allow(["iam:PassRole"], *roles, StringEquals={"iam:PassedToService": "ecs-tasks.amazonaws.com"}),
            allow(["logs:GetLogEvents"], output.log_group_arn),
            *self.stop_runs(),
        ]

    def stop_runs(self) -> Statements:
        return [
            allow(["ecs:DescribeTasks", "ecs:StopTask"], self._tasks(), why=_TASKS, **self._in_cluster()),
            allow(["ecs:DescribeTaskDefinition", "ec2:DescribeNetworkInterfaces"], "*", why=_NO_RESOURCE),
        ]

    def be_entered(self) -> Statements:
        """ECS Exec: a shell in the task, and its tunnels."""
        channels = ("CreateControlChannel", "CreateDataChannel", "OpenControlChannel", "OpenDataChannel")
        return [allow([f"ssmmessages:{action}" for action in channels], "*", why=_NO_RESOURCE)]

    def _tasks(self) -> str:
        return self._arn("ecs", "task", f"{CLUSTER}/*")

    def _in_cluster(self) -> dict[str, dict[str, object]]:
        return {"ArnEquals": {"ecs:cluster": self._arn("ecs", "cluster", CLUSTER)}}

    def _list(self, prefixes: Sequence[str]) -> Statements:
        bucket = self.storage.bucket.bucket_arn
        inside = {"s3:prefix": [f"{prefix}*" for prefix in prefixes]}
        return [
            allow(["s3:GetBucketVersioning", "s3:GetBucketLocation"], bucket),
            allow(["s3:ListBucket", "s3:ListBucketVersions"], bucket, StringLike=inside),
        ]

    def _objects(self, prefixes: Sequence[str]) -> list[str]:
        return [self.storage.bucket.arn_for_objects(f"{prefix}*") for prefix in prefixes]

    def _decrypt(self) -> Right:
        return allow(["kms:Decrypt"], self.key.key_arn)

    def _encrypt(self) -> Right:
        return allow(["kms:GenerateDataKey"], self.key.key_arn)

    def _catalog(self, *databases: str) -> list[str]:
        tables = [f"{self._arn('glue', 'table', name)}/*" for name in databases]
        return [self._glue("catalog"), *(self._arn("glue", "database", name) for name in databases), *tables]

    def _glue(self, resource: str) -> str:
        return f"arn:{cdk.Aws.PARTITION}:glue:{self.options.region}:{self.options.account}:{resource}"

    def _arn(self, service: str, kind: str, name: str) -> str:
        return f"arn:{cdk.Aws.PARTITION}:{service}:{self.options.region}:{self.options.account}:{kind}/{name}"

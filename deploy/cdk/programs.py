"""The programs as ECS tasks and services, each with a role of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_servicediscovery as discovery
from constructs import Construct

from deploy.cdk.database import Database
from deploy.cdk.environment import CODE_HOST, NAMESPACE, WEBSERVER_HOST, Places, dagster, settings
from deploy.cdk.network import CODE_PORTS, DAGSTER_PORT, DATABASE_PORT, QUERY_PORT, Network
from deploy.cdk.options import Options
from deploy.cdk.rights import CLUSTER, Rights, Statements
from deploy.cdk.storage import BUILDS, DERIVED, LANDING, RESULTS
from deploy.cdk.task import Task, TaskSize

WORKSPACE = "/app/deploy/dagster/workspace.yaml"
_SMALL = TaskSize(512, 2048)


@dataclass(frozen=True)
class Surroundings:
    """What the programs are put into."""

    network: Network
    database: Database
    rights: Rights
    places: Places
    cache_url: secretsmanager.ISecret
    key: kms.IKey


class Programs(Construct):
    """`query`: the service that the load balancer is put before. `searching`, `removing`: who uses OpenSearch."""

    def __init__(self, scope: Construct, options: Options, around: Surroundings) -> None:
        super().__init__(scope, "Programs")
        self._options, self._around = options, around
        network, rights = around.network, around.rights
        repository = ecr.Repository.from_repository_name(self, "Repository", options.repository)
        self._image = ecs.ContainerImage.from_ecr_repository(repository, options.tag)
        self.cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=CLUSTER,
            vpc=network.vpc,
            container_insights_v2=ecs.ContainerInsights.ENABLED,
            default_cloud_map_namespace=ecs.CloudMapNamespaceOptions(name=NAMESPACE, vpc=network.vpc),
        )
        common = settings(options, around.places)
        cache = {"ASKLINE_REDIS__URL": ecs.Secret.from_secrets_manager(around.cache_url)}
        size = options.size

        run = self._task("Run", TaskSize(size.run_cpu, size.run_memory, disk=60), self._of_runs())
        instance = dagster(common, run.family, rights.storage.run_logs.bucket_name)
        # The launcher gives the command.
        run.add("run", ["python", "--version"], instance, secrets=cache)

        code = self._task(
            "Code",
            TaskSize(1024, 4096),
            [*rights.registry(), *rights.read_objects(LANDING), *rights.arrivals(), *rights.search(*_READ, *_WRITE)],
        )
        locations = {"askline": "pipelines.definitions", "transform": "pipelines.transform.definitions"}
        for port, (name, module) in zip(CODE_PORTS, locations.items(), strict=True):
            code.add(name, _grpc(name, module, port), instance, port, health=_grpc_health(port))
        self._service(code, network.pipelines, 1, CODE_HOST)

        daemon = self._task(
            "Daemon",
            _SMALL,
            [
                *rights.registry(),
                *rights.launch_runs(run.family, [run.role.role_arn, run.execution_role.role_arn], run.output),
            ],
        )
        daemon.add("daemon", ["python", "-m", "dagster._daemon", "run", "-w", WORKSPACE], instance)
        self._service(daemon, network.pipelines, 1)

        webserver = self._task(
            "Webserver",
            _SMALL,
            [*rights.registry(), *rights.read_run_logs(), *rights.stop_runs()],
        )
        serve = ["python", "-m", "dagster_webserver", "-h", "0.0.0.0", "-p", str(DAGSTER_PORT), "-w", WORKSPACE]
        webserver.add("webserver", serve, instance, DAGSTER_PORT)
        self._service(webserver, network.webserver, 1, WEBSERVER_HOST)

        query = self._task("Query", TaskSize(size.query_cpu, size.query_memory), self._of_queries())
        outside = {**common, "ASKLINE_SERVICE__HOST": "0.0.0.0"}
        query.add("query", ["python", "-m", "query_service.app"], outside, QUERY_PORT, secrets=cache)
        self.query = self._service(query, network.query, size.query_tasks)

        # For whoever operates it: a query service on loopback, for the command line in the same task.
        operator = self._task("Operator", _SMALL, [*self._of_queries(), *rights.be_entered()])
        inside = {**common, "ASKLINE_SERVICE__HOST": "127.0.0.1"}
        operator.add("operator", ["python", "-m", "query_service.app"], inside, secrets=cache)
        self._set_up_database()
        self.searching, self.removing = [task.role for task in (run, code, query, operator)], run.role

    def _of_queries(self) -> Statements:
        rights = self._around.rights
        return [
            *rights.registry(),
            *rights.read_objects(LANDING, DERIVED),
            *rights.write_objects(LANDING),
            *rights.search(*_READ, *_WRITE),
            *rights.embed(),
            *rights.ask_tables(),
        ]

    def _of_runs(self) -> Statements:
        rights = self._around.rights
        everywhere = (LANDING, DERIVED, RESULTS, BUILDS)
        return [
            *rights.registry(),
            *rights.list_everything(),
            *rights.read_objects(*everywhere),
            *rights.write_objects(*everywhere),
            *rights.purge_objects(*everywhere),
            *rights.write_run_logs(),
            *rights.arrivals(),
            *rights.search(*_READ, *_WRITE, "Delete"),
            *rights.embed(),
            *rights.ask_tables(),
            *rights.build_tables(),
        ]

    def _set_up_database(self) -> None:
        """A task that runs once, with the master's password; its own role may do nothing."""
        database = self._around.database
        task = self._task("DatabaseSetup", TaskSize(256, 1024), [])
        task.add(
            "setup",
            ["python", "deploy/database_setup.py"],
            {
                "PGHOST": database.host,
                "PGPORT": str(DATABASE_PORT),
                "PGSSLMODE": "verify-full",
                "PGSSLROOTCERT": "/etc/ssl/certs/rds.pem",
            },
            secrets={
                "PGUSER": ecs.Secret.from_secrets_manager(database.master, "username"),
                "PGPASSWORD": ecs.Secret.from_secrets_manager(database.master, "password"),
            },
        )

    def _task(self, name: str, size: TaskSize, statements: Statements) -> Task:
        return Task(self, name, size, statements, self._image, self._around.key)

    def _service(self, task: Task, group: ec2.SecurityGroup, count: int, host: str | None = None) -> ecs.FargateService:
        return ecs.FargateService(
            self,
            f"{task.node.id}Service",
            cluster=self.cluster,
            task_definition=task.definition,
            desired_count=count if self._options.started else 0,
            security_groups=[group],
            vpc_subnets=ec2.SubnetSelection(subnet_group_name="program"),
            assign_public_ip=False,
            # A new version that does not come up is taken back.
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            # Of daemon, webserver and code location one at a time: two daemons would both start runs.
            min_healthy_percent=100 if task.node.id == "Query" else 0,
            max_healthy_percent=200 if task.node.id == "Query" else 100,
            cloud_map_options=ecs.CloudMapOptions(name=host, dns_record_type=discovery.DnsRecordType.A)
            if host
            else None,
        )


_READ = ("Get", "Head", "Post")
_WRITE = ("Put",)


def _grpc(name: str, module: str, port: int) -> list[str]:
    call = ["python", "-m", "dagster", "api", "grpc", "-h", "0.0.0.0", "-p", str(port)]
    return [*call, "-m", module, "--location-name", name]


def _grpc_health(port: int) -> Sequence[str]:
    return ["CMD", "python", "-m", "dagster", "api", "grpc-health-check", "-p", str(port)]

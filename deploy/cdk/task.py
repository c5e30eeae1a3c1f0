"""An ECS task definition with a role, an execution role and a log group of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from deploy.cdk.exceptions import accept
from deploy.cdk.network import LOG_DAYS
from deploy.cdk.rights import Statements, give


@dataclass(frozen=True)
class TaskSize:
    """CPU in 1/1024 of a vCPU, memory in MiB, the disk in GiB."""

    cpu: int
    memory: int
    disk: int = 21


class Task(Construct):
    def __init__(
        self,
        scope: Construct,
        name: str,
        size: TaskSize,
        rights: Statements,
        image: ecs.ContainerImage,
        key: kms.IKey,
    ) -> None:
        super().__init__(scope, name)
        self._image = image
        self.family = f"askline-{_dashed(name)}"
        principal = iam.ServicePrincipal("ecs-tasks.amazonaws.com")
        self.role = iam.Role(self, "Role", assumed_by=principal, description=f"What Askline's {name} may do")
        self.execution_role = iam.Role(self, "Execution", assumed_by=principal, description=f"Starts Askline's {name}")
        give(self.role, rights)
        self.output = logs.LogGroup(
            self, "Output", retention=LOG_DAYS, encryption_key=key, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        self.definition = ecs.FargateTaskDefinition(
            self,
            "Definition",
            family=self.family,
            cpu=size.cpu,
            memory_limit_mib=size.memory,
            ephemeral_storage_gib=size.disk,
            task_role=self.role,
            execution_role=self.execution_role,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.X86_64, operating_system_family=ecs.OperatingSystemFamily.LINUX
            ),
        )
        accept(self.definition, "ECS2", "They are settings. Passwords come out of Secrets Manager or are IAM's tokens.")
        accept(self.execution_role, "IAM5[Resource::*]", "ecr:GetAuthorizationToken knows no resource.")

    def add(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        port: int | None = None,
        *,
        secrets: Mapping[str, ecs.Secret] | None = None,
        health: Sequence[str] | None = None,
    ) -> ecs.ContainerDefinition:
        return self.definition.add_container(
            name,
            container_name=name,
            image=self._image,
            command=list(command),
            environment=dict(environment),
            secrets=dict(secrets or {}),
            port_mappings=[ecs.PortMapping(container_port=port)] if port else None,
            logging=ecs.LogDrivers.aws_logs(stream_prefix=name, log_group=self.output),
            health_check=ecs.HealthCheck(
                command=list(health),
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(10),
                start_period=cdk.Duration.seconds(120),
            )
            if health
            else None,
            stop_timeout=cdk.Duration.seconds(120),
            linux_parameters=ecs.LinuxParameters(self, f"{name}Linux", init_process_enabled=True),
        )


def _dashed(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")

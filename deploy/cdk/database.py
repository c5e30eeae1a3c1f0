"""RDS for Postgres: the registry, the graph, the copies of tables, Dagster's runs and events."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from deploy.cdk.network import DATABASE_PORT, Network
from deploy.cdk.options import Options

NAME, OWNER, READER = "askline", "askline", "askline_reader"
"""The database and the roles that deploy/database_setup.py makes. Both roles log in with tokens of IAM."""


class Database(Construct):
    def __init__(self, scope: Construct, options: Options, network: Network, key: kms.IKey) -> None:
        super().__init__(scope, "Database")
        subnets = rds.CfnDBSubnetGroup(
            self,
            "Subnets",
            db_subnet_group_description="Askline's Postgres",
            subnet_ids=network.vpc.select_subnets(subnet_group_name="server").subnet_ids,
        )
        parameters = rds.CfnDBParameterGroup(
            self,
            "Parameters",
            family="postgres18",
            description="TLS for everyone",
            parameters={"rds.force_ssl": "1", "log_min_duration_statement": "2000"},
        )
        # As it comes from CloudFormation: RDS makes the master's password and renews it, without a Lambda of ours.
        self.instance = rds.CfnDBInstance(
            self,
            "Instance",
            engine="postgres",
            engine_version="18.1",  # the major version of the embedded server
            auto_minor_version_upgrade=True,
            db_instance_class=f"db.{options.size.database_instance}",
            allocated_storage=str(options.size.database_disk),
            max_allocated_storage=options.size.database_disk * 4,
            storage_type="gp3",
            storage_encrypted=True,
            kms_key_id=key.key_arn,
            multi_az=True,
            port=str(DATABASE_PORT),
            db_subnet_group_name=subnets.ref,
            vpc_security_groups=[network.database.security_group_id],
            publicly_accessible=False,
            db_parameter_group_name=parameters.ref,
            enable_iam_database_authentication=True,
            master_username="master_of_askline",
            manage_master_user_password=True,
            master_user_secret=rds.CfnDBInstance.MasterUserSecretProperty(kms_key_id=key.key_arn),
            backup_retention_period=14,
            copy_tags_to_snapshot=True,
            deletion_protection=True,
            enable_performance_insights=True,
            performance_insights_kms_key_id=key.key_arn,
            enable_cloudwatch_logs_exports=["postgresql", "upgrade"],
        )
        self.instance.apply_removal_policy(cdk.RemovalPolicy.SNAPSHOT)
        self.host = self.instance.attr_endpoint_address
        self.url = f"postgresql://{OWNER}@{self.host}:{DATABASE_PORT}/{NAME}"
        self.master = secretsmanager.Secret.from_secret_attributes(
            self, "Master", secret_complete_arn=self.instance.attr_master_user_secret_secret_arn, encryption_key=key
        )

    def user_arn(self, role: str) -> str:
        """What `rds-db:connect` is allowed on."""
        return cdk.Stack.of(self).format_arn(
            service="rds-db",
            resource="dbuser",
            resource_name=f"{self.instance.attr_dbi_resource_id}/{role}",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

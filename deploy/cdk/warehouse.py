"""Glue's databases and Athena's work group."""

from __future__ import annotations

from aws_cdk import aws_athena as athena
from aws_cdk import aws_glue as glue
from aws_cdk import aws_kms as kms
from constructs import Construct

from deploy.cdk.options import Options

DATABASE = WORK_GROUP = "askline"
SCHEMAS = ("sources", "staging", "marts")
"""dbt's, each a database `askline_…`; made here, so that no role needs the right to make databases."""
SCAN_LIMIT_MB = 10_000


class Warehouse(Construct):
    def __init__(self, scope: Construct, options: Options, key: kms.IKey) -> None:
        super().__init__(scope, "Warehouse")
        for name in (DATABASE, *(f"{DATABASE}_{schema}" for schema in SCHEMAS)):
            glue.CfnDatabase(
                self,
                name.replace("_", " ").title().replace(" ", ""),
                catalog_id=options.account,
                database_input=glue.CfnDatabase.DatabaseInputProperty(name=name, description="Askline's typed tables"),
            )
        athena.CfnWorkGroup(
            self,
            "WorkGroup",
            name=WORK_GROUP,
            description="Askline's statements",
            work_group_configuration=athena.CfnWorkGroup.WorkGroupConfigurationProperty(
                bytes_scanned_cutoff_per_query=SCAN_LIMIT_MB * 1_000_000,
                # Not enforced: Askline and dbt have a folder of results each, which they empty.
                enforce_work_group_configuration=False,
                publish_cloud_watch_metrics_enabled=True,
                result_configuration=athena.CfnWorkGroup.ResultConfigurationProperty(
                    encryption_configuration=athena.CfnWorkGroup.EncryptionConfigurationProperty(
                        encryption_option="SSE_KMS", kms_key=key.key_arn
                    )
                ),
            ),
        )

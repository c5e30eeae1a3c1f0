"""The OpenSearch domain, in the network, open to the programs' roles only."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from deploy.cdk.exceptions import accept
from deploy.cdk.network import LOG_DAYS, Network
from deploy.cdk.options import MASTER_INSTANCE, Options

NAME = "askline"


class Search(Construct):
    def __init__(self, scope: Construct, options: Options, network: Network, key: kms.IKey) -> None:
        super().__init__(scope, "Search")
        size = options.size
        slow, errors = (self._log(name, key) for name in ("Slow", "Errors"))
        self.domain = opensearch.Domain(
            self,
            "Domain",
            domain_name=NAME,
            version=opensearch.EngineVersion.OPENSEARCH_2_19,  # that of the tests
            vpc=network.vpc,
            vpc_subnets=[ec2.SubnetSelection(subnet_group_name="server")],
            security_groups=[network.search],
            zone_awareness=opensearch.ZoneAwarenessConfig(enabled=True, availability_zone_count=2),
            capacity=opensearch.CapacityConfig(
                data_node_instance_type=size.search_instance,
                data_nodes=size.search_nodes,
                master_nodes=size.search_masters or None,
                master_node_instance_type=MASTER_INSTANCE if size.search_masters else None,
                multi_az_with_standby_enabled=False,  # would need a third zone
            ),
            ebs=opensearch.EbsOptions(volume_size=size.search_disk, volume_type=ec2.EbsDeviceVolumeType.GP3),
            encryption_at_rest=opensearch.EncryptionAtRestOptions(enabled=True, kms_key=key),
            node_to_node_encryption=True,
            enforce_https=True,
            tls_security_policy=opensearch.TLSSecurityPolicy.TLS_1_2_PFS,
            enable_auto_software_update=True,
            logging=opensearch.LoggingOptions(
                slow_search_log_enabled=True,
                slow_search_log_group=slow,
                slow_index_log_enabled=True,
                slow_index_log_group=slow,
                app_log_enabled=True,
                app_log_group=errors,
            ),
            suppress_logs_resource_policy=True,  # it is made by a Lambda; below it is not
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        policy = logs.CfnResourcePolicy(
            self,
            "Logging",
            policy_name="askline-opensearch",
            policy_document=cdk.Stack.of(self).to_json_string(
                {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Principal": {"Service": "es.amazonaws.com"},
                            "Action": ["logs:PutLogEvents", "logs:CreateLogStream"],
                            "Resource": [slow.log_group_arn, errors.log_group_arn],
                            "Condition": {"StringEquals": {"aws:SourceAccount": options.account}},
                        }
                    ],
                }
            ),
        )
        self.domain.node.add_dependency(policy)
        if not size.search_masters:
            accept(self.domain, "OS4", "Two small data nodes hold at most some thousand documents, and can be rebuilt.")
        accept(self.domain, "OS3", "It has no public address: security groups say who reaches it, and roles who may.")

    def let_in(self, roles: Sequence[iam.IRole], removing: iam.IRole) -> None:
        """These and nobody else; one of them removes too. What is allowed here adds to what the role itself may.

        Written into the domain: the construct's own way to say so would be a Lambda.
        """
        stack = cdk.Stack.of(self)
        made = self.domain.node.default_child
        assert isinstance(made, opensearch.CfnDomain)
        made.access_policies = {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"AWS": [role.role_arn for role in who]},
                    "Action": [f"es:ESHttp{method}" for method in methods],
                    "Resource": f"arn:{cdk.Aws.PARTITION}:es:{stack.region}:{stack.account}:domain/{NAME}/*",
                }
                for who, methods in ((roles, ("Get", "Head", "Post", "Put")), ([removing], ("Delete",)))
            ],
        }

    def _log(self, name: str, key: kms.IKey) -> logs.LogGroup:
        return logs.LogGroup(
            self, name, retention=LOG_DAYS, encryption_key=key, removal_policy=cdk.RemovalPolicy.DESTROY
        )

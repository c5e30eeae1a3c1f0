"""ElastiCache: answers that were computed before. TLS, and a password that nobody sees."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_elasticache as elasticache
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from deploy.cdk.exceptions import accept
from deploy.cdk.network import CACHE_PORT, Network
from deploy.cdk.options import Options


class Cache(Construct):
    """`url`: the secret that holds ASKLINE_REDIS__URL."""

    def __init__(self, scope: Construct, options: Options, network: Network, key: kms.IKey) -> None:
        super().__init__(scope, "Cache")
        token = secretsmanager.Secret(
            self,
            "Token",
            encryption_key=key,
            # ElastiCache refuses most punctuation, and a URL the rest.
            generate_secret_string=secretsmanager.SecretStringGenerator(exclude_punctuation=True, password_length=64),
        )
        subnets = elasticache.CfnSubnetGroup(
            self,
            "Subnets",
            description="Askline's cache",
            subnet_ids=network.vpc.select_subnets(subnet_group_name="server").subnet_ids,
        )
        password = token.secret_value.unsafe_unwrap()  # a reference that CloudFormation resolves, not the password
        self.group = elasticache.CfnReplicationGroup(
            self,
            "Redis",
            replication_group_description="Askline's cache",
            engine="redis",
            engine_version="7.1",
            cache_node_type=options.size.cache_node,
            num_cache_clusters=2,
            automatic_failover_enabled=True,
            multi_az_enabled=True,
            port=CACHE_PORT,
            cache_subnet_group_name=subnets.ref,
            security_group_ids=[network.cache.security_group_id],
            transit_encryption_enabled=True,
            at_rest_encryption_enabled=True,
            kms_key_id=key.key_id,
            auth_token=password,
        )
        self.url = secretsmanager.Secret(
            self,
            "Url",
            encryption_key=key,
            secret_string_value=cdk.SecretValue.unsafe_plain_text(
                f"rediss://:{password}@{self.group.attr_primary_end_point_address}:{CACHE_PORT}/0"
            ),
        )
        for secret in (token, self.url):
            accept(secret, "SMG4", "The cache is empty after a new password anyway: docs/aws.md says how to renew it.")

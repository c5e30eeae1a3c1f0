"""Everything of Askline on AWS, in one stack."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from deploy.cdk.cache import Cache
from deploy.cdk.database import Database
from deploy.cdk.entrance import Entrance
from deploy.cdk.environment import Places
from deploy.cdk.network import Network
from deploy.cdk.options import Options
from deploy.cdk.programs import Programs, Surroundings
from deploy.cdk.rights import Rights
from deploy.cdk.search import Search
from deploy.cdk.storage import Storage
from deploy.cdk.warehouse import Warehouse
from deploy.cdk.watch import Watch


class Askline(cdk.Stack):
    def __init__(self, scope: Construct, options: Options) -> None:
        super().__init__(
            scope,
            "Askline",
            env=cdk.Environment(account=options.account, region=options.region),
            description="Askline: cited answers over documents, tables and a knowledge graph",
            termination_protection=True,
        )
        key = kms.Key(self, "Key", alias="askline", enable_key_rotation=True, removal_policy=cdk.RemovalPolicy.RETAIN)
        key.grant_encrypt_decrypt(
            iam.ServicePrincipal(
                f"logs.{options.region}.amazonaws.com",
                conditions={
                    "ArnLike": {
                        "kms:EncryptionContext:aws:logs:arn": (
                            f"arn:{self.partition}:logs:{options.region}:{options.account}:log-group:*"
                        )
                    }
                },
            )
        )
        network = Network(self, options, key)
        storage = Storage(self, key)
        search = Search(self, options, network, key)
        Warehouse(self, options, key)
        database = Database(self, options, network, key)
        cache = Cache(self, options, network, key)
        places = Places(
            bucket=storage.bucket.bucket_name,
            queue_url=storage.queue.queue_url,
            key_arn=key.key_arn,
            database_url=database.url,
            search_endpoint=search.domain.domain_endpoint,
        )
        rights = Rights(options, storage, database, key)
        programs = Programs(self, options, Surroundings(network, database, rights, places, cache.url, key))
        search.let_in(programs.searching, programs.removing)
        entrance = Entrance(self, options, network, programs.query, storage.access_logs)
        watch = Watch(self, options, key)
        watch.of_dead_letters(storage.dead_letters)
        watch.of_answers(entrance.balancer)
        watch.of_search(search.domain)
        cdk.CfnOutput(self, "BalancerName", value=entrance.balancer.load_balancer_dns_name)
        cdk.CfnOutput(self, "Bucket", value=storage.bucket.bucket_name)
        cdk.CfnOutput(
            self,
            "ProgramSubnets",
            value=",".join(network.vpc.select_subnets(subnet_group_name="program").subnet_ids),
        )
        cdk.CfnOutput(self, "OperatorGroup", value=network.operator.security_group_id)

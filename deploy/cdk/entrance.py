"""The load balancer: the query service by HTTPS, to those who may ask. Dagster's page has no way in here."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from deploy.cdk.network import QUERY_PORT, Network
from deploy.cdk.options import Options

_LONGEST_ANSWER_S = 300
"""Without a byte; a streamed answer sends something every few seconds, an upload is one long request."""


class Entrance(Construct):
    def __init__(
        self, scope: Construct, options: Options, network: Network, service: ecs.FargateService, access_logs: s3.IBucket
    ) -> None:
        super().__init__(scope, "Entrance")
        self.balancer = elb.ApplicationLoadBalancer(
            self,
            "Balancer",
            vpc=network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnet_group_name="public"),
            internet_facing=True,
            security_group=network.entrance,
            drop_invalid_header_fields=True,
            deletion_protection=True,
            idle_timeout=cdk.Duration.seconds(_LONGEST_ANSWER_S),
        )
        self.balancer.log_access_logs(access_logs, "balancer")
        listener = self.balancer.add_listener(
            "Https",
            port=443,
            protocol=elb.ApplicationProtocol.HTTPS,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", options.certificate)],
            ssl_policy=elb.SslPolicy.RECOMMENDED_TLS,
            open=False,
        )
        listener.add_targets(
            "Query",
            port=QUERY_PORT,
            protocol=elb.ApplicationProtocol.HTTP,
            targets=[service.load_balancer_target(container_name="query", container_port=QUERY_PORT)],
            health_check=elb.HealthCheck(path="/health/ready", interval=cdk.Duration.seconds(30)),
            deregistration_delay=cdk.Duration.seconds(60),
        )

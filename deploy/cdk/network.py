"""The network: programs in private subnets, servers in isolated ones, one security group for each."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from deploy.cdk.options import Options

QUERY_PORT, DAGSTER_PORT, CODE_PORTS = 8080, 3000, (4000, 4001)
DATABASE_PORT, CACHE_PORT = 5433, 6380
"""Not the usual ones, as cdk-nag asks (RDS11, AEC5)."""
LOG_DAYS = logs.RetentionDays.ONE_MONTH


class Network(Construct):
    def __init__(self, scope: Construct, options: Options, key: kms.IKey) -> None:
        super().__init__(scope, "Network")
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.42.0.0/16"),
            # Named, so that synthesis asks no account for them.
            availability_zones=[f"{options.region}a", f"{options.region}b"],
            nat_gateways=1,  # the second costs as much as the small database, and saves runs, not answers
            subnet_configuration=[
                ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=24),
                ec2.SubnetConfiguration(name="program", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=20),
                ec2.SubnetConfiguration(name="server", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24),
            ],
            # Documents go to and from S3 past the NAT gateway, which takes money by the byte.
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        traffic = logs.LogGroup(
            self, "Traffic", retention=LOG_DAYS, encryption_key=key, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        self.vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(traffic))

        self.entrance = self._group("Entrance", "The load balancer", everywhere=False)
        self.query = self._group("Query", "The query service")
        self.webserver = self._group("Webserver", "The webserver of Dagster")
        self.pipelines = self._group("Pipelines", "Daemon, code locations and runs")
        self.operator = self._group("Operator", "Tasks of whoever operates it")
        self.search = self._group("Search", "OpenSearch", everywhere=False)
        self.database = self._group("Database", "Postgres", everywhere=False)
        self.cache = self._group("Cache", "Redis", everywhere=False)
        for clients in options.clients:
            self.entrance.add_ingress_rule(ec2.Peer.ipv4(clients), ec2.Port.tcp(443), "Who may ask")
        self._open(self.query, QUERY_PORT, self.entrance)
        self._open(self.webserver, DAGSTER_PORT, self.query, self.operator)
        for port in CODE_PORTS:
            self._open(self.pipelines, port, self.webserver, self.pipelines)
        # The webserver reads Dagster's storage only.
        self._open(self.search, 443, self.query, self.pipelines, self.operator)
        self._open(self.database, DATABASE_PORT, self.query, self.pipelines, self.operator, self.webserver)
        self._open(self.cache, CACHE_PORT, self.query, self.pipelines, self.operator)

    def _group(self, name: str, about: str, *, everywhere: bool = True) -> ec2.SecurityGroup:
        """`everywhere`: it may call out, which programs must: AWS's services have no fixed addresses."""
        return ec2.SecurityGroup(self, name, vpc=self.vpc, description=about, allow_all_outbound=everywhere)

    @staticmethod
    def _open(group: ec2.SecurityGroup, port: int, *callers: ec2.SecurityGroup) -> None:
        for caller in callers:
            caller.connections.allow_to(group, ec2.Port.tcp(port))

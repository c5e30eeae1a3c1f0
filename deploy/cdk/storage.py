"""The bucket of all objects, the queue of what arrives in it, and the bucket of what runs print."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from deploy.cdk.exceptions import accept

LANDING, DERIVED, RESULTS, BUILDS = "landing/", "derived/", "athena/", "dbt/"
_REDELIVERIES = 10


class Storage(Construct):
    def __init__(self, scope: Construct, key: kms.IKey) -> None:
        super().__init__(scope, "Storage")
        self.access_logs = s3.Bucket(
            self,
            "AccessLogs",
            encryption=s3.BucketEncryption.S3_MANAGED,  # the load balancer can write to no other
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_PREFERRED,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(90))],
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        accept(self.access_logs, "S1", "It holds the access logs; logging its own accesses would never end.")
        self.bucket = self._sealed(
            "Objects",
            key,
            "objects/",
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(id="uploads", abort_incomplete_multipart_upload_after=cdk.Duration.days(1)),
                *(_short_lived(prefix) for prefix in (DERIVED,)),
                *(_short_lived(prefix, current=1) for prefix in (RESULTS, BUILDS)),
                # Nothing of the landing folder goes by itself: its versions are what answers cite.
            ],
        )
        self.run_logs = self._sealed(
            "RunLogs",
            key,
            "run-logs/",
            # Without versions: an erasure removes what runs printed by Dagster's own call, which leaves them behind.
            versioned=False,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(30))],
        )
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.days(14),
        )
        self.queue = sqs.Queue(
            self,
            "Arrivals",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.days(14),
            visibility_timeout=cdk.Duration.seconds(120),
            receive_message_wait_time=cdk.Duration.seconds(10),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=_REDELIVERIES),
        )
        self._tell_of_arrivals()

    def _sealed(
        self, name: str, key: kms.IKey, log_prefix: str, *, versioned: bool, lifecycle_rules: list[s3.LifecycleRule]
    ) -> s3.Bucket:
        """Encrypted by our key, closed to the public, its accesses logged, and kept when the stack goes."""
        return s3.Bucket(
            self,
            name,
            versioned=versioned,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,  # one request to KMS for many objects
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            server_access_logs_bucket=self.access_logs,
            server_access_logs_prefix=log_prefix,
            lifecycle_rules=lifecycle_rules,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )

    def _tell_of_arrivals(self) -> None:
        """By EventBridge. S3's own notifications would need a Lambda of the CDK's with rights on every bucket."""
        made = self.bucket.node.default_child
        assert isinstance(made, s3.CfnBucket)
        made.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        )
        events.Rule(
            self,
            "Arrived",
            event_pattern=events.EventPattern(
                source=["aws.s3"],
                detail_type=["Object Created", "Object Deleted", "Object Restore Completed"],
                detail={"bucket": {"name": [self.bucket.bucket_name]}, "object": {"key": [{"prefix": LANDING}]}},
            ),
            targets=[targets.SqsQueue(self.queue)],
        )


def _short_lived(prefix: str, current: int | None = None) -> s3.LifecycleRule:
    """What is replaced or deleted goes after a day; with `current`, everything after so many."""
    return s3.LifecycleRule(
        id=prefix.rstrip("/"),
        prefix=prefix,
        noncurrent_version_expiration=cdk.Duration.days(1),
        expiration=cdk.Duration.days(current) if current else None,
    )

"""Who is told, of what: messages that nobody could take, failing answers, and money."""

from __future__ import annotations

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_elasticloadbalancingv2 as elb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_opensearchservice as opensearch
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from deploy.cdk.options import Options


class Watch(Construct):
    def __init__(self, scope: Construct, options: Options, key: kms.IKey) -> None:
        super().__init__(scope, "Watch")
        self.topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=True)
        self.topic.add_subscription(subscriptions.EmailSubscription(options.email))
        key.grant(iam.ServicePrincipal("cloudwatch.amazonaws.com"), "kms:Decrypt", "kms:GenerateDataKey*")
        budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_name="askline",
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=options.budget, unit="USD"),
            ),
            notifications_with_subscribers=[
                self._notice(options, "ACTUAL", 80),
                self._notice(options, "ACTUAL", 100),
                self._notice(options, "FORECASTED", 100),
            ],
        )

    def of_dead_letters(self, queue: sqs.IQueue) -> None:
        self._alarm(
            "DeadLetters", queue.metric_approximate_number_of_messages_visible(), 1, "Events of S3 could not be taken."
        )

    def of_answers(self, balancer: elb.ApplicationLoadBalancer) -> None:
        code = elb.HttpCodeTarget.TARGET_5XX_COUNT
        self._alarm("Answers", balancer.metrics.http_code_target(code), 10, "Ten answers in five minutes failed.")

    def of_search(self, domain: opensearch.Domain) -> None:
        self._alarm("Index", domain.metric_cluster_status_red(), 1, "OpenSearch lacks a primary shard.")
        self._alarm("Writes", domain.metric_cluster_index_writes_blocked(), 1, "OpenSearch takes no writes.")

    def _alarm(self, name: str, metric: cloudwatch.IMetric, threshold: int, about: str) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=threshold,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=about,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))

    @staticmethod
    def _notice(options: Options, kind: str, percent: int) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
        return budgets.CfnBudget.NotificationWithSubscribersProperty(
            notification=budgets.CfnBudget.NotificationProperty(
                notification_type=kind,
                comparison_operator="GREATER_THAN",
                threshold=percent,
                threshold_type="PERCENTAGE",
            ),
            subscribers=[budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=options.email)],
        )

"""The CDK's app: `cdk deploy --app ".venv/bin/python -m deploy.cdk.app" -c name=value …`; docs/aws.md has the names."""

from __future__ import annotations

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from deploy.cdk.options import read
from deploy.cdk.stack import Askline


def make(app: cdk.App) -> Askline:
    """The stack as the context describes it. Synthesis fails for what cdk-nag finds without a reason of ours."""
    stack = Askline(app, read(app.node.try_get_context))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return stack


if __name__ == "__main__":
    app = cdk.App()
    make(app)
    app.synth()

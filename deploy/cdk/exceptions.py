"""Exceptions from cdk-nag's rules, each at the construct that it is for and with its reason."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct


def accept(construct: IConstruct, rule: str, reason: str) -> None:
    """`rule` without its prefix: EC23, or IAM5[Resource::*] for one finding of a rule that has several."""
    cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=f"AwsSolutions-{rule}", reason=reason))


def spelled(construct: IConstruct, value: str) -> str:
    """A text with references of CloudFormation in it, as cdk-nag spells it: <LogicalId.Attribute>."""
    return _spell(cdk.Stack.of(construct).resolve(value))


def _spell(found: object) -> str:
    if isinstance(found, str):
        return found
    assert isinstance(found, dict)
    ((function, argument),) = found.items()
    if function == "Fn::Join":
        separator, parts = argument
        return str(separator.join(_spell(part) for part in parts))
    return f"<{argument}>" if function == "Ref" else f"<{'.'.join(argument)}>"

"""rebuilt_index, evaluation, search_alias: a new search index beside the one that answers, and the gate to it."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from foundation.registry import search_indexes
from foundation.registry.database import transaction
from pipelines import rebuild as rebuilding
from pipelines.assets.common import OWNERS, made_by
from pipelines.assets.search_index import search_index
from pipelines.resources import StoresResource
from pipelines.retrieval_evaluation import Evaluation, evaluate

CHECK = "finds_what_the_serving_index_finds"


class RebuildConfig(dg.Config):
    """What a rebuild does with an index that was rejected before."""

    again: bool = True
    """Build it anew. The nightly run does not: its corpus would have to change first."""


@dg.asset(
    group_name="index",
    kinds={made_by("search"), made_by("embeddings")},
    owners=OWNERS,
    deps=[search_index],
    output_required=False,
    description="The whole corpus in the index that the settings want, beside the one that answers. Nothing to do where"
    " that one answers already.",
)
def rebuilt_index(
    context: dg.AssetExecutionContext, config: RebuildConfig, stores: StoresResource
) -> Iterator[dg.MaterializeResult[Any]]:
    at = stores.stores
    work = rebuilding.start(at, again=config.again)
    if work is None:
        context.log.info(f"{at.serving.name} answers; there is nothing to build.")
        return
    built = rebuilding.build(at, work)
    yield dg.MaterializeResult(
        metadata={
            "index": work.target.name,
            "serving": at.serving.name,
            "versions": built,
            "chunks": work.index.count(),
        }
    )


@dg.asset(
    group_name="index",
    owners=OWNERS,
    deps=[rebuilt_index],
    check_specs=[dg.AssetCheckSpec(CHECK, asset="evaluation", description="The new index may lose 2 points at most.")],
    description="Hit rates of the new and of the serving index over the same questions.",
)
def evaluation(stores: StoresResource) -> Iterator[dg.MaterializeResult[Any]]:
    at = stores.stores
    work = rebuilding.of(at)
    found = evaluate(at, work)
    with transaction(at.engine) as connection:
        search_indexes.save_report(connection, work.target, found.report(), None if found.passed else found.reason)
    yield dg.MaterializeResult(
        metadata={**found.report(), "new_index": work.target.name, "serving_index": at.serving.name},
        check_results=[
            dg.AssetCheckResult(
                check_name=CHECK, passed=found.passed, metadata={"reason": found.reason, **_rates(found)}
            )
        ],
    )


def _rates(found: Evaluation) -> dict[str, Any]:
    return {"new": found.new, "serving": found.serving, "questions": found.questions}


@dg.asset(
    group_name="index",
    owners=OWNERS,
    deps=[evaluation],
    output_required=False,
    description="Moves the alias to the new index once the evaluation has passed; the old one is dropped after a time.",
)
def search_alias(context: dg.AssetExecutionContext, stores: StoresResource) -> Iterator[dg.MaterializeResult[Any]]:
    at = stores.stores
    work = rebuilding.of(at)
    with transaction(at.engine) as connection:
        known = search_indexes.get(connection, work.target)
    if known is None or known.state != "building" or not known.report.get("passed"):
        if known is not None and known.state == "rejected":
            at.drop_index(work.target)
        reason = known.reason if known is not None else None
        context.log.warning(f"{at.serving.name} goes on answering. {reason or 'No new index has been evaluated.'}")
        return
    chunks = rebuilding.switch(at, work, context.run.run_id)
    yield dg.MaterializeResult(metadata={"index": work.target.name, "replaced": at.serving.name, "chunks": chunks})


INDEX_ASSETS = [rebuilt_index, evaluation, search_alias]

"""dbt's models as assets and its tests as asset checks; tested marts are published as tables."""

# No `from __future__ import annotations` here: Dagster compares the type of `context`, not its name.

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtCliInvocation, DbtProject, dbt_assets

from foundation.errors import StageFailed
from foundation.registry.database import transaction
from foundation.registry.datasets import active_datasets
from pipelines.assets.common import OWNERS, service_url
from pipelines.dagster_traces import short_hash
from pipelines.marts import Publication, publish_mart, purge_superseded, refusals, withdraw_marts
from pipelines.resources import StoresResource
from pipelines.transform.contracts import Source, mart_sources_now, written_sources
from pipelines.transform.dbt_cli import OfflineDbt, build_folder
from pipelines.transform.lake_build import place_of_build
from pipelines.transform.manifest import PROJECT, dbt_folder, project_manifest

MANIFEST = project_manifest()
RUN_RESULTS = "run_results.json"


class Translator(DagsterDbtTranslator):
    """Assets are named as the models are; every source is the one asset structured_tables."""

    def __init__(self) -> None:
        super().__init__(DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True))

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        if dbt_resource_props["resource_type"] == "source":
            return super().get_asset_key(dbt_resource_props)
        return dg.AssetKey(dbt_resource_props["name"])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str | None:
        return str(dbt_resource_props["fqn"][1])

    def get_description(self, dbt_resource_props: Mapping[str, Any]) -> str:
        return str(dbt_resource_props["description"])

    def get_owners(self, dbt_resource_props: Mapping[str, Any]) -> list[str]:
        return OWNERS

    def get_asset_check_spec(
        self, asset_spec: dg.AssetSpec, manifest: Mapping[str, Any], unique_id: str, project: DbtProject | None
    ) -> dg.AssetCheckSpec | None:
        """Never blocking: dbt itself builds nothing on what failed, and data that fails a test is no failed run."""
        spec = super().get_asset_check_spec(asset_spec, manifest, unique_id, project)
        return spec and dg.AssetCheckSpec(
            spec.name,
            asset=spec.asset_key,
            description=str(self.get_resource_props(manifest, unique_id)["description"]) or None,
            additional_deps=spec.additional_deps,
            metadata=spec.metadata,
        )

    def get_asset_spec(self, manifest: Mapping[str, Any], unique_id: str, project: DbtProject | None) -> dg.AssetSpec:
        spec = super().get_asset_spec(manifest, unique_id, project)
        is_mart = unique_id in {mart.unique_id for mart in MANIFEST.marts.values()}
        return spec.replace_attributes(kinds={*spec.kinds, "parquet"}) if is_mart else spec


@dbt_assets(
    manifest=MANIFEST.data,
    dagster_dbt_translator=Translator(),
    project=DbtProject(PROJECT, profiles_dir=PROJECT),
    pool="dbt",
)
def dbt_models(context: dg.AssetExecutionContext, stores: StoresResource, dbt: OfflineDbt) -> Iterator[Any]:
    """Build what has its sources; publish the marts whose tests pass; withdraw those that have no sources any more."""
    at = stores.stores
    selected = {key.path[-1] for key in context.selected_asset_keys}
    checked = {key.asset_key.path[-1] for key in context.selected_asset_check_keys}
    with build_folder(dbt_folder(at.settings)) as target:
        with transaction(at.engine) as connection:
            sources, wanted = mart_sources_now(MANIFEST, active_datasets(connection))
        missing = {name: lacking for name in MANIFEST.models if (lacking := _contracts(name) - sources.keys())}
        for name in sorted(selected & missing.keys()):
            _note(
                context, name, f"Left out: no uploaded table satisfies the contract {', '.join(sorted(missing[name]))}."
            )
        for name in withdraw_marts(at, selected & missing.keys() & MANIFEST.marts.keys()):
            context.log.info(f"{name} is withdrawn, since its sources are gone.")
        if not (selected | checked) - missing.keys():
            return
        listing = target.parent / "sources.json"
        with written_sources(at, sources, listing), place_of_build(at, sources) as place:
            held: dict[str, dg.Output[Any]] = {}
            build = _start(context, dbt, target, place.target, missing)
            for event in build.stream():
                if isinstance(event, dg.Output) and event.output_name in MANIFEST.marts:
                    held[event.output_name] = event  # a mart is materialized when it is published
                else:
                    yield event
            results = _results(build, target)
            for name, reason in refusals(MANIFEST, results).items():
                published = None
                if reason is None:
                    export = place.exported(name, target.parent / "marts")
                    published = publish_mart(at, MANIFEST.marts[name], export, wanted[name], context.run.run_id)
                    reason = "one of its sources was replaced or deleted meanwhile; the next run takes the new ones"
                if published is None:
                    _note(context, name, f"Not published, what was published before stays: {reason}.")
                else:
                    yield _materialized(held[name], published, sources)
        purge_superseded(at)
        _raise_errors(results)


def _contracts(model: str) -> frozenset[str]:
    return MANIFEST.contracts_of(MANIFEST.models[model]["unique_id"])


def _note(context: dg.AssetExecutionContext, model: str, text: str) -> None:
    context.log.warning(f"{model}: {text}")
    context.log_event(dg.AssetObservation(dg.AssetKey(model), description=text, metadata={"note": text}))


def _start(
    context: dg.AssetExecutionContext, dbt: OfflineDbt, target: Path, profile: str, missing: Collection[str]
) -> DbtCliInvocation:
    """`profile`: the target of profiles.yml."""
    (target / RUN_RESULTS).unlink(missing_ok=True)
    args = ["build", "--target", profile, *(["--exclude", " ".join(sorted(missing))] if missing else [])]
    return dbt.cli(args, context=context, target_path=target, raise_on_error=False)


def _results(build: DbtCliInvocation, target: Path) -> Mapping[str, Any]:
    """dbt's run_results.json; its own error when it ended before there was one."""
    path = target / RUN_RESULTS
    if not path.is_file():
        raise build.get_error() or StageFailed(
            "dbt ended without a result.", fix="Read the run's log, then launch the job `transform` again."
        )
    results: Mapping[str, Any] = json.loads(path.read_bytes())
    return results


def _raise_errors(results: Mapping[str, Any]) -> None:
    """StageFailed for models that dbt could not build and tests that it could not run. A failed test is no error.

    Without dbt's messages, which quote values: they stand in the run's output, which an erasure deletes.
    """
    wrong = [r["unique_id"] for r in results["results"] if r["status"] in ("error", "runtime error")]
    if wrong:
        raise StageFailed(
            f"dbt could not build {', '.join(wrong)}.", fix="Correct the model; the run's output has dbt's message."
        )


def _materialized(
    built: dg.Output[Any], published: Publication, sources: Mapping[str, Sequence[Source]]
) -> dg.Output[None]:
    table = published.table
    columns = [dg.TableColumn(c.name, c.type, c.description) for c in table.columns]
    used = [
        f"| {contract} | {source.table} | `{short_hash(source.version_id)}` |"
        for contract, found in sources.items()
        for source in found
        if (source.dataset_id, source.version_id) in published.sources
    ]
    metadata: dict[str, Any] = {
        **built.metadata,
        "dagster/row_count": table.row_count,
        "dagster/column_schema": dg.TableSchema(columns),
        "table": table.name,
        "sources": dg.MetadataValue.md("\n".join(["| contract | table | version |", "|---|---|---|", *used])),
        "parquet": table.parquet_path,
        "link": dg.MetadataValue.url(f"{service_url()}/tables/{table.name}"),
    }
    return dg.Output(None, output_name=built.output_name, metadata=metadata)

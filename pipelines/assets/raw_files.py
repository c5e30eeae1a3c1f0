"""raw_files: which versions this run works on, and that the landing bytes are what the registry says."""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal

import dagster as dg

from foundation.errors import DamagedFile, NotFound, UnsupportedFile
from foundation.media_type import detect_file
from foundation.registry import claims
from foundation.registry.database import transaction
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage
from pipelines.assets.common import made_by, result, stage_asset
from pipelines.batch import Counts, one_by_one, run_stage
from pipelines.partitions import day_of
from pipelines.resources import StoresResource

TRIGGER_TAG = "askline/trigger"


class RawFilesConfig(dg.Config):
    """How this run takes its work."""

    shard: str = "1/1"
    """`2/4`: the second of four runs that share a day."""
    scope: Literal["pending", "day"] = "day"
    """pending: only what waits. day: also what was indexed before, of which the stages redo what is stale."""


COLUMNS = (
    ("document_id", "text", "The logical file"),
    ("version_id", "text", "sha256 of the bytes"),
    ("object_version", "text", "The store's id of the bytes"),
    ("size_bytes", "bigint", "Size"),
    ("media_type", "text", "By content"),
)


@stage_asset(
    group="landing",
    kinds={made_by("objects")},
    output_required=False,
    description="Claims the versions that arrived on this day and verifies their bytes in the landing bucket.",
)
def raw_files(
    context: dg.AssetExecutionContext, config: RawFilesConfig, stores: StoresResource
) -> Iterator[dg.MaterializeResult[Any]]:
    at = stores.stores
    claimed = _claim(context, at, config)
    if not claimed:
        context.log.info("Nothing is waiting for this day.")
        return  # no output: the steps behind it are skipped and the run ends at once
    report = run_stage(context, at, Stage.RAW_FILES, claimed, one_by_one(lambda version: _verify(at, version)))
    yield result(report, {"bytes": "bytes"}, columns=COLUMNS, shard=config.shard)


def _claim(context: dg.AssetExecutionContext, stores: Stores, config: RawFilesConfig) -> list[ClaimedVersion]:
    index, _, count = config.shard.partition("/")
    shard, day, run_id = claims.Shard(int(index), int(count)), day_of(context), context.run.run_id
    ingestion = stores.settings.ingestion
    lease = timedelta(seconds=ingestion.lease_s)
    with transaction(stores.engine) as connection:
        claims.claim(connection, run_id, day, shard=shard, limit=ingestion.batch_size, lease=lease)
        if config.scope == "day":
            claims.add_to_batch(connection, run_id, day, claims.living_versions(connection, day, shard), shard)
        return claims.batch(connection, run_id)


def _verify(stores: Stores, version: ClaimedVersion) -> Counts:
    try:
        with stores.landing.local_path(version.landing_key, version.object_version) as path:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            media_type = detect_file(path, version.file_name)
    except NotFound as error:
        raise DamagedFile(
            f"{version.file_name}: its bytes are not in the landing bucket any more.", fix="Upload the file again."
        ) from error
    if sha256 != version.version_id:
        raise DamagedFile(
            f"{version.file_name}: the stored bytes have changed since they arrived.",
            fix="Upload the file again, and let nothing else write into the landing folder's .versions.",
        )
    if media_type.kind is None:
        raise UnsupportedFile(f"{version.file_name} is {media_type.label}.", fix=media_type.fix)
    return {"bytes": version.size_bytes}

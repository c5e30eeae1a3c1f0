"""The AWS adapters as the settings describe them, each imported when it is asked for: the embedded profile needs none.

The registry, the Postgres copies and the graph have one adapter for both profiles: they are Postgres.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from foundation.errors import ConfigurationError
from foundation.ports.cache import Cache
from foundation.ports.embeddings import Embedder
from foundation.ports.events import ObjectEvents
from foundation.ports.image_embeddings import ImageEmbedder
from foundation.ports.objects import ObjectStore
from foundation.ports.search import SearchIndex
from foundation.ports.warehouse import Warehouse
from foundation.settings import Settings

if TYPE_CHECKING:
    from foundation.adapters.aws.catalog import GlueCatalog
    from foundation.adapters.aws.warehouse_dbt import DbtLake
    from foundation.adapters.aws.warehouse_setup import AthenaPlace


def landing(settings: Settings) -> ObjectStore:
    return _objects(settings, settings.s3.landing_prefix, versioned=True)


def derived(settings: Settings) -> ObjectStore:
    return _objects(settings, settings.s3.derived_prefix, versioned=False)


def _objects(settings: Settings, prefix: str, *, versioned: bool, bucket: str | None = None) -> ObjectStore:
    from foundation.adapters.aws.clients import client
    from foundation.adapters.aws.objects import S3Objects

    return S3Objects(
        client(settings, "s3"),
        bucket or _bucket(settings),
        prefix,
        versioned=versioned,
        kms_key_id=settings.aws.kms_key_id,
        multipart_bytes=settings.s3.multipart_mb * 1_000_000,
    )


def _bucket(settings: Settings) -> str:
    return required(settings.s3.bucket, "ASKLINE_S3__BUCKET", "the bucket of all objects")


def landing_events(settings: Settings) -> ObjectEvents | None:
    """None where no queue is named: then only the reconciling listing finds what others put into the bucket."""
    if settings.sqs.uploads_queue_url is None:
        return None
    from foundation.adapters.aws.clients import client
    from foundation.adapters.aws.events import SqsEvents

    chosen = settings.sqs
    return SqsEvents(
        client(settings, "sqs"),
        settings.sqs.uploads_queue_url,
        _bucket(settings),
        settings.s3.landing_prefix,
        wait_s=chosen.wait_s,
        visibility_s=chosen.visibility_s,
    )


def embedder(settings: Settings, model: str) -> Embedder:
    require_packages()
    from foundation.adapters.aws.embeddings import MODELS, TitanEmbedder

    if model not in MODELS:
        raise ConfigurationError(f"{model} is no model of Bedrock's.", fix=f"There are {', '.join(MODELS)}.")
    chosen = settings.bedrock
    return TitanEmbedder(_bedrock(settings), model, concurrency=chosen.concurrency, max_attempts=chosen.max_attempts)


def image_embedder(settings: Settings) -> ImageEmbedder:
    from foundation.adapters.aws.image_embeddings import TitanImageEmbedder

    chosen = settings.bedrock
    return TitanImageEmbedder(
        _bedrock(settings),
        chosen.image_model,
        concurrency=chosen.concurrency,
        max_attempts=chosen.max_attempts,
        megapixels=settings.ocr.max_megapixels,
    )


def _bedrock(settings: Settings) -> Any:
    """The client of the embedders, which pace and repeat their calls themselves."""
    from foundation.adapters.aws.clients import client

    return client(settings, "bedrock-runtime", attempts=1, connections=settings.bedrock.concurrency)


def search_index(settings: Settings, name: str, dimension: int) -> SearchIndex:
    from foundation.adapters.aws.search import OpenSearchIndex
    from foundation.adapters.aws.search_client import connect

    return OpenSearchIndex(connect(settings), name, dimension, settings.opensearch)


def warehouse(settings: Settings) -> Warehouse:
    from foundation.adapters.aws.warehouse import AthenaWarehouse

    results = folder(settings, results_location(settings))
    return AthenaWarehouse(
        athena_place(settings), purge=results.purge_prefix, timeout_seconds=settings.query.statement_timeout_s
    )


def catalog(settings: Settings) -> GlueCatalog:
    from foundation.adapters.aws.catalog import GlueCatalog

    return GlueCatalog(athena_place(settings), lambda key: derived_location(settings, key.rpartition("/")[0]))


def dbt_lake(settings: Settings) -> DbtLake:
    from foundation.adapters.aws.warehouse_dbt import DbtLake

    location = dbt_location(settings)
    return DbtLake(athena_place(settings), folder(settings, location), location)


def glue_path(settings: Settings, dataset_id: str) -> str:
    """`database.table` of a dataset; as it stands it is a name in Athena's statements too."""
    from foundation.adapters.aws.warehouse_setup import glue_table

    return f"{settings.athena.database}.{glue_table(dataset_id)}"


def region(settings: Settings) -> str:
    """ConfigurationError where neither the settings nor the AWS environment name one."""
    from foundation.adapters.aws.clients import session

    found = session(settings).region_name
    return required(found, "ASKLINE_AWS__REGION", "the region of the bucket")


def athena_place(settings: Settings) -> AthenaPlace:
    """ConfigurationError where one of the three that go together is embedded."""
    together = ("objects", "warehouse", "catalog")
    apart = [port for port in together if settings.adapter(port) != "aws"]
    if apart:
        raise ConfigurationError(
            f"ASKLINE_ADAPTERS__{apart[0].upper()} is embedded: Athena reads what lies in S3 and stands in Glue.",
            fix=f"Set {', '.join(f'ASKLINE_ADAPTERS__{port.upper()}' for port in together)} alike.",
        )
    from foundation.adapters.aws.clients import client
    from foundation.adapters.aws.warehouse_setup import AthenaPlace

    chosen = settings.athena
    return AthenaPlace(
        # Few tries: somebody waits for the answer, and six of them take longer than a statement may.
        client(settings, "athena", attempts=min(3, settings.aws.max_attempts)),
        client(settings, "glue"),
        chosen.database,
        chosen.workgroup,
        results_location(settings),
        chosen.scan_limit_mb,
    )


def results_location(settings: Settings) -> str:
    """s3:// folder of Athena's results."""
    return settings.athena.output_location or f"s3://{_bucket(settings)}/athena/"


def dbt_location(settings: Settings) -> str:
    """s3:// folder in which dbt builds."""
    return settings.athena.dbt_location or f"s3://{_bucket(settings)}/dbt/"


def derived_location(settings: Settings, key: str) -> str:
    """s3:// folder of these keys of the derived store."""
    return f"s3://{_bucket(settings)}/{settings.s3.derived_prefix}{key}/"


def folder(settings: Settings, location: str) -> ObjectStore:
    """What lies in an s3:// folder."""
    bucket, _, prefix = location.removeprefix("s3://").partition("/")
    return _objects(settings, prefix, versioned=False, bucket=bucket)


def cache(settings: Settings) -> Cache:
    from foundation.adapters.aws.cache import RedisCache

    redis, url = settings.redis, settings.redis.url
    named = required(url.get_secret_value() if url else None, "ASKLINE_REDIS__URL", "the Redis of the cache")
    return RedisCache(named, ca_file=redis.ca_file, timeout_s=redis.timeout_s)


def require_packages() -> None:
    """ConfigurationError where only the embedded profile is installed."""
    if find_spec("boto3") is None:
        raise ConfigurationError("The packages of the AWS adapters are not installed.", fix="Run `make install-aws`.")


def required(value: str | None, name: str, meaning: str) -> str:
    """ConfigurationError that names the setting when it is empty."""
    if not value:
        raise ConfigurationError(f"{name} is not set.", fix=f"Set it to {meaning}; docs/settings.md.")
    return value


def _absent(port: str) -> ConfigurationError:
    return ConfigurationError(
        f"ASKLINE_ADAPTERS__{port.upper()}: this version has the embedded adapter only.",
        fix="Leave it and ASKLINE_PROFILE at `embedded`.",
    )

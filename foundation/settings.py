"""The one typed settings tree and the only reader of the environment (`ASKLINE_…`, `.env`); docs/settings.md.

Nested settings join with two underscores: ASKLINE_SERVICE__PORT=8080.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from foundation.errors import ConfigurationError

AdapterName = Literal["embedded", "aws"]


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AdapterSettings(_Group):
    objects: AdapterName | None = Field(None, description="Adapter of the object store; empty: the profile's.")
    search: AdapterName | None = Field(None, description="Adapter of the search index; empty: the profile's.")
    warehouse: AdapterName | None = Field(None, description="Adapter of the warehouse; empty: the profile's.")
    catalog: AdapterName | None = Field(None, description="Adapter of the table catalog; empty: the profile's.")
    relational: AdapterName | None = Field(None, description="Adapter of the Postgres copies; empty: the profile's.")
    graph: AdapterName | None = Field(None, description="Adapter of the knowledge graph; empty: the profile's.")
    embeddings: AdapterName | None = Field(None, description="Adapter of the embedding model; empty: the profile's.")
    cache: AdapterName | None = Field(None, description="Adapter of the cache; empty: the profile's.")


class DatabaseSettings(_Group):
    url: SecretStr | None = Field(
        None, description="Postgres of the registry, `postgresql://…`; empty: the embedded server in the data folder."
    )
    pool_size: int = Field(5, ge=1, description="Connections that a process keeps open; it may double them briefly.")
    connect_timeout_s: int = Field(5, ge=1, description="Seconds to wait for a connection before the answer is 503.")
    ssl_mode: Literal["require", "verify-ca", "verify-full"] | None = Field(
        None,
        description="TLS to the server of the URL, and how much of its certificate is checked; empty: as it comes.",
    )
    ssl_root_cert: Path | None = Field(
        None, description="Certificates (PEM) that sign the server's, such as RDS's bundle; the verify modes need them."
    )
    iam: bool = Field(
        False, description="Log in to RDS with IAM: a token is made for each connection, and the URL has no password."
    )
    reader_password: SecretStr | None = Field(
        None,
        description="Password that the role `askline_reader`, by which questions run, is given at a server of your own."
        " Empty: the server asks for none, or IAM lets it in.",
    )

    @model_validator(mode="after")
    def _tls_for_tokens(self) -> Self:
        if self.iam and (self.url is None or self.ssl_mode is None):
            raise ValueError("iam needs url and ssl_mode: RDS takes a token by TLS only")
        return self


class ServiceSettings(_Group):
    host: str = Field(
        "127.0.0.1", description="Address of the query service. Anything but loopback needs API keys in the registry."
    )
    port: int = Field(8080, ge=1, le=65535, description="Port of the query service; `askline up` takes the next free.")
    public_url: str | None = Field(
        None, description="URL under which people reach the query service; goes into Dagster's metadata links."
    )
    local_principal: str = Field("local", description="Name of the one principal on loopback without keys.")
    max_upload_mb: int = Field(200, ge=1, description="Largest accepted file, in MB of 1,000,000 bytes.")
    max_question_chars: int = Field(4000, ge=1, description="Longest accepted question, in characters.")
    log_content: bool = Field(
        False, description="Allow questions and document text in logs. Off: ids, counts and times only."
    )


class DagsterSettings(_Group):
    host: str = Field("127.0.0.1", description="Address of the Dagster webserver.")
    port: int = Field(3000, ge=1, le=65535, description="Port of the Dagster UI; `askline up` takes the next free.")
    url: str | None = Field(None, description="URL of the Dagster UI; an upload nudges it. Empty: no nudge.")
    nudge: bool = Field(True, description="Start a run right after an upload instead of at the sensor's next tick.")
    sensor_grace_s: float = Field(
        10, ge=0, description="The uploads sensor leaves younger uploads to the nudge, in seconds."
    )
    run_workers: int = Field(
        3,
        ge=0,
        description="Runs that `askline up` executes at once in warm workers; one waits ready, the others start when"
        " needed. 0: a new process for each run, which starts 2 s later.",
    )
    start_timeout_s: int = Field(
        60,
        ge=5,
        description="A run that no worker has begun after so long counts as failed, and another takes what it held, in"
        " seconds. Longer where runs wait for a busy worker.",
    )
    event_retention_days: int = Field(30, ge=1, description="Dagster's events of older runs are deleted nightly.")


class IngestionSettings(_Group):
    batch_size: int = Field(200, ge=1, description="Most versions that one run claims.")
    lease_s: float = Field(60, ge=5, description="A claim that is not renewed for so long is free again, in seconds.")
    max_attempts: int = Field(3, ge=1, description="A version whose run died so often ends as failed.")
    scan_acl: Annotated[tuple[str, ...], NoDecode] = Field(
        ("user:local",),
        description="ACL of a file that someone copied into the landing folder, comma-separated; empty: nobody's.",
    )

    @field_validator("scan_acl", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    scan_interval_s: int = Field(5, ge=1, description="Seconds between two looks at the landing folder.")
    extraction_max_chunks: int = Field(
        2000, ge=1, description="The graph is extracted from at most so many chunks of one version."
    )


class ParsingSettings(_Group):
    workers: int = Field(2, ge=1, description="Parser processes.")
    timeout_s: float = Field(120, gt=0, description="Longest time that one file may take to parse, in seconds.")
    memory_mb: int = Field(2048, ge=256, description="Most memory that a parser process may take, in MB.")
    max_output_mb: int = Field(4096, ge=1, description="Largest file that a parser process may write, in MB.")
    max_text_mb: int = Field(50, ge=1, description="Longest text that one file may give, in MB.")
    unpack_members: int = Field(2000, ge=1, description="Most files that may come out of one archive or mail.")
    unpack_mb: int = Field(1000, ge=1, description="Most bytes that may come out of one archive or mail, in MB.")
    unpack_ratio: int = Field(200, ge=1, description="Largest archive by its packed size, in times; above 10 MB.")
    unpack_depth: int = Field(3, ge=1, description="How deep archives and mails inside each other are unpacked.")


class OcrSettings(_Group):
    engine: Literal["auto", "tesseract", "rapidocr", "off"] = Field(
        "auto",
        description="What reads scans and images. auto: tesseract where it is on PATH, rapidocr what it leaves out; "
        "without tesseract, rapidocr. off: they are not read, and it says so.",
    )
    languages: str = Field(
        "", description="Tesseract's languages, joined by +, such as `eng+spa`; empty: the installed ones, at most 4."
    )
    dpi: int = Field(300, ge=100, le=600, description="Dots an inch at which a page without text is drawn to be read.")
    max_pages: int = Field(500, ge=1, description="Most pages of one file that are read by OCR; the rest is named.")
    max_megapixels: int = Field(100, ge=1, description="Largest image that is decoded, in millions of pixels.")
    page_timeout_s: float = Field(60, ge=1, description="Longest time of tesseract for one page, in seconds.")
    timeout_s: float = Field(
        900, ge=1, description="No further page of a file is read by OCR after so long, in seconds; it is named."
    )
    parallel_pages: int = Field(2, ge=1, description="Pages of one file that are read at once.")
    low_confidence: float = Field(0.6, ge=0, le=1, description="A page whose words have a lower mean gets a warning.")


class EmbeddingSettings(_Group):
    model: Literal["bge-small-en-v1.5", "all-MiniLM-L6-v2"] = Field(
        "bge-small-en-v1.5", description="Embedding model; all-MiniLM-L6-v2 is 3.3 times faster and less exact."
    )
    model_dir: Path | None = Field(
        None, description="Folder that holds the model's files; empty: fetched once into the user's cache."
    )
    threads: int = Field(2, ge=1, description="Threads of one embedding session.")


class SearchSettings(_Group):
    dense_weight: float = Field(0.6, ge=0, le=1, description="Weight of the dense score in the hybrid sum.")
    candidates: int = Field(100, ge=1, description="Candidates that each ranker gives before the scores are summed.")
    k: int = Field(8, ge=1, description="Chunks that the answer is taken from.")
    retired_index_hours: float = Field(
        24, ge=0, description="An index that another has replaced is dropped after so many hours."
    )


class EvaluationSettings(_Group):
    questions: Path | None = Field(
        None,
        description="Questions with facts and files, in the form of samples/questions.yaml, which is the default; a new"
        " search index must find what the old one finds. Fewer than 5 about your files: sentences of the corpus.",
    )
    allowed_loss: float = Field(
        0.02, ge=0, le=1, description="By how much a new index's hit rate may lie below the old one's."
    )


class QuerySettings(_Group):
    statement_timeout_s: float = Field(10, gt=0, description="Longest time of one SQL statement, in seconds.")
    memory_mb: int = Field(512, ge=64, description="Most memory that one warehouse query may take, in MB.")
    row_limit: int = Field(1000, ge=1, description="Most rows that a statement returns.")
    deadline_s: float = Field(20, gt=0, description="An answer uses what is ready by then, in seconds.")


class AwsSettings(_Group):
    region: str | None = Field(
        None, description="AWS region of every service, such as `eu-central-1`; empty: that of the AWS environment."
    )
    endpoint_url: str | None = Field(
        None, description="One address of all AWS services instead of Amazon's, for an emulator; empty: Amazon's."
    )
    kms_key_id: str | None = Field(
        None, description="KMS key (id, ARN or alias) that encrypts stored objects; empty: the bucket's own encryption."
    )
    max_attempts: int = Field(6, ge=1, description="Tries of one AWS call, with growing random pauses between them.")
    connect_timeout_s: float = Field(5, gt=0, description="Seconds to wait for a connection to an AWS service.")
    read_timeout_s: float = Field(60, gt=0, description="Seconds to wait for an AWS service to go on answering.")


class S3Settings(_Group):
    bucket: str | None = Field(None, description="S3 bucket of all objects; it must have versioning.")
    landing_prefix: str = Field("landing/", description="Where the landing objects lie in it; ends with `/`.")
    derived_prefix: str = Field("derived/", description="Where the derived artefacts lie in it; ends with `/`.")
    multipart_mb: int = Field(
        64, ge=5, le=5000, description="An object above this size is uploaded in parts of a quarter of it, at least 5."
    )

    @field_validator("landing_prefix", "derived_prefix")
    @classmethod
    def _ends(cls, value: str) -> str:
        if value.startswith("/") or (value and not value.endswith("/")):
            raise ValueError("a prefix ends with / and does not begin with one")
        return value


class SqsSettings(_Group):
    uploads_queue_url: str | None = Field(
        None, description="SQS queue that tells of new landing objects (S3 notifications or EventBridge); empty: none."
    )
    wait_s: int = Field(
        1,
        ge=1,
        le=20,
        description="Longest wait of one look at the queue for a message, in seconds. Longer holds up the other sensors"
        " unless Dagster's `sensors.use_threads` is on.",
    )
    visibility_s: int = Field(
        120, ge=10, description="A message that was read and not finished comes again after so long, in seconds."
    )


class RedisSettings(_Group):
    url: SecretStr | None = Field(
        None, description="Redis of the cache: `rediss://user:password@host:6379/0` (TLS) or `redis://…`."
    )
    ca_file: Path | None = Field(
        None, description="Certificates (PEM) that sign the Redis server's; empty: the system's."
    )
    timeout_s: float = Field(0.5, gt=0, description="Seconds to wait for Redis before the cache counts as empty.")


class BedrockSettings(_Group):
    embedding_model: Literal["titan-embed-text-v2", "titan-embed-text-v2-512", "titan-embed-text-v2-256"] = Field(
        "titan-embed-text-v2",
        description="Embedding model of the AWS adapter: Titan Text v2 with vectors of length 1024, 512 or 256.",
    )
    image_model: Literal["titan-embed-image-v1", "titan-embed-image-v1-384", "titan-embed-image-v1-256"] = Field(
        "titan-embed-image-v1",
        description="Model of image vectors of the AWS adapter: Titan Multimodal with vectors of length 1024, 384 or"
        " 256.",
    )
    concurrency: int = Field(16, ge=1, description="Most embedding calls at once; fewer while Bedrock throttles.")
    max_attempts: int = Field(
        8, ge=1, description="Tries of one embedding call while Bedrock throttles or does not answer in time."
    )


class AthenaSettings(_Group):
    database: str = Field(
        "askline",
        pattern=r"^[a-z][a-z0-9_]{0,200}$",
        description="Glue database of the tables; those that dbt builds in begin with its name.",
    )
    workgroup: str = Field(
        "askline",
        description="Athena work group of every statement; it must not enforce a place of results of its own.",
    )
    output_location: str | None = Field(
        None,
        pattern=r"^s3://[^/]+/(.+/)?$",
        description="Folder `s3://bucket/…/` of Athena's results, which go when they are read; empty: `athena/` in the"
        " bucket of all objects.",
    )
    dbt_location: str | None = Field(
        None,
        pattern=r"^s3://[^/]+/(.+/)?$",
        description="Folder `s3://bucket/…/` in which dbt builds; it is emptied after each build. Empty: `dbt/` in the"
        " bucket of all objects.",
    )
    scan_limit_mb: int = Field(
        10_000,
        ge=10,
        description="Most bytes that one statement may read, in MB of 1,000,000 bytes; the work group is made with it.",
    )


class OpenSearchSettings(_Group):
    url: str | None = Field(None, description="Endpoint of the OpenSearch domain: `https://…` (TLS) or `http://…`.")
    auth: Literal["none", "basic", "sigv4"] = Field(
        "sigv4", description="How OpenSearch knows us: sigv4 signs with the AWS credentials; basic: user and password."
    )
    user: str | None = Field(None, description="User of basic authentication at OpenSearch.")
    password: SecretStr | None = Field(None, description="Password of basic authentication at OpenSearch.")
    service: Literal["es", "aoss"] = Field(
        "es", description="The service that is signed for. aoss (Serverless) is refused: it cannot keep versions whole."
    )
    ca_file: Path | None = Field(
        None, description="Certificates (PEM) that sign OpenSearch's; empty: those of the package certifi."
    )
    engine: Literal["lucene", "faiss"] = Field(
        "lucene", description="k-NN engine of a new index; faiss where there are many millions of chunks."
    )
    shards: int = Field(1, ge=1, description="Shards of a new index; about one for 30 GB.")
    replicas: int = Field(1, ge=0, description="Copies of each shard of a new index; 0 on a single node.")
    index_prefix: str = Field(
        "askline-", pattern="^[a-z0-9][a-z0-9._-]*$", description="What the names of our indexes begin with."
    )
    timeout_s: float = Field(30, gt=0, description="Seconds to wait for one answer of OpenSearch.")


class Settings(BaseSettings):
    """All settings. Read it through `get_settings()`."""

    model_config = SettingsConfigDict(
        env_prefix="ASKLINE_", env_nested_delimiter="__", env_file=".env", extra="ignore", frozen=True
    )

    profile: AdapterName = Field("embedded", description="Which adapters are used where no other is named.")
    data_dir: Path = Field(Path(".askline"), description="Folder of everything that the embedded profile stores.")
    landing_dir: Path | None = Field(
        None, description="Landing folder, into which files may also be copied; empty: `landing` in the data folder."
    )
    domain: str = Field("healthcare", description="Folder under domains/ that fits Askline to a field.")
    adapters: AdapterSettings = AdapterSettings()
    database: DatabaseSettings = DatabaseSettings()
    service: ServiceSettings = ServiceSettings()
    dagster: DagsterSettings = DagsterSettings()
    ingestion: IngestionSettings = IngestionSettings()
    parsing: ParsingSettings = ParsingSettings()
    ocr: OcrSettings = OcrSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    search: SearchSettings = SearchSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    query: QuerySettings = QuerySettings()
    aws: AwsSettings = AwsSettings()
    s3: S3Settings = S3Settings()
    sqs: SqsSettings = SqsSettings()
    redis: RedisSettings = RedisSettings()
    bedrock: BedrockSettings = BedrockSettings()
    opensearch: OpenSearchSettings = OpenSearchSettings()
    athena: AthenaSettings = AthenaSettings()

    @property
    def folder(self) -> Path:
        return self.data_dir.expanduser().absolute()

    @property
    def landing_folder(self) -> Path:
        return (self.landing_dir.expanduser().absolute()) if self.landing_dir else self.folder / "landing"

    @property
    def embedding_model(self) -> str:
        return self.bedrock.embedding_model if self.adapter("embeddings") == "aws" else self.embeddings.model

    def adapter(self, port: str) -> AdapterName:
        chosen: AdapterName | None = getattr(self.adapters, port)
        return chosen or self.profile


@cache
def get_settings() -> Settings:
    """The settings of this process. ConfigurationError names what is wrong, by its environment name."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = [
            f"ASKLINE_{'__'.join(str(part) for part in item['loc']).upper()}: {item['msg']}" for item in error.errors()
        ]
        raise ConfigurationError("; ".join(wrong)) from error

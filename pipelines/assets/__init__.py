"""The ingest assets, in the order of DESIGN's graph; dbt's are in `pipelines.assets.dbt`."""

from pipelines.assets.chunks import chunks, embeddings
from pipelines.assets.graph import graph_edges, graph_nodes
from pipelines.assets.parsed_text import parsed_text
from pipelines.assets.postgres_copies import postgres_copies
from pipelines.assets.raw_files import raw_files
from pipelines.assets.search_index import search_index
from pipelines.assets.tables import structured_tables, table_links

INGEST_ASSETS = [
    raw_files,
    structured_tables,
    postgres_copies,
    table_links,
    parsed_text,
    chunks,
    embeddings,
    search_index,
    graph_nodes,
    graph_edges,
]

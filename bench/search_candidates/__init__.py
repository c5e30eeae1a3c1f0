"""The search engines that docs/adr/0001-embedded-search.md compares; needs lancedb, usearch and pgvector installed."""

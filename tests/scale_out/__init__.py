"""Askline on several machines: workers in network namespaces of their own, over one Redis, Postgres, S3, OpenSearch."""

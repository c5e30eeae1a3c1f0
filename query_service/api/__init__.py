"""One module a resource: a router, its schemas, and calls into the registry or the question graph."""

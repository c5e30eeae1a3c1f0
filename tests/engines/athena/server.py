"""`python -m tests.engines.athena.server PORT TRINO_URL`: moto whose Athena runs its statements on Trino."""

from __future__ import annotations

import logging
import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

from tests.engines.athena.api import install


def main(port: str, trino_url: str) -> None:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    install(trino_url)
    run_simple("127.0.0.1", int(port), DomainDispatcherApplication(create_backend_app), threaded=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

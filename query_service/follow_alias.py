"""When the alias of the search index moves, the service takes new stores with the new index's embedding model."""

from __future__ import annotations

import asyncio
import logging

from fastapi import FastAPI

from foundation.errors import Unavailable
from foundation.stores import Stores
from query_service.question_graph import build_graph
from query_service.services import Services

_LOOK_S = 2.0
_IN_USE_S = 60.0
"""So long a question that was asked before the change may still read the old index."""

logger = logging.getLogger(__name__)


async def follow_alias(app: FastAPI) -> None:
    """Look at the alias until cancelled. The new services are warm before they take over."""
    while True:
        await asyncio.sleep(_LOOK_S)
        try:
            if await asyncio.to_thread(app.state.services.stores.outdated):
                await _take_new(app)
        except Unavailable as error:
            logger.warning("the alias of the search index was not read this time: %s", error.code)


async def _take_new(app: FastAPI) -> None:
    old: Services = app.state.services
    new = Services(old.settings, Stores(old.settings))
    await asyncio.to_thread(new.warm_up)
    app.state.services, app.state.graph = new, build_graph(new)
    logger.info("search index %s answers from now on", new.stores.serving.name)
    asyncio.get_running_loop().call_later(_IN_USE_S, old.stores.close)

"""A reverse proxy that guards nothing: the parts that ours stands on, put together as their guides do.

    python benchmarks/proxy.py --beside "python benchmarks/bare_proxy.py {upstream} {port}"

What it adds is the floor under what a guarding proxy of these parts can add on the same machine.
"""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "host", "content-length")


def bare_proxy(upstream: str) -> Starlette:
    limits = httpx.Limits(max_connections=None)
    client = httpx.AsyncClient(base_url=upstream, timeout=httpx.Timeout(None), limits=limits, trust_env=False)

    async def pass_on(request: Request) -> Response:
        body = await request.body()
        headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
        asked = client.build_request(request.method, request.url.path, headers=headers, content=body)
        answer = await client.send(asked, stream=True)
        told = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP[:4]}
        return StreamingResponse(
            answer.aiter_raw(), status_code=answer.status_code, headers=told, background=BackgroundTask(answer.aclose)
        )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["GET", "POST"])], lifespan=lifespan)


def main() -> None:
    upstream, port = sys.argv[1:]
    logging.getLogger("httpx").setLevel(logging.WARNING)
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.keep_alive_max_requests = 1_000_000
    trio.run(serve, cast(Any, bare_proxy(upstream)), config)


if __name__ == "__main__":
    main()

"""What HTTP/2 to an upstream costs the proxy, against HTTP/1.1 to the same one, both over TLS, in one run.

    python benchmarks/proxy_http2.py [--seconds 6]

The upstream is hypercorn with a certificate made for the run; it offers both. Prints the proxy's processor time for a
request of 1 MB and for an event that streams by, and the time a request takes alone.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import trio
import trustme
from benchmarks.proxy import (
    CONVERSATIONS,
    EVENT,
    PATHS,
    SHORT,
    STREAM,
    Target,
    check_edited,
    conversation,
    follow_up,
    read_line,
    seed,
    used,
)
from hypercorn.config import Config as ServerConfig
from hypercorn.trio import serve

REQUESTS = 200
STREAMS = 50


async def upstream(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        return
    is_stream = scope["path"] == STREAM.decode()
    length = (b"content-length", str(len(SHORT)).encode())
    headers = [(b"content-type", b"text/event-stream")] if is_stream else [length]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while is_stream:
        await send({"type": "http.response.body", "body": EVENT, "more_body": True})
        await trio.sleep(0.1)
    await send({"type": "http.response.body", "body": SHORT, "more_body": False})


async def serve_upstream(certificate: str) -> None:
    config = ServerConfig()
    config.bind = ["127.0.0.1:0"]
    config.certfile = config.keyfile = certificate
    config.alpn_protocols = ["h2", "http/1.1"]
    config.h2_max_concurrent_streams = 1_000
    config.accesslog = config.errorlog = None
    async with trio.open_nursery() as nursery:
        (url,) = await nursery.start(serve, upstream, config)
        print(url, flush=True)


async def measure(pid: int, address: str, bodies: list[bytes], seconds: float) -> tuple[float, float, float]:
    """Milliseconds: processor time of a request and of an event, and the median time of a request."""
    await check_edited(address, bodies)
    target, sent = Target(address), [follow_up(body) for body in bodies]
    begin, took = used(pid), []
    for number in range(REQUESTS):
        at = time.perf_counter()
        await target.post(sent[number % len(sent)])
        took.append(time.perf_counter() - at)
    request = (used(pid) - begin) / REQUESTS
    async with trio.open_nursery() as nursery:
        for _ in range(STREAMS):
            nursery.start_soon(Target(address).follow)
        await trio.sleep(2)
        begin, start = used(pid), time.perf_counter()
        await trio.sleep(seconds)
        event = (used(pid) - begin) / (STREAMS * 10 * (time.perf_counter() - start))
        nursery.cancel_scope.cancel()
    return request * 1e3, event * 1e3, statistics.median(took) * 1e3


def start(words: list[str], authority: Path | None = None) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    if authority is not None:
        environment["SSL_CERT_FILE"] = str(authority)
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=environment)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--seconds", type=float, default=6)
    arguments.add_argument("--upstream", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.upstream:
        trio.run(serve_upstream, given.upstream)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "own.pem")
        bodies = [conversation(number) for number in range(CONVERSATIONS)]
        seed(folder / "store.db", bodies)
        running = [start([__file__, "--upstream", str(folder / "own.pem")])]
        url = read_line(running[0])
        load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
        print(f"{os.cpu_count()} processors, load before the run {load} (1, 5, 15 minutes)\n")
        found = {}
        try:
            for kind, more in (("HTTP/1.1", []), ("HTTP/2", ["--http2"])):
                options = ["--listen", "127.0.0.1:0", "--upstream", f"fake={url}", "--quiet", *more]
                words = ["-m", "context_guard_effects", "proxy", "--store", str(folder / "store.db"), *options]
                running.append(start(words, folder / "ca.pem"))
                address = read_line(running[-1])
                found[kind] = trio.run(measure, running[-1].pid, address, bodies, given.seconds)
                request, event, median = found[kind]
                print(f"{kind:8}  {request:6.1f} ms a request of 1 MB, {event:.2f} ms an event; alone {median:.1f} ms")
        finally:
            for process in running:
                process.terminate()
                process.wait()
        ratios = [two / one for one, two in zip(found["HTTP/1.1"], found["HTTP/2"], strict=True)]
        print("HTTP/2 over HTTP/1.1: x {:.1f} a request, x {:.1f} an event, x {:.1f} alone".format(*ratios))


if __name__ == "__main__":
    main()

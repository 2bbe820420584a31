"""What the proxy adds, against the same upstream without it, in one run; and what it takes and gives back.

    python benchmarks/proxy.py [--quick] [--two] [--beside COMMAND]

An upstream, the proxy (with its judging process) and the load each have a process of their own on this machine, so
they share its processors. Bodies are conversations of 1 MB, in which the proxy edits every tool output. `--beside`
measures another proxy too: its command line, in which {upstream} and {port} are filled in. `--two` measures two of ours
on one store as well, asked in turn.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

import trio
from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
PATHS = [str(ROOT), str(ROOT / "pipeline"), str(ROOT / "effects")]
sys.path[:0] = PATHS

from context_guard.edit_log import LoggedPass, RawOutput, Replaced  # noqa: E402
from context_guard.formats.codec import CODECS  # noqa: E402
from context_guard.formats.message_list import entry_ids  # noqa: E402
from context_guard.transcript import text_of  # noqa: E402
from context_guard_effects.store import open_store  # noqa: E402

RESULTS = 40
"""Tool results of a conversation, which together make its size."""
SIZE = 1_000_000
CONVERSATIONS = 8
EVENT = b'event: ping\ndata: {"type": "ping"}\n\n'
SHORT = json.dumps(
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Line 7 of part 3 has it."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
).encode()
STREAM = b"/v1/stream"
"""A path whose reply is a stream of ten events a second, until the other side closes."""


Places = tuple[str, ...]
"""Addresses of what is measured, asked in turn."""


class Plan(Struct, frozen=True):
    seconds: float
    streams: int
    uploads: int
    few: int
    many: int


FULL = Plan(seconds=30, streams=200, uploads=200, few=2_000, many=20_000)
QUICK = Plan(seconds=6, streams=200, uploads=200, few=200, many=2_000)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--quick", action="store_true", help="shorter phases, 2,000 requests for the memory")
    arguments.add_argument("--beside", metavar="COMMAND", help="another proxy, {upstream} and {port} filled in")
    arguments.add_argument("--two", action="store_true", help="also two proxies on one store")
    arguments.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.upstream:
        trio.run(serve_upstream)
        return
    with tempfile.TemporaryDirectory() as folder:
        upstream = start([__file__, "--upstream"])
        address = read_line(upstream)
        store = Path(folder) / "store.db"
        bodies = [conversation(number) for number in range(CONVERSATIONS)]
        seed(store, bodies)
        options = ["--listen", "127.0.0.1:0", "--upstream", f"fake={address}", "--store", str(store), "--quiet"]
        proxies = [start(["-m", "context_guard_effects", "proxy", *options]) for _ in range(2 if given.two else 1)]
        running = [*proxies, upstream]
        addresses = [read_line(proxy) for proxy in proxies]
        places: dict[str, Places] = {"direct": (address,), "proxy": (addresses[0],)}
        if given.two:
            places["two"] = tuple(addresses)
        try:
            if given.beside:
                other, its_place = start_other(given.beside, address)
                running.append(other)
                places["beside"] = (its_place,)
            trio.run(measure, places, proxies[0].pid, bodies, QUICK if given.quick else FULL)
        finally:
            for process in running:
                process.terminate()
                process.wait()


def start(words: list[str]) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=environment)


def start_other(command: str, upstream: str) -> "tuple[subprocess.Popen[str], str]":
    """Another proxy, once it takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [word.format(upstream=upstream, port=port) for word in shlex.split(command)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return process, f"http://127.0.0.1:{port}"
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"{words[0]} takes no connections on port {port}: run its command by hand to see why.")


def read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def measure(places: dict[str, Places], pid: int, bodies: list[bytes], plan: Plan) -> None:
    (proxied,) = places["proxy"]
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    print(f"{os.cpu_count()} processors, load before the run {load} (1, 5, 15 minutes); {SIZE / 1e6:g} MB a request\n")
    await check_edited(proxied, bodies)
    await use(proxied, pid, bodies, plan)
    for rate, streams in ((60, 0), (20, plan.streams)):
        name = f"{rate} requests a second" + (f" beside {streams} open streams" if streams else "")
        found = {}
        for kind, addresses in places.items():
            async with trio.open_nursery() as nursery:
                for number in range(streams):
                    nursery.start_soon(Target(addresses[number % len(addresses)]).follow)
                await trio.sleep(1 if streams else 0)
                found[kind] = await at_rate(addresses, bodies, rate, plan.seconds)
                nursery.cancel_scope.cancel()
        tell(name, found)
    print(f"{plan.uploads} uploads at once")
    for kind, addresses in places.items():
        took, succeeded = await at_once(addresses, bodies, plan.uploads)
        print(f"  {kind:6}  {succeeded} succeed, in {took:.2f} s")
    print()
    await grow(proxied, pid, bodies, plan)


def seed(path: Path, bodies: list[bytes]) -> None:
    """An edit for every output of every conversation, as if a judge had kept a tenth of each."""
    with open_store(path) as store:
        for body in bodies:
            read = CODECS["anthropic"].read(json.loads(follow_up(body))["messages"]).unwrap()
            ids = entry_ids(read)
            outputs = [(id, text_of(it.blocks)) for id, it in zip(ids, read, strict=True) if it.role == "tool"]
            witness = [id for id, it in zip(ids, read, strict=True) if it.role == "assistant"][-1]
            edits = tuple(Replaced(id, (f"[context-guard] {text[: len(text) // 10]}",)) for id, text in outputs)
            raws = tuple(RawOutput(id=id, text=text) for id, text in outputs)
            store.keep(LoggedPass(witness=witness, edits=edits), raws)


async def use(address: str, pid: int, bodies: list[bytes], plan: Plan) -> None:
    """The proxy's own processor time, which depends less on what else the machine does."""
    target = Target(address)
    sent = [follow_up(body) for body in bodies]
    count = plan.few // 4
    begin = used(pid)
    for number in range(count):
        await target.post(sent[number % len(sent)])
    print(f"processor time of the proxy: {(used(pid) - begin) / count * 1e3:.1f} ms a request of 1 MB", end=", ")
    streams = 50
    async with trio.open_nursery() as nursery:
        for _ in range(streams):
            nursery.start_soon(Target(address).follow)
        await trio.sleep(2)
        begin, start = used(pid), trio.current_time()
        await trio.sleep(plan.seconds)
        events = streams * 10 * (trio.current_time() - start)
        print(f"{(used(pid) - begin) / events * 1e3:.2f} ms an event that streams by\n")
        nursery.cancel_scope.cancel()


def used(pid: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def check_edited(address: str, bodies: list[bytes]) -> None:
    for body in bodies:
        head = await Target(address).post(follow_up(body))
        assert f"edits={RESULTS}".encode() in head, "a conversation is not edited"


async def at_rate(addresses: Places, bodies: list[bytes], rate: int, seconds: float) -> list[float]:
    """Seconds each request took, begun at this rate whether the ones before are done or not."""
    took: list[float] = []
    idle: dict[str, list[Target]] = {address: [] for address in addresses}

    async def one(body: bytes, address: str) -> None:
        target = idle[address].pop() if idle[address] else Target(address)
        begin = time.perf_counter()
        await target.post(body)
        took.append(time.perf_counter() - begin)
        idle[address].append(target)

    sent = [follow_up(body) for body in bodies]
    async with trio.open_nursery() as nursery:
        begin = trio.current_time()
        for number in range(round(rate * seconds)):
            await trio.sleep_until(begin + number / rate)
            # A conversation's requests go to one and the other.
            nursery.start_soon(one, sent[number // len(addresses) % len(sent)], addresses[number % len(addresses)])
    for target in itertools.chain(*idle.values()):
        await target.close()
    return took


async def at_once(addresses: Places, bodies: list[bytes], count: int) -> tuple[float, int]:
    done: list[bytes] = []

    async def one(body: bytes, address: str) -> None:
        target = Target(address)
        done.append(await target.post(body))
        await target.close()

    begin = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(one, bodies[number % len(bodies)], addresses[number % len(addresses)])
    return time.perf_counter() - begin, sum(head.startswith(b"HTTP/1.1 200") for head in done)


async def grow(address: str, pid: int, bodies: list[bytes], plan: Plan) -> None:
    """Memory and descriptors after few and after many requests, eight at a time."""
    sent = [follow_up(body) for body in bodies]
    figures: list[tuple[int, int]] = []
    count = 0

    async def client(until: int) -> None:
        nonlocal count
        target = Target(address)
        while count < until:
            count += 1
            await target.post(sent[count % len(sent)])
        await target.close()

    for until in (plan.few, plan.many):
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(client, until)
        await trio.sleep(2)
        figures.append((resident(pid), len(list(Path(f"/proc/{pid}/fd").iterdir()))))
    (before, descriptors), (after, later) = figures
    print(
        f"memory: {before / 1e6:.0f} MB after {plan.few:,} requests, {after / 1e6:.0f} MB after {plan.many:,}, "
        f"ratio {after / before:.2f}; descriptors {descriptors} and {later}"
    )


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def tell(name: str, found: dict[str, list[float]]) -> None:
    """Each against the same upstream without a proxy."""
    print(f"{name}, {len(found['direct'])} of each")
    at = {kind: quantiles(took, n=100) for kind, took in found.items()}
    for label, place in (("p50", 49), ("p99", 98)):
        direct = at["direct"][place] * 1e3
        print(f"  {label}  direct {direct:7.1f} ms")
        for kind in found.keys() - {"direct"}:
            ours = at[kind][place] * 1e3
            added = f"added {(ours - direct) / (SIZE / 1e6):7.1f} ms per MB"
            print(f"       {kind:6} {ours:7.1f} ms  x {ours / direct:5.1f}  {added}")
    print()


def conversation(number: int) -> bytes:
    """A run up to the request whose reply ends it."""
    line = "src/part_{n}.py:{at}: value = compute({at}, scale={n}) + offset"
    size = SIZE // RESULTS
    messages: list[Any] = [{"role": "user", "content": f"Where is value {number} set?"}]
    for result in range(RESULTS):
        name = f"call_{number}_{result}"
        lines = (line.format(n=result, at=at) for at in range(number, number + size // len(line)))
        call = {"type": "tool_use", "id": name, "name": "search", "input": {"q": str(result)}}
        output = {"type": "tool_result", "tool_use_id": name, "content": "\n".join(lines)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [output]}]
    return json.dumps({"model": "model-1", "max_tokens": 100, "messages": messages}).encode()


def follow_up(body: bytes) -> bytes:
    """The next prompt behind the reply that ended the run."""
    given = json.loads(body)
    given["messages"] += [{"role": "assistant", "content": json.loads(SHORT)["content"]}]
    given["messages"] += [{"role": "user", "content": "Thank you. And then?"}]
    return json.dumps(given).encode()


class Target:
    """One connection, kept open."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self._place = (host, int(port))
        self._stream: trio.SocketStream | None = None

    async def post(self, body: bytes) -> bytes:
        """The head of the reply, once all of it is there."""
        stream = await self._open()
        await stream.send_all(head(b"POST", b"/v1/messages", len(body)) + body)
        got = b""
        while b"\r\n\r\n" not in got:
            got += await self._some(stream)
        found, _, rest = got.partition(b"\r\n\r\n")
        length = int(found.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(rest) < length:
            rest += await self._some(stream)
        return found

    async def follow(self) -> None:
        stream = await self._open()
        await stream.send_all(head(b"POST", STREAM, 0))
        while await stream.receive_some():
            pass

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()

    async def _open(self) -> trio.SocketStream:
        if self._stream is None:
            self._stream = await trio.open_tcp_stream(*self._place)
        return self._stream

    async def _some(self, stream: trio.SocketStream) -> bytes:
        piece = await stream.receive_some()
        if not piece:
            raise EOFError("the connection was closed before the reply was whole")
        return bytes(piece)


def head(method: bytes, path: bytes, length: int) -> bytes:
    return b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (method, path, length)


async def serve_upstream() -> None:
    """Takes a request, and gives a short reply or a stream; as little work as can be."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=1_000)
    print(f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}", flush=True)
    await trio.serve_listeners(answer, listeners)


async def answer(stream: trio.SocketStream) -> None:
    got = bytearray()
    try:
        while True:
            while (end := got.find(b"\r\n\r\n")) < 0:
                if not (piece := await stream.receive_some()):
                    return
                got += piece
            top = bytes(got[:end]).lower()
            length = int(top.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in top else 0
            left = end + 4 + length - len(got)
            while left > 0:
                left -= len(await stream.receive_some())
            got.clear()
            await reply(stream, STREAM in top)
    except trio.BrokenResourceError:
        return


async def reply(stream: trio.SocketStream, is_stream: bool) -> None:
    if not is_stream:
        sent = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        await stream.send_all(sent % (len(SHORT), SHORT))
        return
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    await trio.sleep(random.random() * 0.1)  # models do not speak in step
    while True:
        await stream.send_all(b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
        await trio.sleep(0.1)


if __name__ == "__main__":
    main()

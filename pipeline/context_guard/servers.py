"""Where judges live: addresses, keys' names, models, prices and context sizes, as data.

A judge is named by a reference (docs/judges.md): `jev`, `typesafe/jev-latest`, `openrouter/~typesafe/jev-latest`,
`http://127.0.0.1:8080/v1#model`, `logprobs:ollama/qwen3.5:9b`.
"""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.addresses import read_root

Wire = Literal["system-one", "logprobs"]

JEV_TOKENS = 28_000
"""Aimed at in one request: Jev takes 32,000 for the state and the longest question."""
JEV_USD = 0.042
"""Per million input tokens; output is free."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
ALLOW_HTTP = "CONTEXT_GUARD_ALLOW_HTTP"
"""Set to 1, lets a request go without TLS to another machine."""
KEY = "CONTEXT_GUARD_JUDGE_KEY"
"""The key for a server that is named by its address; no other key is ever sent there."""


class Server(Struct, frozen=True):
    """One model on one server."""

    name: str
    """As the record calls it: `typesafe/jev-1.13.0`."""
    wire: Wire
    url: str
    """Full address of the endpoint."""
    model: str
    key_name: str = ""
    """Environment variable of the key."""
    needs_key: bool = False
    usd_per_million: float = 0.0
    context_tokens: int = JEV_TOKENS

    @property
    def is_loopback(self) -> bool:
        return urlsplit(self.url).hostname in _LOOPBACK


class _Provider(Struct, frozen=True):
    root: str
    wire: Wire = "system-one"
    root_name: str = ""
    """Environment variable that replaces the root."""
    key_name: str = ""
    needs_key: bool = False
    model: str = ""
    model_name: str = ""
    usd_per_million: float = 0.0
    context_tokens: int = JEV_TOKENS
    prefix: str = ""
    """Added to a root from the environment."""
    port: int | None = None
    """Where a root from the environment may lack one."""


PROVIDERS: dict[str, _Provider] = {
    "typesafe": _Provider(
        root="https://api.typesafe.ai",
        root_name="TYPESAFE_BASE_URL",
        key_name="TYPESAFE_API_KEY",
        needs_key=True,
        model="jev-1.13.0",
        model_name="TYPESAFE_DEFAULT_MODEL",
        usd_per_million=JEV_USD,
    ),
    "openrouter": _Provider(
        root="https://openrouter.ai/api",
        key_name="OPENROUTER_API_KEY",
        needs_key=True,
        model="typesafe/jev-1.13",
        usd_per_million=JEV_USD,
    ),
    "vercel": _Provider(
        root="https://ai-gateway.vercel.sh/typesafe",
        key_name="AI_GATEWAY_API_KEY",
        needs_key=True,
        model="typesafe-ai/jev-1.13.0",
        usd_per_million=JEV_USD,
    ),
    "opencode": _Provider(
        root="https://opencode.ai/inference/systemone",
        key_name="OPENCODE_API_KEY",
        needs_key=True,
        model="jev-1.13",
        usd_per_million=JEV_USD,
    ),
    "litellm": _Provider(
        root="http://127.0.0.1:4000/typesafe",
        root_name="LITELLM_BASE_URL",
        prefix="/typesafe",
        key_name="LITELLM_API_KEY",
        model="jev-1.13.0",
        usd_per_million=JEV_USD,
    ),
    "laya": _Provider(
        root="http://127.0.0.1:8000",
        root_name="LAYA_BASE_URL",
        key_name="LAYA_API_KEY",
        model="laya-rl-agent",
        context_tokens=1_000,
    ),
    "kev": _Provider(
        root="http://127.0.0.1:8009",
        root_name="KEV_BASE_URL",
        key_name="KEV_API_KEY",
        model="kev",
        context_tokens=8_000,
    ),
    "llama.cpp": _Provider(
        root="http://127.0.0.1:8080", wire="logprobs", root_name="LLAMA_CPP_BASE_URL", key_name="LLAMA_CPP_API_KEY"
    ),
    "ollama": _Provider(
        root="http://127.0.0.1:11434",
        wire="logprobs",
        root_name="OLLAMA_HOST",
        key_name="OLLAMA_API_KEY",
        port=11434,
    ),
    "vllm": _Provider(
        root="http://127.0.0.1:8000", wire="logprobs", root_name="VLLM_BASE_URL", key_name="VLLM_API_KEY"
    ),
}
SHORT = {"jev": "typesafe", "vercel-ai-gateway": "vercel", "llama-cpp": "llama.cpp"}
_SYSTEM_ONE = {"system-one": ("/systemone", "/decisions"), "logprobs": ("/chat/completions",)}


def find_server(reference: str, environment: Mapping[str, str]) -> Result[Server, str]:
    """The server that a reference names, or one line on what is wrong with it. Nothing is looked up but names of keys'
    variables, addresses and default models."""
    wire: Wire | None = None
    for prefix in ("system-one", "logprobs"):
        if reference.startswith(f"{prefix}:"):
            wire, reference = (
                ("logprobs" if prefix == "logprobs" else "system-one"),
                reference.removeprefix(f"{prefix}:"),
            )
    if reference.startswith(("http://", "https://")):
        return _by_address(reference, wire or "system-one", environment)
    name, _, model = reference.partition("/")
    name = SHORT.get(name, name)
    provider = PROVIDERS.get(name)
    if provider is None:
        return Failure(f"{name!r} is no known provider (known: {', '.join(PROVIDERS)}), local or an http(s) address")
    model = model or environment.get(provider.model_name, "") or provider.model
    if not model:
        return Failure(f"{name} needs a model: {name}/MODEL")
    wire = wire or provider.wire
    server = Server(
        name=f"{name}/{model}" if wire == "system-one" else f"{name}/{model} (log-probabilities)",
        wire=wire,
        url=endpoint(provider.root, wire),
        model=model,
        key_name=provider.key_name,
        needs_key=provider.needs_key,
        usd_per_million=provider.usd_per_million,
        context_tokens=provider.context_tokens,
    )
    value = environment.get(provider.root_name, "").strip()
    if not value:
        return Success(server)
    root = read_root(provider.root_name, value, provider.port)
    return root.bind(lambda found: _checked(_moved(server, found, provider.prefix), provider.root_name, environment))


def _moved(server: Server, root: str, prefix: str) -> Server:
    whole = root if root.endswith(prefix) else root + prefix
    return msgspec.structs.replace(server, url=endpoint(whole, server.wire))


def endpoint(root: str, wire: Wire) -> str:
    """A root gets the path of the wire, one that ends in /v1 its last part, a full address is taken as it is."""
    root = root.rstrip("/")
    ends = _SYSTEM_ONE[wire]
    path = urlsplit(root).path
    if path.endswith(ends):
        return root
    return root + ends[0] if path.endswith("/v1") else f"{root}/v1{ends[0]}"


def _by_address(reference: str, wire: Wire, environment: Mapping[str, str]) -> Result[Server, str]:
    what = "the judge's address"
    address, _, model = reference.partition("#")
    address, _, query = address.partition("?")
    if "@" in address.partition("://")[2].partition("/")[0]:
        return Failure(f"{what} holds a key or password: put it into {KEY}")
    if not model:
        return Failure(f"{what} names no model: add #MODEL")
    asked = parse_qs(query)
    tokens = asked.pop("context", ["0"])[0]
    if asked:
        return Failure(f"{what} has an unknown part ?{next(iter(asked))}= (known: context)")
    if not tokens.isdecimal():
        return Failure(f"context= in {what} is no whole number")
    return read_root(what, address).bind(lambda root: _addressed(root, model, wire, int(tokens), environment))


def _addressed(root: str, model: str, wire: Wire, tokens: int, environment: Mapping[str, str]) -> Result[Server, str]:
    name = f"{urlsplit(root).netloc}/{model}"
    server = Server(
        name=name if wire == "system-one" else f"{name} (log-probabilities)",
        wire=wire,
        url=endpoint(root, wire),
        model=model,
        key_name=KEY,
        context_tokens=tokens or JEV_TOKENS,
    )
    return _checked(server, "", environment)


def _checked(server: Server, variable: str, environment: Mapping[str, str]) -> Result[Server, str]:
    """`variable`: where the address is from, when it is not the reference itself."""
    is_plain = urlsplit(server.url).scheme != "https"
    if is_plain and not server.is_loopback and environment.get(ALLOW_HTTP) != "1":
        source = f" (from {variable})" if variable else ""
        risk = "what the judge reads would cross the network in the clear"
        return Failure(f"{server.url}{source} is not https: {risk} ({ALLOW_HTTP}=1 allows it)")
    return Success(server)

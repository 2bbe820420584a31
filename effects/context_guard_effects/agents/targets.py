"""What each agent needs to send its requests through the local proxy and to recall, as additions to its files.

Facts of the agents, each tried with the real one (`tests/outside/test_agents.py`): where its settings lie, how its base
URL is named, how an MCP server is registered. No key is read or written.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard_effects.agents.document import MISSING, Document
from context_guard_effects.agents.document import Path as Keys
from context_guard_effects.agents.settings import Addition, Setting, open_document
from context_guard_effects.mcp_name import NAME
from context_guard_effects.store.place import VARIABLE, Server, default_place, has_password

OPENCODE_APIS = {"anthropic": "/anthropic/v1", "openai": "/openai/v1"}
"""Providers of OpenCode that can go through the proxy, and their paths there."""


class Wish(Struct, frozen=True):
    """What the user asked for."""

    proxy: str
    """Its address, without a path."""
    providers: tuple[str, ...] = ()
    """OpenCode: those that go through the proxy; by default those that its file names."""


class Conflict(Exception):
    """The agent is set up in a way that must not be overwritten; what it is, and what to do by hand."""


def claude_code(wish: Wish, environment: Mapping[str, str]) -> tuple[Addition, ...]:
    named = environment.get("CLAUDE_CONFIG_DIR")
    folder = Path(named).expanduser() if named else _home(environment) / ".claude"
    state = folder / ".claude.json" if named else _home(environment) / ".claude.json"
    keys = ("env", "ANTHROPIC_BASE_URL")
    url = f"{wish.proxy}/anthropic"
    settings = folder / "settings.json"
    _refuse_other(settings, keys, url, "the proxy's --upstream anthropic=")
    server = {"type": "stdio", **_server(environment), "alwaysLoad": True}
    return (
        Addition(settings, (Setting(keys, url),)),
        Addition(state, (Setting(("mcpServers", NAME), server),)),
    )


def codex(wish: Wish, environment: Mapping[str, str]) -> tuple[Addition, ...]:
    named = environment.get("CODEX_HOME")
    file = (Path(named).expanduser() if named else _home(environment) / ".codex") / "config.toml"
    _refuse_other(file, ("model_provider",), NAME, "the proxy's --upstream openai=", allowed="openai")
    provider = {
        "name": "OpenAI through context-guard",
        "base_url": f"{wish.proxy}/openai/v1",
        "wire_api": "responses",
        "requires_openai_auth": True,
    }
    settings = (
        Setting(("model_provider",), NAME),
        Setting(("model_providers", NAME), provider),
        Setting(("mcp_servers", NAME), _server(environment)),
    )
    return (Addition(file, settings),)


def opencode(wish: Wish, environment: Mapping[str, str]) -> tuple[Addition, ...]:
    named = environment.get("XDG_CONFIG_HOME")
    folder = (Path(named).expanduser() if named else _home(environment) / ".config") / "opencode"
    file = next((folder / name for name in ("opencode.jsonc", "opencode.json") if (folder / name).exists()), None)
    file = file or folder / "opencode.json"
    settings = []
    for provider in wish.providers or _providers(file):
        keys = ("provider", provider, "options", "baseURL")
        url = f"{wish.proxy}{OPENCODE_APIS[provider]}"
        _refuse_other(file, keys, url, f"the proxy's --upstream {provider}=")
        settings.append(Setting(keys, url))
    server = _server(environment)
    command = [server["command"], *server["args"]]
    more = {"environment": server["env"]} if "env" in server else {}
    settings.append(Setting(("mcp", NAME), {"type": "local", "command": command, **more, "enabled": True}))
    return (Addition(file, tuple(settings)),)


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


def _server(environment: Mapping[str, str]) -> dict[str, Any]:
    """The MCP server's command: this Python, whatever the agent's PATH, and nothing out of the agent's folder."""
    command = {"command": sys.executable, "args": ["-P", "-m", "context_guard_effects.cli", "mcp"]}
    if not environment.get(VARIABLE):
        return command
    place = default_place(environment)
    if has_password(place):
        raise Conflict(f"{VARIABLE} holds a password, which would stand in the settings: put it into ~/.pgpass.")
    return command | {"env": {VARIABLE: place.url if isinstance(place, Server) else os.path.abspath(place)}}


def _providers(file: Path) -> tuple[str, ...]:
    """Those that OpenCode's own file names; without any, Anthropic. Where the keys lie is not looked at."""
    document = _opened(file)
    configured = document.get(("provider",))
    models = [document.get((key,)) for key in ("model", "small_model")]
    names = [*(configured if isinstance(configured, dict) else ())]
    names += [model.partition("/")[0] for model in models if isinstance(model, str)]
    found = tuple(name for name in OPENCODE_APIS if name in names)
    if names and not found:
        raise Conflict(
            f"{file} names only {', '.join(dict.fromkeys(names))}. Of OpenCode's providers anthropic and openai "
            "can be sent through the proxy: name one with --provider, or do it by hand: give the address of yours to "
            "the proxy's --upstream NAME=URL, and set its options.baseURL to the proxy's address with /NAME behind it."
        )
    return found or ("anthropic",)


def _refuse_other(file: Path, keys: Keys, ours: str, goes_to: str, allowed: str = "") -> None:
    """An address that is there already leads to somebody's gateway, which must not be lost."""
    found = _opened(file).get(keys)
    if found is MISSING or found == ours or (allowed and found == allowed) or _is_local_proxy(found, ours):
        return
    key = ".".join(keys)
    raise Conflict(
        f"{file} sets {key} to {found!r} already. Take it out there, give that address to {goes_to}URL, and install "
        "again."
    )


def _is_local_proxy(found: Any, ours: str) -> bool:
    """Ours at another port."""
    return (
        isinstance(found, str) and found.startswith("http://127.0.0.1:") and found.split("/")[3:] == ours.split("/")[3:]
    )


def _opened(file: Path) -> Document:
    try:
        return open_document(file, file.read_bytes())
    except FileNotFoundError:
        return open_document(file, b"")


AGENTS: dict[str, Callable[[Wish, Mapping[str, str]], tuple[Addition, ...]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
}

"""One adapter a peer: from a task to the texts that the peer would leave in place of its outputs.

Each goes through the peer's public functions, with the budget that the peer itself offers where it offers one, and
counts tokens as the peer counts them. Nothing here reaches the network.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.quality.peers.task import Large, Task, chat, texts_of
from msgspec import Struct

BUDGETS = (0.15, 0.3, 0.5)
"""Shares that a peer with a budget is asked to keep."""

Cut = Callable[[Task], list[str]]


class Peer(Struct, frozen=True):
    package: str
    """As pip calls it."""
    module: str
    rows: dict[str, Cut]
    """Settings by the name of their row."""


def litellm(share: float, task: Task) -> list[str]:
    """Whole messages by BM25 against the last user message; the one that does not fit is cut in its middle."""
    package = import_module("litellm")
    count = partial(package.token_counter, model="gpt-4o")
    messages = chat(task)
    large = sum(count(text=text) for text in texts_of(messages))
    around = sum(count(text=message["content"]) for message in messages if message["role"] != "tool")
    found = package.compress(
        messages, model="gpt-4o", compression_trigger=1, compression_target=int(around + share * large)
    )
    return texts_of(found["messages"])


def headroom(task: Task) -> list[str]:
    """Its one-call pipeline at its defaults, its downloaded model off, no message protected as recent."""
    done = import_module("headroom").compress(chat(task), model="gpt-4o", kompress_model="disabled", protect_recent=0)
    return texts_of(done.messages)


def headroom_by_kind(share: float, task: Task) -> list[str]:
    return [_headroom_one(output.text, task.query, share) for output in task.outputs]


def _headroom_one(text: str, query: str, share: float) -> str:
    """The compressor for what its own detection says a text is; prose and source go to its extractive one."""
    transforms = partial(_from, "headroom.transforms")
    kind = transforms("content_detector", "detect_content_type")(text).content_type.value
    lines = max(1, round(share * (text.count("\n") + 1)))
    if kind == "search":
        config = transforms("search_compressor", "SearchCompressorConfig")(
            max_total_matches=lines, max_matches_per_file=lines, max_files=lines
        )
        return str(transforms("search_compressor", "SearchCompressor")(config).compress(text, query).compressed)
    if kind == "build":
        config = transforms("log_compressor", "LogCompressorConfig")(max_total_lines=lines)
        return str(transforms("log_compressor", "LogCompressor")(config).compress(text).compressed)
    if kind == "diff":
        hunks = max(1, round(share * text.count("\n@@")))
        config = transforms("diff_compressor", "DiffCompressorConfig")(max_hunks_per_file=hunks)
        return str(transforms("diff_compressor", "DiffCompressor")(config).compress(text, query).compressed)
    if kind == "json_array":
        items = max(1, round(share * _items(text)))
        config = transforms("smart_crusher", "SmartCrusherConfig")(max_items_after_crush=items)
        return str(transforms("smart_crusher", "SmartCrusher")(config).crush(text, query).compressed)
    return str(transforms("text_crusher", "TextCrusher")().compress(text, query, share).compressed)


def distil(task: Task) -> list[str]:
    messages = import_module("distil").compress_messages(chat(task)).messages
    return texts_of(messages)


def distil_with_query(task: Task) -> list[str]:
    """Its digest with the words of the query pinned, as its proxy does for what is not cached yet."""
    digest = _from("distil.compress", "tier1", "digest")
    words = frozenset(_from("distil.compress", "intent", "terms_of")(task.query))
    return [str(digest(output.text, intent=words)[0]) for output in task.outputs]


def tooltrim(share: float, task: Task) -> list[str]:
    package = import_module("tooltrim")
    count = _from("tooltrim", "tokens", "count_tokens")
    trim = package.ToolCompressor(store=None, add_footer=False).compress
    return [
        str(trim(output.text, query=task.query, max_tokens=max(1, int(share * count(output.text)))).text)
        for output in task.outputs
    ]


def llmslim(share: float, task: Task) -> list[str]:
    compress = import_module("llmslim").ContextCompressor(context_role="tool").compress
    return [str(compress(output.text, target_ratio=share, query=task.query).compressed_text) for output in task.outputs]


def snipp(share: float | None, task: Task) -> list[str]:
    """By the command that was run; None leaves its own limits."""
    package = import_module("snipp")
    texts = []
    for output in task.outputs:
        config = package.Config.default()
        if share is not None:
            room = max(1, int(share * package.count_tokens(output.text)))
            limits = {name: replace(each, max_output_tokens=room) for name, each in config.compressors.items()}
            config = replace(config, default_max_tokens=room, compressors=limits)
        done = package.compress_output(output.text, command=_command(output), query=task.query, config=config)
        texts.append(str(done.compressed))
    return texts


def leancontext(fidelity: float | None, task: Task) -> list[str]:
    reduce_text = import_module("leancontext").reduce_text
    return [str(reduce_text(output.text, min_fidelity=fidelity).text) for output in task.outputs]


def leantokens(is_lossy: bool, task: Task) -> list[str]:
    """Its treatment of a whole request: the `--smart` mode, with and without `--lossy`."""
    body = {"messages": chat(task)}
    import_module("leantokens").compress_request(body, lossy=is_lossy, smart=True)
    return texts_of(body["messages"])


def _from(package: str, module: str, name: str) -> Any:
    return getattr(import_module(f"{package}.{module}"), name)


def _items(text: str) -> int:
    try:
        found = json.loads(text)
    except ValueError:
        return text.count("\n") + 1
    return len(found) if isinstance(found, list) else 1


def _command(output: Large) -> str | None:
    args = json.loads(output.args)
    found = (args.get("command") or args.get("cmd")) if isinstance(args, dict) else None
    return str(found) if found else None


def _budgets(name: str, cut: Callable[[float, Task], list[str]]) -> dict[str, Cut]:
    return {f"{name} {100 * share:.0f} %": partial(cut, share) for share in BUDGETS}


PEERS = (
    Peer("litellm", "litellm", _budgets("litellm.compress", litellm)),
    Peer(
        "headroom-ai",
        "headroom",
        {"headroom-ai compress()": headroom, **_budgets("headroom-ai by kind", headroom_by_kind)},
    ),
    Peer(
        "distil-llm",
        "distil",
        {"distil-llm compress_messages()": distil, "distil-llm, told the query": distil_with_query},
    ),
    Peer("tooltrim", "tooltrim", _budgets("tooltrim", tooltrim)),
    Peer("llmslim", "llmslim", _budgets("llmslim", llmslim)),
    Peer("snipp-cli", "snipp", {"snipp-cli, its own limits": partial(snipp, None), **_budgets("snipp-cli", snipp)}),
    Peer(
        "leancontext",
        "leancontext",
        {"leancontext": partial(leancontext, None), "leancontext, any fidelity": partial(leancontext, 0.0)},
    ),
    Peer(
        "leantokens",
        "leantokens",
        {"leantokens --smart": partial(leantokens, False), "leantokens --smart --lossy": partial(leantokens, True)},
    ),
)

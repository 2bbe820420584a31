"""The cache marks of an Anthropic Messages request (`cache_control`), in the order in which the provider reads it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from context_guard.transcript import CacheLife

Body = dict[str, Any]
"""A request as it goes to the provider. Never changed in place: what changes is a copy that shares the rest."""
Path = tuple[str | int, ...]
"""Keys from the top of a body to a place in it; empty for the body itself."""
Order = tuple[int, int, int]

MAX_ID = 64
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_ROLES = ("user", "assistant", "system")
MESSAGES: Order = (2, 0, 0)
"""Where the messages begin in reading order."""


class Mark(Struct, frozen=True):
    path: Path
    life: CacheLife

    @property
    def order(self) -> Order:
        return order_of(self.path)


def read_marks(body: Body) -> tuple[Mark, ...]:
    """Every mark in reading order, in one walk; one at the top of the body stands for the end of the messages."""
    return marks_besides(body, frozenset())


def marks_besides(body: Body, places: frozenset[int]) -> tuple[Mark, ...]:
    """Those that are not in the messages at these places."""
    return tuple(
        Mark(path=path, life="1h" if block["cache_control"].get("ttl") == "1h" else "5m")
        for path, block in _blocks(body, places)
        if is_marked(block)
    )


def is_marked(block: Body) -> bool:
    return isinstance(block.get("cache_control"), dict)


def with_mark(body: Body, mark: Mark, like: Mark) -> Body:
    """A body with this mark, in the host's own words where `like` has the same life; a string becomes a text block."""
    own = _at(body, like.path)["cache_control"]
    plain = {"type": "ephemeral", "ttl": "1h"} if mark.life == "1h" else {"type": "ephemeral"}
    control = dict(own) if like.life == mark.life else plain

    def marked(place: Any) -> Any:
        if isinstance(place, str):
            return [{"type": "text", "text": place, "cache_control": control}]
        return {**place, "cache_control": control}

    changed: Body = _changed(body, mark.path, marked)
    return changed


def without_mark(body: Body, path: Path) -> Body:
    changed: Body = _changed(body, path, lambda block: {key: block[key] for key in block if key != "cache_control"})
    return changed


def order_of(path: Path) -> Order:
    """Sorts places in reading order: tools, system, messages, end. What lies inside a block counts as the block."""
    match path:
        case ():
            return (3, 0, 0)
        case ("messages", int(message), "content", int(block), *_):
            return (2, message, block)
        case ("messages", int(message), *_):
            return (2, message, 0)
        case (section, int(at), *_):
            return (1 if section == "system" else 0, at, 0)
        case _:
            raise ValueError(f"no place of a request: {path}")


def results_of(body: Body) -> Iterator[tuple[Path, Body]]:
    """The tool results of the messages, with their paths."""
    for at, message in enumerate(body["messages"]):
        content = message.get("content")
        for number, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield ("messages", at, "content", number), block


def marked_results(body: Body) -> tuple[str, ...]:
    """Ids of the tool calls whose results carry a mark: where this request writes cache entries."""
    if not is_messages(body):
        return ()
    return tuple(
        str(block.get("tool_use_id"))
        for message in body["messages"]
        if _may_bear(content := message.get("content"))
        for block in content
        if isinstance(block, dict) and block.get("type") == "tool_result" and is_marked(block)
    )


def normal_id(call_id: str) -> str:
    """A tool call's id as hosts rewrite it for Anthropic, which takes no other characters and no longer ones."""
    if len(call_id) <= MAX_ID and call_id.isascii() and call_id.isidentifier():  # nearly all, and far quicker
        return call_id
    return _ODD.sub("_", call_id)[:MAX_ID]


def is_messages(body: Any) -> bool:
    """Whether this has the shape of an Anthropic Messages request; OpenAI's has other roles or no messages at all."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return False
    for message in messages:  # noqa: SIM110 - a generator takes thrice as long, and each request is asked several times
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            return False
    return True


def _blocks(body: Body, besides: frozenset[int]) -> Iterator[tuple[Path, Body]]:
    """The blocks of everything that may bear a mark."""
    for section in ("tools", "system"):
        yield from _within(body.get(section), (section,))
    for at, message in enumerate(body["messages"]):
        if at not in besides and _may_bear(content := message.get("content")):
            yield from _within(content, ("messages", at, "content"))
    yield (), body


def _may_bear(content: Any) -> bool:
    """Whether a mark may stand in there: of a thousand messages all but a few are ruled out by this alone."""
    if not isinstance(content, list):
        return False
    for block in content:
        if isinstance(block, dict):
            if "cache_control" in block or _may_bear(block.get("content")):
                return True
            source = block.get("source")
            if isinstance(source, dict) and _may_bear(source.get("content")):
                return True
    return False


def _within(content: Any, path: Path) -> Iterator[tuple[Path, Body]]:
    """Blocks, those inside a block before it. Arguments and schemas are the host's own data: no mark stands there."""
    for at, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield from _within(block.get("content"), (*path, at, "content"))
            source = block.get("source")
            if isinstance(source, dict):
                yield from _within(source.get("content"), (*path, at, "source", "content"))
            yield (*path, at), block


def _at(node: Any, path: Path) -> Any:
    for key in path:
        node = node[key]
    return node


def _changed(node: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """A copy with one place changed; all that is not on the way there is shared."""
    if not path:
        return change(node)
    copy = node.copy()
    copy[path[0]] = _changed(node[path[0]], path[1:], change)
    return copy

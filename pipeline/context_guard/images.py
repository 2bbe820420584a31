"""Old images of tool results: a model reacts to a picture in its next message, whose text stays."""

from msgspec import Struct

from context_guard.config import Config
from context_guard.labels import tool_label
from context_guard.sizes import blocks_chars, image_tokens
from context_guard.text import MARKER, format_chars, plural, recall_call, without_lone_surrogates
from context_guard.transcript import Entry, Image, Text, ToolCall, ToolResult, calls_of, images_of, text_of

MAX_SIZES = 3


class OldImages(Struct, frozen=True):
    """The images of one tool result."""

    entry_id: str
    tool: str
    label: str
    age: int
    """Assistant messages since."""
    images: int
    tokens: int
    texts: tuple[str, ...]
    """What the model sees when they go: the stub, then the result's own text blocks."""
    before_chars: int
    after_chars: int
    place: int
    """Place of the result in the context."""
    reason: str


def pick_images(context: tuple[Entry, ...], config: Config) -> tuple[OldImages, ...]:
    """Tool results, of any run, with images that are at least `imageKeepTurns` assistant messages old.

    Left out: results that somebody else's edit changed, that hold anything but text and images, or whose stub would
    take more than the images do.
    """
    if config.image_keep_turns == 0:
        return ()
    found = (
        _read(entry, call, place, age, config)
        for entry, call, place, age in _results(context)
        if age >= config.image_keep_turns
    )
    return tuple(item for item in found if item is not None and item.after_chars < item.before_chars)


def has_image(entry: Entry) -> bool:
    """Whether the entry is a tool result that shows an image."""
    if entry.role != "tool" or not entry.visible:
        return False
    for block in entry.visible:  # loops: at every boundary over all of the context
        if type(block) is ToolResult:
            for part in block.content:
                if type(part) is Image:
                    return True
    return False


def _results(context: tuple[Entry, ...]) -> list[tuple[Entry, ToolCall | None, int, int]]:
    """Every visible tool result with an image, its call, its place and its age; most contexts have none."""
    if not any(map(has_image, context)):
        return []
    calls: dict[str, ToolCall] = {}
    found: list[tuple[Entry, ToolCall | None, int, int]] = []
    turns = 0
    for place, entry in enumerate(context):
        if entry.role == "assistant" and entry.visible is not None:
            turns += 1
            calls.update((call.id, call) for call in calls_of(entry.visible))
        elif has_image(entry) and (result := entry.result) is not None:
            found.append((entry, calls.get(result.call_id), place, turns))
    return [(entry, call, place, turns - then) for entry, call, place, then in found]


def _read(entry: Entry, call: ToolCall | None, place: int, age: int, config: Config) -> OldImages | None:
    result, raw = entry.result, entry.raw_result
    if result is None or raw is None:
        return None
    images = images_of(result.content)
    if not images:
        return None
    changed = text_of(result.content) != text_of(raw.content) or len(images) != len(images_of(raw.content))
    if changed or not all(isinstance(block, Text | Image) for block in result.content):
        return None
    tool = result.name or (call.name if call else "") or "tool"
    texts = (
        _stub(entry.id, images, age, config),
        *(without_lone_surrogates(block.text) for block in result.content if isinstance(block, Text)),
    )
    return OldImages(
        entry_id=entry.id,
        tool=tool,
        label=f"{tool_label(tool, call.args if call else '')} ({plural(len(images), 'image')})",
        age=age,
        images=len(images),
        tokens=sum(map(image_tokens, images)),
        texts=texts,
        before_chars=blocks_chars(result.content),
        after_chars=sum(map(len, texts)),
        place=place,
        reason=f"{_turns(age, config)} old",
    )


def _stub(entry_id: str, images: tuple[Image, ...], age: int, config: Config) -> str:
    tokens = f"~{format_chars(sum(map(image_tokens, images)))} tokens"
    sizes = [f"{image.width}×{image.height}" for image in images if image.width and image.height]
    shown = ", ".join([*sizes[:MAX_SIZES], *(["…"] if len(sizes) > MAX_SIZES else [])])
    pronoun = "it" if len(images) == 1 else "them"
    return (
        f"{MARKER} Removed {plural(len(images), 'image')} from this output ({f'{shown}; ' if shown else ''}{tokens}), "
        f"{_turns(age, config)} old. {recall_call(entry_id, config.recall_with)} shows {pronoun} again."
    )


def _turns(age: int, config: Config) -> str:
    return f"{age} turns" if config.original_texts else plural(age, "turn")

"""Pictures in the messages of frameworks: told apart, found again, and given back by the recall tools."""

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

from agents.tool import ToolOutputImage
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from context_guard.edit_log import LoggedPass, RawImage, RawOutput
from context_guard.formats.codec import Codec
from context_guard.formats.message_list import Message, entry_ids
from context_guard.transcript import images_of, text_of
from context_guard_effects.hosts import claude_agent_sdk, langchain, openai_agents, pydantic_ai
from context_guard_effects.hosts.langchain_messages import CODEC as LANGCHAIN
from context_guard_effects.hosts.pydantic_ai_messages import CODEC as PYDANTIC_AI
from context_guard_effects.store import open_store

PNG = b"\x89PNG one"
DATA = base64.b64encode(PNG).decode()
OUTPUT = RawOutput(id="0123456789ab", text="a chart", images=(RawImage(media_type="image/png", data=DATA),))


def check_codec(codec: Codec[Any], one: list[Any], other: list[Any]) -> None:
    """The id hangs on the picture; its data is found; a text in place of all leaves the original as it was."""
    read: tuple[Message, ...] = codec.read(one).unwrap()
    assert entry_ids(read)[-1] != entry_ids(codec.read(other).unwrap())[-1]
    (image,) = images_of(read[-1].blocks)
    assert codec.find_image(one, image) == OUTPUT.images[0]
    written = codec.write(one, read, {len(read) - 1: ("short",)})
    assert written[:-1] == one[:-1]
    assert written[-1] is not one[-1]
    assert text_of(codec.read(written).unwrap()[-1].blocks) == "short"
    assert codec.read(one).unwrap() == read


def pydantic_list(data: bytes) -> list[Any]:
    picture = BinaryContent(data, media_type="image/png")
    returned = ToolReturnPart("chart", ["a chart", picture], tool_call_id="call_1")
    return [ModelResponse(parts=[ToolCallPart("chart", {}, tool_call_id="call_1")]), ModelRequest(parts=[returned])]


def langchain_list(data: bytes) -> list[AnyMessage]:
    picture = {"type": "image", "base64": base64.b64encode(data).decode(), "mime_type": "image/png"}
    return [
        HumanMessage("Draw."),
        AIMessage("", tool_calls=[{"id": "call_1", "name": "chart", "args": {}}]),
        ToolMessage([{"type": "text", "text": "a chart"}, picture], tool_call_id="call_1"),
    ]


async def check_recalls(path: Path) -> None:
    """Every adapter's tool gives the picture back, as its framework takes it."""
    asked = {"entryId": OUTPUT.id}
    with open_store(path) as store:
        store.keep(LoggedPass(witness=""), (OUTPUT,))
        text, picture = pydantic_ai.ContextGuard(store)._recall(**asked)
        assert (text, picture.data) == ("a chart", PNG)
        blocks = langchain.ContextGuard(store)._recall(**asked)
        assert blocks[1] == {"type": "image", "base64": DATA, "mime_type": "image/png"}
        context: Any = None
        _, shown = await openai_agents.ContextGuard(store)._recall(context, f'{{"entryId": "{OUTPUT.id}"}}')
        assert shown == ToolOutputImage(image_url=f"data:image/png;base64,{DATA}")
        sessions: Any = None
        given = await claude_agent_sdk.ContextGuard(sessions, store)._recall(asked)
        assert given["content"][1] == {"type": "image", "data": DATA, "mimeType": "image/png"}


if __name__ == "__main__":
    check_codec(PYDANTIC_AI, pydantic_list(PNG), pydantic_list(b"\x89PNG two"))
    check_codec(LANGCHAIN, list(langchain_list(PNG)), list(langchain_list(b"\x89PNG two")))
    asyncio.run(check_recalls(Path(sys.argv[1])))

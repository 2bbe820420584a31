"""An agent in a few lines over the official SDKs, run by an interpreter that has them (`scripts/install_agents.sh`).

    python sdk_loop.py API BASE_URL FILE RECALL

Answers each prompt of stdin, one a line, with one line. Its tool `show_log` gives FILE, its tool `recall` runs the
command RECALL (JSON) with an id. It streams; the history stays raw, as that of every agent.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

API, BASE_URL, FILE, RECALL = sys.argv[1:]
PARAMETERS = {"type": "object", "properties": {"id": {"type": "string"}}}


def tool(name: str, arguments: dict[str, Any]) -> str:
    if name == "show_log":
        return Path(FILE).read_text()
    command = [*json.loads(RECALL), arguments["id"]]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def anthropic_turn(messages: list[Any]) -> str | None:
    """One request; the text when it ended the run."""
    from anthropic import Anthropic

    client = Anthropic(api_key="dummy", base_url=BASE_URL)
    tools: Any = [{"name": name, "input_schema": PARAMETERS} for name in ("show_log", "recall")]
    with client.messages.stream(model="scripted", max_tokens=99, messages=messages, tools=tools) as stream:
        message = stream.get_final_message()
    messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        return "".join(block.text for block in message.content if block.type == "text")
    results = [{"type": "tool_result", "tool_use_id": it.id, "content": tool(it.name, dict(it.input))} for it in calls]
    messages.append({"role": "user", "content": results})
    return None


def chat_turn(messages: list[Any]) -> str | None:
    """Whole, not streamed: the other way of the same API."""
    from openai import OpenAI

    client = OpenAI(api_key="dummy", base_url=f"{BASE_URL}/v1")
    functions = [{"name": name, "parameters": PARAMETERS} for name in ("show_log", "recall")]
    tools: Any = [{"type": "function", "function": function} for function in functions]
    done = client.chat.completions.create(model="scripted", messages=messages, tools=tools)
    message = done.choices[0].message
    messages.append(message.to_dict())
    for call in message.tool_calls or ():
        function = call.to_dict()["function"]
        assert isinstance(function, dict)
        output = tool(function["name"], json.loads(function["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
    return None if message.tool_calls else message.content


def responses_turn(messages: list[Any]) -> str | None:
    from openai import OpenAI

    client = OpenAI(api_key="dummy", base_url=f"{BASE_URL}/v1")
    tools: Any = [{"type": "function", "name": name, "parameters": PARAMETERS} for name in ("show_log", "recall")]
    with client.responses.stream(model="scripted", input=messages, tools=tools, store=False) as stream:
        response = stream.get_final_response()
    items = [item.to_dict() for item in response.output]
    for item in items:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    messages.extend(items)
    calls = [item for item in items if item["type"] == "function_call"]
    for call in calls:
        output = tool(str(call["name"]), json.loads(str(call["arguments"])))
        messages.append({"type": "function_call_output", "call_id": call["call_id"], "output": output})
    return None if calls else response.output_text


TURNS = {"anthropic": anthropic_turn, "openai-chat": chat_turn, "openai-responses": responses_turn}


def main() -> None:
    messages: list[Any] = []
    for prompt in sys.stdin:
        messages.append({"role": "user", "content": prompt.strip()})
        while (answer := TURNS[API](messages)) is None:
            pass
        print(answer, flush=True)


main()

"""Speed of laying edits over a message list, as a ratio to `json.dumps` of the same list in the same run.

    python benchmarks/list_edits.py [--megabytes 2] [--rounds 20]

One projection is what a guard does before every request: read the list, name its entries, replay the log, write the
edits. Prints, for each provider, milliseconds of processor time for each MB (10^6 characters) of the list, the best of
the rounds, and the multiple of `json.dumps`; then the same with a picture in every tenth output.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from context_guard.edit_log import LoggedPass, Replaced
from context_guard.formats import anthropic, openai_chat, openai_responses
from context_guard.formats.message_list import edits_in_force, entry_ids, fit
from context_guard.transcript import calls_of

Json = dict[str, Any]
CODECS = {"anthropic": anthropic, "openai-chat": openai_chat, "openai-responses": openai_responses}
OUTPUT_CHARS = 8_000
PICTURE_CHARS = 100_000
TURNS = 4
"""Calls in a run."""


def output(number: int, rng: random.Random) -> str:
    words = " ".join(rng.choices(["value", "größe", "index", "漢字", "retry", "cache"], k=OUTPUT_CHARS // 6))
    return f"#{number}\n{words}"


def picture(number: int) -> str:
    return f"{number:08}" + "A" * (PICTURE_CHARS - 8)


def anthropic_list(texts: list[str], pictures: dict[int, str]) -> list[Json]:
    messages: list[Json] = []
    for at, text in enumerate(texts):
        if at % TURNS == 0:
            messages.append({"role": "user", "content": [{"type": "text", "text": f"Question {at}"}]})
        use = {"type": "tool_use", "id": f"t{at}", "name": "bash", "input": {"command": f"rg value{at} src"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Looking."}, use]})
        content: list[Json] = [{"type": "text", "text": text}]
        if at in pictures:
            source = {"type": "base64", "media_type": "image/png", "data": pictures[at]}
            content.append({"type": "image", "source": source})
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{at}", "content": content}]}
        )
        if at % TURNS == TURNS - 1:
            messages.append({"role": "assistant", "content": f"Answer {at}"})
    return messages


def chat_list(texts: list[str], pictures: dict[int, str]) -> list[Json]:
    messages: list[Json] = []
    for at, text in enumerate(texts):
        if at % TURNS == 0:
            messages.append({"role": "user", "content": f"Question {at}"})
        function = {"name": "bash", "arguments": json.dumps({"command": f"rg value{at} src"})}
        calls = [{"id": f"t{at}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": "Looking.", "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"t{at}", "content": text})
        if at in pictures:
            url = {"url": f"data:image/png;base64,{pictures[at]}"}
            messages.append({"role": "user", "content": [{"type": "image_url", "image_url": url}]})
        if at % TURNS == TURNS - 1:
            messages.append({"role": "assistant", "content": f"Answer {at}"})
    return messages


def responses_list(texts: list[str], pictures: dict[int, str]) -> list[Json]:
    items: list[Json] = []
    for at, text in enumerate(texts):
        if at % TURNS == 0:
            items.append({"role": "user", "content": f"Question {at}"})
        items.append({"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": "x" * 400})
        arguments = json.dumps({"command": f"rg value{at} src"})
        items.append({"type": "function_call", "call_id": f"t{at}", "name": "bash", "arguments": arguments})
        output: Any = text
        if at in pictures:
            url = f"data:image/png;base64,{pictures[at]}"
            output = [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": url}]
        items.append({"type": "function_call_output", "call_id": f"t{at}", "output": output})
        if at % TURNS == TURNS - 1:
            part = {"type": "output_text", "text": f"Answer {at}"}
            items.append({"type": "message", "role": "assistant", "content": [part]})
    return items


LISTS = {"anthropic": anthropic_list, "openai-chat": chat_list, "openai-responses": responses_list}


def project(name: str, messages: list[Json], log: tuple[LoggedPass, ...]) -> list[Json]:
    codec = CODECS[name]
    found = codec.read(messages).unwrap()
    ids = entry_ids(found)
    changes = fit(found, ids, edits_in_force(ids, log))
    listed: list[Json] = codec.write(messages, found, changes)
    return listed


def log_of(name: str, messages: list[Json]) -> tuple[LoggedPass, ...]:
    """Every second output is distilled, one pass a run."""
    read = CODECS[name].read(messages).unwrap()
    ids = entry_ids(read)
    log: list[LoggedPass] = []
    waiting: list[Replaced] = []
    for entry_id, message in zip(ids, read, strict=True):
        if message.role == "tool" and len(waiting) < TURNS // 2:
            waiting.append(Replaced(entry_id, ("[context-guard] Distilled the output.",)))
        elif message.role == "assistant" and not calls_of(message.blocks) and waiting:
            log.append(LoggedPass(witness=entry_id, edits=tuple(waiting), seq=len(log) + 1))
            waiting = []
    return tuple(log)


def best(run: Callable[[], object], rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    rng = random.Random(6)
    texts = [output(number, rng) for number in range(int(options.megabytes * 1e6 / OUTPUT_CHARS))]
    every_tenth = {number: picture(number) for number in range(0, len(texts), 10)}
    print(f"{'list':32} {'MB':>6} {'entries':>8} {'edits':>6} {'ms/MB':>7} {'× json.dumps':>13}")
    for name, make in LISTS.items():
        for kind, pictures in (("", {}), (", pictures", every_tenth)):
            messages = make(texts, pictures)
            log = log_of(name, messages)
            size = len(json.dumps(messages, ensure_ascii=False)) / 1e6
            entries = len(CODECS[name].read(messages).unwrap())
            ours = best(partial(project, name, messages, log), options.rounds)
            dumps = best(partial(json.dumps, messages), options.rounds)
            edits = sum(len(logged.edits) for logged in log)
            row = f"{name + kind:32} {size:6.1f} {entries:8} {edits:6} {ours * 1e3 / size:7.2f} {ours / dumps:13.2f}"
            print(row)


if __name__ == "__main__":
    main()

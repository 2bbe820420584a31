"""Makes pi-broken.jsonl: the second exchange of pi-search.jsonl, as it might be found after a bad day.

    python docs/examples/make_pi_broken.py

An extension left out the message that called two tools and forgot their results; the disk was full when the answer was
written, and its line is cut; Pi went on behind it.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TIME = "2026-11-30T20:00:00.000Z"


def main() -> None:
    lines = (FOLDER / "pi-search.jsonl").read_text(encoding="utf-8").splitlines()
    header, (prompt, calling, first, second, answer) = lines[0], map(json.loads, lines[14:19])
    prompt["parentId"] = None
    edit = _entry("context_edit", "e1d17b05", second["id"], targetId=calling["id"], replacement=None)
    answer["parentId"] = edit["id"]
    thanks = {"role": "user", "content": [{"type": "text", "text": "Thanks. Is one of them unused?"}]}
    follow_up = _entry("message", "f0110e0b", answer["id"], message=thanks)
    kept = [
        header,
        _line(prompt),
        _line(calling),
        _line(first),
        _line(second),
        _line(edit),
        _line(answer)[:180],
        _line(follow_up),
    ]
    (FOLDER / "pi-broken.jsonl").write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def _entry(kind: str, id: str, parent: str, **more: object) -> dict[str, object]:
    return {"type": kind, "id": id, "parentId": parent, "timestamp": TIME, **more}


def _line(entry: object) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()

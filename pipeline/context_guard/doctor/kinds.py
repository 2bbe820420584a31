"""Every kind of fault that the doctor knows: what it is, what it does to the user, and what mends it."""

from typing import Literal

from msgspec import Struct

Severity = Literal["bricks", "shortens", "harmless"]
"""bricks: the session does not open, or every request of it fails; shortens: the model sees less than the user thinks;
harmless: neither, but worth knowing."""

SEVERITIES: tuple[Severity, ...] = ("bricks", "shortens", "harmless")


class Kind(Struct, frozen=True):
    severity: Severity
    what: str
    harm: str
    remedy: str
    """What `--repair` appends, or what the user can do where nothing that is appended would help."""


_COPY = "Nothing that is appended mends this."
_TREE = "In Pi, /tree shows what came before as a tree of its own."

KINDS: dict[str, Kind] = {
    "no-header": Kind(
        "bricks",
        "The first line that can be read is no session header",
        "Pi refuses to open the file.",
        f'{_COPY} Put a line {{"type":"session","version":3,"id":"…","timestamp":"…","cwd":"…"}} in front of a copy.',
    ),
    "byte-order-mark": Kind(
        "bricks",
        "The file begins with a byte order mark",
        "Pi cannot read the first line and refuses to open the file.",
        f"{_COPY} In a copy, save it as UTF-8 without a byte order mark; then look again.",
    ),
    "second-header": Kind(
        "harmless",
        "There is another session header",
        "Pi passes it over: two files may have been joined.",
        "Nothing needs to be done.",
    ),
    "old-version": Kind(
        "harmless",
        "The session has an older version than Pi writes now",
        "Pi writes the whole file anew when it opens it.",
        "Open it once in Pi; before that nothing is appended.",
    ),
    "not-utf8": Kind(
        "harmless",
        "The line holds bytes that are no UTF-8",
        "Pi reads each as U+FFFD.",
        "Nothing needs to be done.",
    ),
    "torn-line": Kind(
        "harmless",
        "The last line was cut off",
        "Pi passes it over and goes on behind the entry before it: what it held is lost.",
        "Nothing needs to be done: Pi ends the line when it opens the file, and so does --repair.",
    ),
    "broken-line": Kind(
        "harmless",
        "The line cannot be read",
        "Pi passes it over without a word: what it held is lost.",
        "Nothing that is appended brings it back.",
    ),
    "no-id": Kind(
        "harmless",
        "The line is no entry: it has no id",
        "Nothing can go on behind it.",
        "Nothing needs to be done.",
    ),
    "lost-leaf": Kind(
        "shortens",
        "The last line is no entry, so Pi does not know where to go on",
        "The model sees nothing of the session, and the next prompt starts anew.",
        "--repair appends an entry behind the last one that has an id.",
    ),
    "missing-parent": Kind(
        "shortens",
        "The entry that it goes on from is not in the file",
        "The model sees nothing of what came before.",
        "--repair appends a stand-in under the missing id, behind what came before it.",
    ),
    "no-parent": Kind(
        "shortens",
        "The entry does not say what it goes on from",
        "The model sees nothing of what came before.",
        f"{_COPY} {_TREE}",
    ),
    "parent-circle": Kind(
        "bricks",
        "The entries go round in a circle",
        "Pi does not come to an end when it opens the file.",
        f"{_COPY} Change the parentId of this line in a copy.",
    ),
    "duplicate-id": Kind(
        "harmless",
        "An earlier line has the same id",
        "Pi knows only the later one.",
        "Nothing needs to be done.",
    ),
    "lost-start": Kind(
        "shortens",
        "The first entry that the compaction kept is not on the branch",
        "The model sees the summary, and nothing that was kept beside it.",
        f"{_COPY} In Pi, /tree goes back to before the compaction.",
    ),
    "no-message": Kind(
        "bricks",
        "The entry holds no message",
        "Pi fails when it opens the session.",
        f"{_COPY} In a copy, give the line a message.",
    ),
    "bad-content": Kind(
        "bricks",
        "The message's content is not as Pi writes it",
        "Pi fails to build the request, or the provider refuses it, at every prompt.",
        "--repair shows the model what can be read of it.",
    ),
    "no-content": Kind(
        "harmless",
        "The message has no content",
        "Pi takes it for an empty one: of a tool result the model sees an empty output, of any other nothing.",
        "Nothing that is appended brings it back.",
    ),
    "surrogate-in-call": Kind(
        "bricks",
        "A tool call holds half of a surrogate pair",
        "Pi sends it as it is, and providers refuse the request.",
        "--repair shows the model U+FFFD in its place.",
    ),
    "surrogate-in-text": Kind(
        "harmless",
        "The text holds half of a surrogate pair",
        "Pi leaves it out of requests.",
        "Nothing needs to be done.",
    ),
    "bad-picture": Kind(
        "bricks",
        "A picture's data cannot be read",
        "Providers refuse every request that holds it.",
        "--repair shows the model a line in its place; the data stay in the file.",
    ),
    "huge-picture": Kind(
        "bricks",
        "A picture is over the provider's limit",
        "The provider refuses every request that holds it.",
        "--repair shows the model a line in its place; the picture stays in the file.",
    ),
    "encoded-data": Kind(
        "shortens",
        "The output is full of encoded data",
        "No model can read it, and it fills the context: Pi compacts sooner.",
        "--repair shows the model a line in its place; recall gives back the original.",
    ),
    "orphaned-result": Kind(
        "bricks",
        "No call right before belongs to this tool result",
        "Providers refuse every request that holds it.",
        "--repair shows the call again where an edit took it away, and else takes the result out of the context.",
    ),
    "resurrected-entry": Kind(
        "bricks",
        "A later edit brought back a tool result without its call",
        "Providers refuse every request that holds it.",
        "--repair takes the result out of the context again.",
    ),
    "second-result": Kind(
        "bricks",
        "The call has a result already",
        "Providers refuse a second one.",
        "--repair takes the later result out of the context.",
    ),
    "repeated-call-id": Kind(
        "bricks",
        "An earlier call has the same id",
        "The provider refuses every request that holds both.",
        "--repair takes the later calls and their results out of the context.",
    ),
    "hidden-result": Kind(
        "shortens",
        "An edit took away a tool result and left its call",
        "Pi tells the model that the tool failed: “No result provided”.",
        "--repair shows the result again.",
    ),
    "unanswered-call": Kind(
        "harmless",
        "A tool call has no result",
        "Pi tells the model “No result provided”.",
        "Nothing needs to be done.",
    ),
    "broken-edit": Kind(
        "bricks",
        "The edit names no replacement that Pi could show",
        "Pi fails, or shows the model an empty message.",
        "--repair shows what an earlier edit, or none, had left.",
    ),
    "edit-without-target": Kind(
        "harmless",
        "The edit's target is not on its branch",
        "It has no effect.",
        "Nothing needs to be done.",
    ),
    "edit-on-wrong-target": Kind(
        "shortens",
        "An edit takes away an entry that edits may not touch",
        "The model does not see it.",
        "--repair appends an edit that leaves it as it is.",
    ),
    "emptied-entry": Kind(
        "shortens",
        "An edit left nothing of the entry to read",
        "The model sees an empty message, or Pi leaves it out.",
        "--repair shows the original.",
    ),
    "edit-off-branch": Kind(
        "harmless",
        "The session went on beside this edit, not behind it",
        "It has no effect: the model sees its target as it was before. It may have been appended while Pi ran.",
        "`context-guard distill --write` judges again.",
    ),
    "refused": Kind(
        "bricks",
        "The provider would refuse the request",
        "No prompt is answered.",
        f"{_COPY} In Pi, /tree goes back to before this entry.",
    ),
}

UNMENDED: dict[str, str] = {
    "missing-parent": f"{_COPY} {_TREE}",
    "bad-content": f"{_COPY} In Pi, /tree goes back to before this entry.",
    "broken-edit": f"{_COPY} In a copy, take the line out.",
}
"""What to do where the kind can be mended, but this one cannot."""

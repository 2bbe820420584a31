"""What the judge is told and asked, word by word; docs/questions.md says what each phrase is there for.

`{part}` is "the tool output" or "this part of the tool output", `{id}` the name of a chunk, an item or an exchange.
"""

from msgspec import Struct


class YesNoText(Struct, frozen=True):
    ask: str
    yes: str
    no: str


class SegmentText(Struct, frozen=True):
    """The wording for one tool output in chunks."""

    situation: str
    with_history: str
    """Added to the situation when there is an earlier conversation."""
    failed: str
    keep_whole: YesNoText
    focus: str
    chunk: YesNoText


class ItemsText(Struct, frozen=True):
    """The wording for several things that are judged whole."""

    situation: str
    with_history: str
    item: YesNoText


FOCUS_WHOLE = "Most of it is needed."
FOCUS_NONE = "Nothing of it is needed any more."
FOCUS_CHUNK = "A few chunks are needed, and {id} matters most."

_ENDED = (
    "A coding agent has answered user_question with final_answer. On the way it got the tool output below, split into "
    "chunks. Chunks that are not kept vanish from what the agent sees in later turns; kept ones stay word for word."
)
_ENDED_HISTORY = (
    " earlier_conversation is the session before this question; the agent will probably go on with that work."
)
_RUNNING = (
    "A coding agent is still at work on user_question. Some turns ago it got the tool output below, split into chunks. "
    "Chunks that are not kept vanish from what the agent sees while it goes on; kept ones stay word for word."
)
_RUNNING_HISTORY = " earlier_conversation is the session before this task."

RUN_END = SegmentText(
    situation=_ENDED,
    with_history=_ENDED_HISTORY,
    failed="The call failed. If final_answer shows that the agent got past the failure, its details are seldom needed "
    "again.",
    keep_whole=YesNoText(
        ask="Would leaving out any one chunk of {part} lose evidence that final_answer rests on, or facts that a "
        "likely follow-up question needs?",
        yes="All of {part} has to stay.",
        no="Some of {part} is noise for this answer.",
    ),
    focus="Does final_answer draw on most of {part}, or does it rest on a few chunks? Of a few, choose the one that "
    "matters most. Choose none if nothing of it matters any more.",
    chunk=YesNoText(
        ask="Does {id} hold lines that final_answer relies on, or that a likely follow-up question about it needs?",
        yes="{id} holds such lines.",
        no="{id} can go without loss.",
    ),
)

RUN_END_WITH_HISTORY = SegmentText(
    situation=_ENDED,
    with_history=_ENDED_HISTORY,
    failed=RUN_END.failed,
    keep_whole=YesNoText(
        ask="Would leaving out any one chunk of {part} lose evidence that final_answer rests on, or facts that the "
        "ongoing work in earlier_conversation or a likely follow-up question needs?",
        yes="All of {part} has to stay.",
        no="Some of {part} is noise for this answer and for the ongoing work.",
    ),
    focus="Do final_answer and the ongoing work in earlier_conversation draw on most of {part}, or on a few chunks? Of "
    "a few, choose the one that matters most. Choose none if nothing of it matters any more.",
    chunk=YesNoText(
        ask="Does {id} hold lines that final_answer relies on, or that the user's ongoing task in earlier_conversation "
        "will need, even though the current question may be about something else?",
        yes="{id} holds such lines.",
        no="{id} can go without loss.",
    ),
)

MID_RUN = SegmentText(
    situation=_RUNNING,
    with_history=_RUNNING_HISTORY,
    failed="The call failed.",
    keep_whole=YesNoText(
        ask="To finish user_question, will the agent still need all of {part}, so that leaving out any one chunk loses "
        "something that it will probably use again?",
        yes="All of {part} is still needed.",
        no="Some of {part} will not be needed again.",
    ),
    focus="Will the rest of the work draw on most of {part}, or on a few chunks? Of a few, choose the one that matters "
    "most. Choose none if nothing of it is needed again, as when it is out of date or the agent has moved past it.",
    chunk=YesNoText(
        ask="To finish user_question, will the agent still need the lines of {id}? Lines that are out of date, and "
        "lines it has already acted on and left behind, are not needed.",
        yes="The lines of {id} are still needed.",
        no="{id} can go without loss.",
    ),
)

SMALL_RUN_END = ItemsText(
    situation="A coding agent has answered user_question with final_answer. items holds tool outputs that it got on "
    "the way. An output that is not kept vanishes from what the agent sees in later turns.",
    with_history=_ENDED_HISTORY,
    item=YesNoText(
        ask="Does {id} hold anything that final_answer relies on, or that a likely follow-up question needs? An output "
        "marked superseded is out of date and so not needed.",
        yes="{id} is needed.",
        no="{id} is no longer needed.",
    ),
)

SMALL_MID_RUN = ItemsText(
    situation="A coding agent is still at work on user_question. items holds tool outputs that it got some turns ago. "
    "An output that is not kept vanishes from what the agent sees while it goes on.",
    with_history=_RUNNING_HISTORY,
    item=YesNoText(
        ask="To finish user_question, will the agent still need the output in {id}? An output marked superseded is "
        "out of date, and one that the agent has acted on and left behind is not needed either.",
        yes="{id} is still needed.",
        no="{id} is no longer needed.",
    ),
)

_RELEVANT = YesNoText(
    ask="Does {id} still matter to the current work, that is to user_question and to what the agent does for it? It "
    "matters if its details may be needed: the same files, task, decisions or facts.",
    yes="{id} matters to the current work.",
    no="{id} has nothing to do with the current work.",
)

EXCHANGES_RUN_END = ItemsText(
    situation="A coding agent has answered user_question with final_answer. exchanges holds earlier parts of the "
    "session, each a prompt and what the agent made of it. One that is not kept vanishes from what the agent sees in "
    "later turns.",
    with_history=_ENDED_HISTORY,
    item=_RELEVANT,
)

EXCHANGES_MID_RUN = ItemsText(
    situation="A coding agent is still at work on user_question. exchanges holds earlier parts of the session, each a "
    "prompt and what the agent made of it. One that is not kept vanishes from what the agent sees while it goes on.",
    with_history=_RUNNING_HISTORY,
    item=_RELEVANT,
)

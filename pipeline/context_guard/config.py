"""Every threshold of the pipeline, its range and what it does; the evidence is in docs/questions.md.

Names on disk are the original's (camelCase), so its `context-guard.json` is read and written as it is.
"""

from typing import Annotated, Self

from msgspec import Meta, Struct, field

_MAX_CHARS = 10_000_000


class Config(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    enabled: Annotated[bool, Meta(description="Master switch.")] = True
    model: Annotated[
        str,
        Meta(
            pattern=r"^((local|jev|local\+jev)(,(local|keep))?|[^/\s]+/\S.*)$",
            description="Who judges: `local` (embedded, no key, no network), `jev`, `local+jev` or `provider/id`; "
            "the first `/` separates them.",
        ),
    ] = "local"
    min_result_chars: Annotated[
        int,
        Meta(
            ge=0,
            le=_MAX_CHARS,
            description="A tool output of at least this many characters is judged in chunks.",
        ),
    ] = 4_000
    min_run_chars: Annotated[
        int,
        Meta(
            ge=0,
            le=_MAX_CHARS,
            description="Large outputs of a run are left alone when together they have fewer characters.",
        ),
    ] = 8_000
    keep_whole_threshold: Annotated[
        float, Meta(ge=0, le=1, description="A segment stays untouched from this P(keep_whole) on.")
    ] = 0.7
    focus_whole_threshold: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="A segment stays untouched when focus chose `whole` with at least this probability.",
        ),
    ] = 0.6
    chunk_keep_threshold: Annotated[float, Meta(ge=0, le=1, description="A chunk stays from this P(chunk_N) on.")] = 0.6
    none_threshold: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="A segment goes when focus chose `none` with at least this probability and no chunk passes.",
        ),
    ] = 0.5
    max_keep_ratio: Annotated[
        float, Meta(ge=0, le=1, description="No edit when more than this share of an output would stay.")
    ] = 0.6
    keep_cited_files: Annotated[
        bool, Meta(description="Also keep the grep chunks of files that the final answer names.")
    ] = False
    timeout_ms: Annotated[
        int,
        Meta(ge=500, le=600_000, description="Time budget of all requests of one pass; what is late is kept."),
    ] = 8_000
    settle_wait_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=600_000,
            description="A run's end waits this long for the judge where the host can take the edits later, too.",
        ),
    ] = 500
    judge_requests_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="Requests to a remote judge a minute, by all proxies and hosts that share a store; 0 sets no "
            "limit. What finds no place in time is kept.",
        ),
    ] = 0
    concurrency: Annotated[int, Meta(ge=1, le=32, description="Requests in flight, over all kinds of item.")] = 6
    max_chunks: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Chunks grow with an output that would have more than about this many.",
        ),
    ] = 120
    min_chunk_chars: Annotated[int, Meta(ge=100, le=100_000, description="Wanted size of a chunk, at least.")] = 800
    max_chunk_chars: Annotated[
        int,
        Meta(ge=100, le=100_000, description="Wanted size of a chunk, at most, unless maxChunks asks for more."),
    ] = 4_000
    max_segment_chars: Annotated[
        int, Meta(ge=2_000, le=200_000, description="Most characters of one output in one request.")
    ] = 32_000
    max_chunks_per_segment: Annotated[int, Meta(ge=2, le=60, description="Most chunks in one request.")] = 40
    exclude_tools: Annotated[tuple[str, ...], Meta(description="Tools whose results are never edited.")] = (
        "edit",
        "write",
    )
    keep_recalls: Annotated[
        bool, Meta(description="What the agent asked back by recall is left alone in the run that asked for it.")
    ] = True
    recall_with: Annotated[
        str,
        Meta(
            pattern=r"^(shell|[A-Za-z_][A-Za-z0-9_.:/-]{0,127}(\+shell)?)$",
            description="How a note says that the original is recalled: the tool's name as this host shows it "
            "(`mcp__context-guard__recall`), `shell` for `context-guard recall ID`, or `NAME+shell` for both.",
        ),
    ] = "recall"
    distill_errors: Annotated[bool, Meta(description="Also judge the output of failed calls.")] = True
    history_exchanges: Annotated[
        int,
        Meta(
            ge=0,
            le=10,
            description="Earlier exchanges that the judge sees; 0 sends no earlier conversation at all.",
        ),
    ] = 3
    pin_anthropic_cache: Annotated[bool, Meta(description="Add Anthropic cache breakpoints that survive an edit.")] = (
        True
    )
    mid_run: Annotated[bool, Meta(description="Checkpoints while a long run goes on.")] = True
    mid_run_min_age_turns: Annotated[
        int,
        Meta(ge=1, le=100, description="A checkpoint judges outputs that are at least this many turns old."),
    ] = 4
    mid_run_batch_chars: Annotated[
        int,
        Meta(ge=0, le=_MAX_CHARS, description="A checkpoint waits until its items have this many characters."),
    ] = 60_000
    mid_run_batch_chars_openai: Annotated[
        int, Meta(ge=0, le=_MAX_CHARS, description="The same for the models of provider `openai-codex`.")
    ] = field(default=60_000, name="midRunBatchCharsOpenAI")
    mid_run_chunk_keep_threshold: Annotated[
        float, Meta(ge=0, le=1, description="chunkKeepThreshold at a checkpoint.")
    ] = 0.6
    mid_run_break_even: Annotated[
        bool, Meta(description="A checkpoint must be likely to earn back its cache rewrite.")
    ] = True
    small_result_min_chars: Annotated[
        int,
        Meta(
            ge=0,
            le=_MAX_CHARS,
            description="Outputs from here up to minResultChars are judged whole; 0 turns that off.",
        ),
    ] = 400
    small_keep_threshold: Annotated[
        float, Meta(ge=0, le=1, description="A small output stays from this probability on.")
    ] = 0.45
    prune_exchanges: Annotated[bool, Meta(description="Judge old exchanges.")] = True
    keep_recent_exchanges: Annotated[
        int, Meta(ge=0, le=100, description="The last exchanges before the run that are never judged.")
    ] = 2
    exchange_omit_threshold: Annotated[
        float, Meta(ge=0, le=1, description="An old exchange goes below this probability of being relevant.")
    ] = 0.2
    exchange_break_even: Annotated[
        bool,
        Meta(description="Omitted exchanges and early images must earn back their cache rewrite at run end."),
    ] = True
    exchange_min_saving_chars: Annotated[
        int,
        Meta(ge=0, le=_MAX_CHARS, description="Exchanges wait until together they save this many characters."),
    ] = 8_000
    image_keep_turns: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="Images of tool results go after this many assistant messages; 0 keeps them.",
        ),
    ] = 3
    run_end_break_even: Annotated[
        bool, Meta(description="Edits at run end, too, must earn back their cache rewrite; those that do not wait.")
    ] = True
    keep_share: Annotated[
        float,
        Meta(
            ge=0.05,
            le=1,
            description="The embedded judge keeps parts until they hold this share of what is probably needed.",
        ),
    ] = 0.9
    assumed_share: Annotated[
        float, Meta(ge=0, le=1, description="Share of the judged text that is taken to go, before it has been judged.")
    ] = 0.7
    rerun_steps_per_1k_tokens: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="Extra agent steps reckoned with for every 1,000 tokens removed: the re-run penalty.",
        ),
    ] = 0.05
    risk_of_bill: Annotated[
        float,
        Meta(ge=0, le=1, description="Share of the bill so far that edits may lose should the session end at once."),
    ] = 0.0075
    sure_share: Annotated[
        float, Meta(ge=0, le=1, description="Share of the requests expected to come that are counted on.")
    ] = 0.2
    risk_of_earnings: Annotated[
        float, Meta(ge=0, le=1, description="Share of what earlier edits have earned that later ones may lose again.")
    ] = 0.5
    original_costs: Annotated[
        bool, Meta(description="Weigh edits by the original's two break-even factors instead of the provider's prices.")
    ] = False
    keep_notices: Annotated[
        bool,
        Meta(description="A distilled output keeps the tool's own closing notices: truncation, exit code, time-out."),
    ] = True
    hard_keeps: Annotated[
        bool,
        Meta(
            description="Failures, summaries and exit lines, lines that the answer quotes or an edit used, and headers "
            "stay under any judge while they are current."
        ),
    ] = True
    trim_lines: Annotated[
        bool,
        Meta(
            description="Leave out blank runs, repeated lines, passed tests, encoded data and overwritten progress "
            "inside of what stays."
        ),
    ] = True
    cut_by_kind: Annotated[
        bool,
        Meta(
            description="Cut outputs at the borders of their material (failures, hunks, definitions, keys, inside huge "
            "lines) rather than in windows."
        ),
    ] = True
    original_cuts: Annotated[
        bool,
        Meta(description="Cut outputs where the original does: search results by drive paths are plain text to it."),
    ] = False
    original_texts: Annotated[
        bool, Meta(description="Write replacements word for word as the original does, its slips of grammar included.")
    ] = False

    @classmethod
    def original(cls) -> Self:
        """The thresholds, cuts and texts of the original, for parity. Its listed defects stay mended."""
        return cls(
            model="openrouter/~typesafe/jev-latest",
            run_end_break_even=False,
            original_costs=True,
            keep_recalls=False,
            keep_notices=False,
            hard_keeps=False,
            trim_lines=False,
            cut_by_kind=False,
            original_cuts=True,
            original_texts=True,
        )

"""Stage 4. Neighbouring chunks of one output, packed into what one request can hold."""

from msgspec import Struct

from context_guard.chunks import Chunk, Cut
from context_guard.config import Config
from context_guard.readable import readable


class Segment(Struct, frozen=True):
    entry_id: str
    index: int
    of: int
    """Number of segments of this output."""
    chunks: tuple[int, ...]
    """Indexes of its chunks in the output."""
    chars: int
    oversize: bool = False
    """One huge chunk over the limit: never sent, always kept."""

    @property
    def id(self) -> str:
        return f"{self.entry_id}#{self.index}"


def pack_segments(cut: Cut, config: Config) -> tuple[Segment, ...]:
    """As many chunks as fit into `maxSegmentChars` characters and `maxChunksPerSegment` pieces, in order."""
    packs: list[list[int]] = []
    sizes: list[int] = []
    for chunk in cut.chunks:
        cost = _cost(chunk)
        if packs and sizes[-1] + cost <= config.max_segment_chars and len(packs[-1]) < config.max_chunks_per_segment:
            packs[-1].append(chunk.index)
            sizes[-1] += cost
        else:
            packs.append([chunk.index])
            sizes.append(cost)
    return tuple(
        Segment(
            entry_id=cut.entry_id,
            index=index,
            of=len(packs),
            chunks=tuple(pack),
            chars=size,
            oversize=size > config.max_segment_chars,
        )
        for index, (pack, size) in enumerate(zip(packs, sizes, strict=True))
    )


def _cost(chunk: Chunk) -> int:
    """The characters that are sent of it: of encoded data and of overwritten lines only a few are."""
    is_short = chunk.role in ("blob", "progress")
    return len(readable(chunk.text) if is_short else chunk.text) + (not chunk.joined)

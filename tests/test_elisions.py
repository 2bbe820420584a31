"""Whatever is elided inside of what stays: the rest is the output's own, line by line, and every gap is counted."""

from hypothesis import given
from hypothesis import strategies as st
from invariants import check_reading
from test_cuts import CONFIGS, SAMPLES
from test_invariants import FAST, candidate

from context_guard.chunks import cut_chunks
from context_guard.config import Config
from context_guard.elisions import find_elisions
from context_guard.render import render
from context_guard.text import without_lone_surrogates
from context_guard.trims import find_trims

DATA = st.sampled_from(
    [
        "\n".join(f"QUJDRGVmR2hp{n:02}" + "QUJDRGVmR2hp" * 5 for n in range(12)),
        "x " + "QUJDRGVmR2hp" * 40,
        "QUJDRGVmR2hp" * 40 + " y",
        "QUJDRGVmR2hp" * 40,
        "\r".join(f"state {n}" for n in range(60)),
        "\x1b[2K".join(f"state {n}" for n in range(60)) + "\r",
        "\n".join(f"Downloading {n}% of it" for n in range(30)),
        '{"k": "' + "QUJDRGVmR2hp" * 70 + '", "l": 1}',
        "",
        "==> a.txt <==",
        "Section:\n\n  one\n  two",
    ]
)


MATERIAL = st.one_of(DATA, DATA, st.sampled_from([text for _, text, _ in SAMPLES.values()]))


@FAST
@given(st.lists(MATERIAL, min_size=1, max_size=6).map("\n".join), CONFIGS, st.integers(0))
def test_what_is_left_of_a_chunk_is_its_own(text: str, config: Config, bits: int) -> None:
    """Data, earlier states, trimmed lines, headings: any of them beside any other, whichever chunks stay."""
    item = candidate(text)
    cut = cut_chunks(item, config)
    kept = [chunk.index for chunk in cut.chunks if bits >> chunk.index % 30 & 1]
    elisions = find_elisions(text, cut, kept)
    shown = render(item, cut, tuple(kept), config, "run-end", find_trims(cut, kept, ""), elisions).text
    check_reading(without_lone_surrogates(text), shown)
    assert len([it for it in elisions if it.why == "data"]) <= shown.count("encoded data")

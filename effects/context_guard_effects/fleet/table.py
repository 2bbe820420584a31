"""Rows as Parquet: the columns of a struct, parts in memory, and all parts as one table."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import UnionType
from typing import IO, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from context_guard_effects.fleet.engine import FleetError

Row = dict[str, Any]

ROWS = 20_000
"""Of a row group: what is in memory at once when parts are put together."""
LARGEST = 2**63 - 1


def needs_pyarrow() -> None:
    """Before the work: raises FleetError where no table could be written after it."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise FleetError("--out writes Parquet, which needs pyarrow: pip install 'context-guard[fleet]'") from error


Columns = dict[str, type]
"""Name → str, int, float or bool. Every value may be missing."""


def columns_of(kind: type[Struct]) -> Columns:
    """In the order of the fields. A struct in a field gives its own columns, behind the name of the field."""
    found: Columns = {}
    for name, hint in _fields(kind):
        if isinstance(hint, type) and issubclass(hint, Struct):
            found |= {f"{name}_{inner}": own for inner, own in columns_of(hint).items()}
        else:
            found[name] = hint
    return found


def to_row(value: Struct) -> Row:
    row: Row = {}
    for name, hint in _fields(type(value)):
        own = getattr(value, name)
        if isinstance(hint, type) and issubclass(hint, Struct):
            row |= {} if own is None else {f"{name}_{inner}": it for inner, it in to_row(own).items()}
        else:
            row[name] = own
    return row


def from_row(row: Row, kind: type[Struct]) -> Any:
    """The struct again, as far as columns could hold it."""
    values: dict[str, Any] = {}
    for name, hint in _fields(kind):
        if isinstance(hint, type) and issubclass(hint, Struct):
            inner = {it: row[f"{name}_{it}"] for it in _column_names(hint)}
            values[name] = None if all(it is None for it in inner.values()) else from_row(inner, hint)
        else:
            values[name] = row[name]
    return kind(**values)


@cache
def _column_names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(columns_of(kind))


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, Any], ...]:
    """Name and type, which is not optional here. Worked out once: it takes longer than a row does."""
    hints = get_type_hints(kind)
    return tuple((name, _bare(hints[name])) for name in kind.__struct_fields__)


def encode_part(rows: Iterable[Row], columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fitting = [{name: _fitting(row.get(name), kind) for name, kind in columns.items()} for row in rows]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(fitting, schema=_schema(columns)), sink, compression="zstd")
    return bytes(sink.getvalue())


def write_table(parts: Iterable[bytes], columns: Columns, file: IO[bytes]) -> None:
    """The parts in the given order: the same parts give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(columns)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        group: list[Any] = []
        for part in parts:
            group.append(_decoded(part))
            if sum(it.num_rows for it in group) >= ROWS:
                writer.write_table(pa.concat_tables(group).combine_chunks())
                group.clear()
        if group:
            writer.write_table(pa.concat_tables(group).combine_chunks())


def read_rows(part: bytes) -> Iterator[Row]:
    yield from _decoded(part).to_pylist()


def _decoded(part: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Threads that it would leave behind can abort the program at its end; a part is small.
        return pq.ParquetFile(pa.BufferReader(part)).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise FleetError(f"a part of the table is damaged: delete the folder and run again ({error})") from error


def _schema(columns: Columns) -> Any:
    import pyarrow as pa

    arrow: dict[type, Callable[[], Any]] = {str: pa.string, int: pa.int64, float: pa.float64, bool: pa.bool_}
    return pa.schema([(name, arrow[it]()) for name, it in columns.items()])


def _bare(hint: Any) -> Any:
    """Without `| None`; one of some words is a text."""
    if get_origin(hint) is Literal:
        (kind,) = {type(it) for it in get_args(hint)}
        return kind
    if get_origin(hint) in (Union, UnionType):
        (only,) = (it for it in get_args(hint) if it is not type(None))
        return only
    return hint


def _fitting(value: Any, kind: type) -> Any:
    """What a column cannot hold becomes what it can: half characters escapes, numbers the largest of 64 bits."""
    if value is None:
        return None
    if kind is str:
        return str(value).encode("utf-8", "backslashreplace").decode()
    if kind is float:
        return float(max(-LARGEST, min(LARGEST, value))) if isinstance(value, int) else value
    return max(-LARGEST, min(LARGEST, value))

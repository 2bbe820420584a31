"""What is wrong with a store: everything in it is read and compared with its checksum."""

from collections.abc import Iterator

from context_guard_effects.store.contents import to_text
from context_guard_effects.store.encoding import decode_pass
from context_guard_effects.store.port import StoreError
from context_guard_effects.store.postgres.connect import Db
from context_guard_effects.store.postgres.outputs import get_output
from context_guard_effects.store.postgres.passes import get_body

MISSING = """
SELECT mention.id, seq FROM context_guard.mention
WHERE needed AND NOT EXISTS (SELECT FROM context_guard.output WHERE output.id = mention.id) ORDER BY seq
"""


def find_faults(db: Db) -> Iterator[str]:
    """A line for each. Wants a transaction of one moment."""
    for (id,) in db.execute("SELECT id FROM context_guard.output ORDER BY id").fetchall():
        if _fails(db, to_text(id)):
            yield f"output {to_text(id)}: its content is damaged"
    for (seq,) in db.execute("SELECT seq FROM context_guard.pass ORDER BY seq").fetchall():
        if _is_unreadable(db, seq):
            yield f"pass {seq}: its content is damaged"
    for id, seq in db.execute(MISSING).fetchall():
        yield f"pass {seq}: the output {to_text(id)} that it needs is missing"


def _fails(db: Db, id: str) -> bool:
    try:
        return get_output(db, id) is None
    except StoreError:
        return True


def _is_unreadable(db: Db, seq: int) -> bool:
    try:
        body = get_body(db, seq)
        if body is not None:
            decode_pass(body, seq)
        return body is None
    except StoreError:
        return True

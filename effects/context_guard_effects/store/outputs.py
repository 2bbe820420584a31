"""Raw outputs in the store: told apart by id, their contents shared."""

import sqlite3
from collections.abc import Iterable

from context_guard.edit_log import RawImage, RawOutput
from context_guard_effects.store.blobs import get_blob, put_blob
from context_guard_effects.store.contents import damaged, to_bytes, to_text
from context_guard_effects.store.encoding import digest_of, taken
from context_guard_effects.store.port import Expired


def is_stored(db: sqlite3.Connection, id: str) -> bool:
    """Whether recall can give it back."""
    row = "SELECT 1 FROM output WHERE id = ? AND expired_at IS NULL"
    return db.execute(row, (to_bytes(id),)).fetchone() is not None


def put_outputs(db: sqlite3.Connection, raws: Iterable[RawOutput]) -> None:
    """Stores those that are not there. Raises IdTaken where an id stands for another content."""
    others: list[str] = []
    for raw in raws:
        known = db.execute("SELECT digest FROM output WHERE id = ?", (to_bytes(raw.id),)).fetchone()
        if known is None or known[0] is None:
            _put(db, raw)
        elif known[0] == digest_of(raw):
            _mend(db, raw)
        else:
            others.append(raw.id)
    if others:
        raise taken(others)


def get_output(db: sqlite3.Connection, id: str) -> RawOutput | Expired | None:
    row = "SELECT digest, text, tool, session, expired_at FROM output WHERE id = ?"
    found = db.execute(row, (to_bytes(id),)).fetchone()
    if found is None:
        return None
    digest, text, tool, session, expired_at = found
    if expired_at is not None:
        return Expired(id=id, at=expired_at)
    rows = "SELECT media_type, kind, data FROM image WHERE output = ? ORDER BY place"
    images = tuple(
        RawImage(media_type=to_text(media_type), data=to_text(get_blob(db, data)), kind=kind)
        for media_type, kind, data in db.execute(rows, (to_bytes(id),)).fetchall()
    )
    raw = RawOutput(
        id=id, text=to_text(get_blob(db, text)), images=images, tool=to_text(tool), session=to_text(session)
    )
    if digest_of(raw) != digest:
        raise damaged()
    return raw


def expire_outputs(db: sqlite3.Connection, now: int) -> int:
    """Deletes every output that no pass needs; how many they were."""
    unneeded = "id NOT IN (SELECT id FROM mention WHERE needed)"
    db.execute(f"DELETE FROM image WHERE output IN (SELECT id FROM output WHERE {unneeded})")
    return db.execute(
        "UPDATE output SET digest = NULL, text = NULL, tool = x'', session = x'', expired_at = ?"
        f" WHERE expired_at IS NULL AND {unneeded}",
        (now,),
    ).rowcount


def _put(db: sqlite3.Connection, raw: RawOutput) -> None:
    id = to_bytes(raw.id)
    values = (id, digest_of(raw), put_blob(db, to_bytes(raw.text)), to_bytes(raw.tool), to_bytes(raw.session))
    db.execute("INSERT OR REPLACE INTO output (id, digest, text, tool, session) VALUES (?, ?, ?, ?, ?)", values)
    for place, image in enumerate(raw.images):
        data = put_blob(db, to_bytes(image.data))
        row = (id, place, to_bytes(image.media_type), image.kind, data)
        db.execute("INSERT INTO image VALUES (?, ?, ?, ?, ?)", row)


def _mend(db: sqlite3.Connection, raw: RawOutput) -> None:
    for text in (raw.text, *(image.data for image in raw.images)):
        put_blob(db, to_bytes(text))

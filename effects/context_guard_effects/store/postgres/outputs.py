"""Raw outputs: told apart by id, their contents shared."""

from collections.abc import Collection
from hashlib import sha256

from msgspec.structs import replace

from context_guard.edit_log import RawImage, RawOutput
from context_guard_effects.store.contents import damaged, to_bytes, to_text, unpack
from context_guard_effects.store.encoding import digest_of, taken
from context_guard_effects.store.port import Expired
from context_guard_effects.store.postgres.blobs import get_blobs
from context_guard_effects.store.postgres.connect import Db, add_rows

OUTPUT = {"id": "bytea", "digest": "bytea", "text": "bytea", "tool": "bytea", "session": "bytea"}
IMAGE = {"output": "bytea", "place": "integer", "media_type": "bytea", "kind": "text", "data": "bytea"}
PARTS = """
SELECT output.id, digest, tool, session, part.*, blob.size, blob.packing, blob.data
FROM context_guard.output
CROSS JOIN LATERAL (
    SELECT -1 AS place, ''::bytea AS media_type, '' AS kind, output.text AS sha256
    UNION ALL SELECT place, media_type, kind, data FROM context_guard.image WHERE image.output = output.id
) AS part
JOIN context_guard.blob USING (sha256)
WHERE output.id = ANY(%s)
ORDER BY output.id, place
"""
"""Text and images of outputs in one statement, hence as of one moment."""


def find_stored(db: Db, ids: Collection[str]) -> set[str]:
    """Those that recall can give back."""
    rows = db.execute("SELECT id FROM context_guard.output WHERE id = ANY(%s)", ([*map(to_bytes, ids)],)).fetchall()
    return {to_text(id) for (id,) in rows}


def put_outputs(db: Db, raws: Collection[RawOutput]) -> None:
    """Adds those that are not there; their contents are. Raises IdTaken where an id stands for another content."""
    by_id = {raw.id: raw for raw in sorted(raws, key=lambda raw: to_bytes(raw.id))}
    others = {raw.id for raw in raws if digest_of(raw) != digest_of(by_id[raw.id])}
    new = by_id.keys() - find_stored(db, by_id)
    add_rows(db, "output", OUTPUT, [_row(raw) for raw in by_id.values() if raw.id in new])
    query = "SELECT id, digest FROM context_guard.output WHERE id = ANY(%s)"
    found = {to_text(id): digest for id, digest in db.execute(query, ([*map(to_bytes, by_id)],)).fetchall()}
    others |= {raw.id for raw in by_id.values() if found.get(raw.id) != digest_of(raw)}
    if others:
        raise taken(sorted(others))
    add_rows(db, "image", IMAGE, [row for raw in by_id.values() if raw.id in new for row in _image_rows(raw)])


def get_output(db: Db, id: str) -> RawOutput | Expired | None:
    found = get_outputs(db, [id]).get(id)
    if found is not None:
        return found
    expired = db.execute("SELECT at FROM context_guard.expired WHERE id = %s", (to_bytes(id),)).fetchone()
    return None if expired is None else Expired(id=id, at=expired[0])


def get_outputs(db: Db, ids: Collection[str]) -> dict[str, RawOutput]:
    """Those that are there. Raises StoreError where one is damaged."""
    found: dict[str, RawOutput] = {}
    digests: dict[str, bytes] = {}
    for id, digest, tool, session, place, media_type, kind, sum_, *packed in db.execute(
        PARTS, ([*map(to_bytes, ids)],), binary=True
    ):
        name = to_text(id)
        data = unpack(sum_, *packed)
        text = to_text(get_blobs(db, [sum_]).get(sum_) if data is None else data)
        if place < 0:
            found[name] = RawOutput(id=name, text=text, tool=to_text(tool), session=to_text(session))
            digests[name] = digest
        else:
            image = RawImage(media_type=to_text(media_type), data=text, kind=kind)
            found[name] = _with_image(found[name], image)
    if any(digest_of(raw) != digests[id] for id, raw in found.items()):
        raise damaged()
    return found


def contents_of(raw: RawOutput) -> list[bytes]:
    return [to_bytes(raw.text), *(to_bytes(image.data) for image in raw.images)]


def _with_image(raw: RawOutput, image: RawImage) -> RawOutput:
    return replace(raw, images=(*raw.images, image))


def _row(raw: RawOutput) -> tuple[bytes, ...]:
    return to_bytes(raw.id), digest_of(raw), _sum(raw.text), to_bytes(raw.tool), to_bytes(raw.session)


def _image_rows(raw: RawOutput) -> list[tuple[object, ...]]:
    return [
        (to_bytes(raw.id), place, to_bytes(image.media_type), image.kind, _sum(image.data))
        for place, image in enumerate(raw.images)
    ]


def _sum(text: str) -> bytes:
    return sha256(to_bytes(text)).digest()

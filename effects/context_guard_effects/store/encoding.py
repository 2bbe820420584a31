"""Passes and outputs as bytes, and what a pass needs: the same in every store."""

import json
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256

import msgspec

from context_guard.edit_log import LoggedPass, RawOutput
from context_guard.hidden import ways_back
from context_guard_effects.store.port import Expired, IdTaken, StoreError


def encode_pass(pass_: LoggedPass) -> bytes:
    """As JSON of the standard library: a label may hold half of a surrogate pair, which msgspec refuses."""
    fields = msgspec.to_builtins(msgspec.structs.replace(pass_, seq=0))
    return json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()


def decode_pass(body: bytes, seq: int) -> LoggedPass:
    try:
        return msgspec.structs.replace(msgspec.convert(json.loads(body), LoggedPass), seq=seq)
    except (ValueError, msgspec.ValidationError) as error:
        raise StoreError(f"Pass {seq} of the log cannot be read: {error}. Update context-guard.") from error


def digest_of(raw: RawOutput) -> bytes:
    """Tells contents apart: the id, the text and the images, not who called which tool."""
    images = [[image.media_type, image.kind, image.data] for image in raw.images]
    return sha256(json.dumps([raw.id, raw.text, images]).encode()).digest()


def find_needed(pass_: LoggedPass, is_stored: Callable[[str], bool]) -> set[str]:
    """The stored outputs that give back what the pass hides. Raises StoreError where one has none."""
    needed: set[str] = set()
    for target, ways in ways_back(pass_).items():
        way = next((id for id in ways if is_stored(id)), None)
        if way is None:
            raise StoreError(f"{target} has no raw output in the store and none was given: its edit is not kept.")
        needed.add(way)
    return needed


def check_pass(seq: int, written: bytes, found: bytes | None) -> None:
    """Raises StoreError unless the pass came back as it was written."""
    if found != written:
        raise StoreError(f"Pass {seq} is not in the store as it was written. The disk may fail.")


def check_output(written: RawOutput, found: RawOutput | Expired | None) -> None:
    """Raises StoreError unless the output came back with the same text and images."""
    if not isinstance(found, RawOutput) or (found.text, found.images) != (written.text, written.images):
        raise StoreError(f"Output {written.id} is not in the store as it was written. The disk may fail.")


def check_purge(older_than: timedelta | None, session: str | None) -> None:
    """Raises StoreError where nothing says what to delete."""
    if older_than is None and session is None:
        raise StoreError("Nothing was deleted: a purge needs an age or a session.")


def taken(ids: list[str]) -> IdTaken:
    return IdTaken(f"{', '.join(ids)} stands for another content already: the pass is not kept.", tuple(ids))

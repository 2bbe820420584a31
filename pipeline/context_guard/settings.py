"""Settings as text: read leniently, with a warning for what is not usable; patched without losing a key."""

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
from msgspec import Meta, Struct

from context_guard.config import Config

if TYPE_CHECKING:
    from returns.result import Result


_TEXTS = {
    "model": "`local`, `jev`, `local+jev` or `provider/id`",
    "recallWith": "a tool's name, `shell` or `NAME+shell`",
}
"""What the settings that are texts accept, in words."""


class ConfigError(Struct, frozen=True):
    """A settings text that cannot be read as a whole."""

    message: str


class ParsedConfig(Struct, frozen=True):
    config: Config
    warnings: tuple[str, ...] = ()
    """One sentence for each value that was not usable, naming key, value and range."""


@cache
def _fields() -> dict[str, msgspec.structs.FieldInfo]:
    """By their keys on disk. Worked out when the first settings are read: that takes longer than other imports."""
    return {found.encode_name: found for found in msgspec.structs.fields(Config)}


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Config, include_extras=True)


def parse_config(source: bytes | str, base: Config | None = None) -> "Result[ParsedConfig, ConfigError]":
    """Settings from JSON text: a bad value falls back to `base` (the default), the others survive.

    Fails only when the text is no JSON object; unknown keys are ignored here and kept by `patch_config`.
    """
    return _read_object(source).map(lambda settings: apply_settings(settings, base or Config()))


def apply_settings(settings: dict[str, Any], base: Config) -> ParsedConfig:
    """`base` with every usable value of `settings` (keys as on disk) in place."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for key, value in settings.items():
        if key not in _fields():
            continue
        name = _fields()[key].name
        try:
            values[name] = msgspec.convert(_lenient(key, value), _types()[name])
        except msgspec.ValidationError:
            kept = _printed(getattr(base, name))
            warnings.append(f"{key}: {_printed(value)} is not usable ({range_of(key)}); using {kept}")
    return ParsedConfig(config=msgspec.structs.replace(base, **values), warnings=tuple(warnings))


def patch_config(source: bytes | str, changes: dict[str, Any]) -> "Result[str, ConfigError]":
    """The settings text with `changes` (keys as on disk) laid over it; every other key stays, known or not.

    A text that cannot be read is not written over: the failure says why.
    """
    return _read_object(source).map(
        lambda settings: json.dumps({**settings, **changes}, indent=2, ensure_ascii=False) + "\n"
    )


def unknown_keys(source: bytes | str) -> "Result[tuple[str, ...], ConfigError]":
    return _read_object(source).map(lambda settings: tuple(key for key in settings if key not in _fields()))


def repeated_keys(source: bytes | str) -> "Result[tuple[str, ...], ConfigError]":
    """Keys that the object has more than once, of which JSON readers silently take the last."""
    return _read_pairs(source).map(
        lambda pairs: tuple(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    )


def range_of(key: str) -> str:
    """What a setting accepts, in words; `key` as on disk."""
    annotated = _types()[_fields()[key].name]
    meta: Meta = annotated.__metadata__[0]
    kind: Any = annotated.__origin__
    if kind is bool:
        return "true or false"
    if kind is str:
        return _TEXTS[key]
    if kind == tuple[str, ...]:
        return 'a list of tool names: ["edit", "write"]'
    return f"{'a whole number' if kind is int else 'a number'} from {meta.ge} to {meta.le}"


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    return msgspec.json.schema(Config)


def _read_object(source: bytes | str) -> "Result[dict[str, Any], ConfigError]":
    return _read_pairs(source).map(dict)


def _read_pairs(source: bytes | str) -> "Result[list[tuple[str, Any]], ConfigError]":
    from returns.result import Failure, Success  # only here: most programs read no settings, and it takes a while

    top: list[list[tuple[str, Any]]] = [[]]

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        top[0] = pairs  # the outermost object is the last to be complete
        return dict(pairs)

    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source
        settings = json.loads(text, object_pairs_hook=read)
    except (ValueError, RecursionError) as error:
        return Failure(ConfigError(f"not JSON: {error}"))
    if not isinstance(settings, dict):
        return Failure(ConfigError(f"not a JSON object but {_printed(settings)}"))
    return Success(top[0])


def _lenient(key: str, value: Any) -> Any:
    """The three forms that the original takes too: 4000.0 for 4000, a padded model, a list with strays in it."""
    kind = _types()[_fields()[key].name].__origin__
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is str and isinstance(value, str):
        return value.strip()
    if kind == tuple[str, ...] and isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return value


def _printed(value: Any) -> str:
    printed = json.dumps(value, default=list)
    return printed if len(printed) <= 80 else printed[:79] + "…"

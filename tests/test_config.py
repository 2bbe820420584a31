"""Settings: the names, defaults and ranges of the original, and what becomes of a value that is not usable."""

import json
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from returns.result import Failure, Success

from context_guard.config import Config
from context_guard.settings import (
    ConfigError,
    ParsedConfig,
    apply_settings,
    config_schema,
    parse_config,
    patch_config,
    range_of,
    unknown_keys,
)

SEED: dict[str, tuple[Any, float | None, float | None]] = {
    "enabled": (True, None, None),
    "minResultChars": (4_000, 0, 10_000_000),
    "minRunChars": (8_000, 0, 10_000_000),
    "keepWholeThreshold": (0.7, 0, 1),
    "focusWholeThreshold": (0.6, 0, 1),
    "chunkKeepThreshold": (0.6, 0, 1),
    "noneThreshold": (0.5, 0, 1),
    "maxKeepRatio": (0.6, 0, 1),
    "keepCitedFiles": (False, None, None),
    "timeoutMs": (8_000, 500, 600_000),
    "judgeRequestsPerMinute": (0, 0, 1_000_000),
    "concurrency": (6, 1, 32),
    "maxSegmentChars": (32_000, 2_000, 200_000),
    "maxChunksPerSegment": (40, 2, 60),
    "excludeTools": (("edit", "write"), None, None),
    "distillErrors": (True, None, None),
    "historyExchanges": (3, 0, 10),
    "pinAnthropicCache": (True, None, None),
    "midRun": (True, None, None),
    "midRunMinAgeTurns": (4, 1, 100),
    "midRunBatchChars": (60_000, 0, 10_000_000),
    "midRunBatchCharsOpenAI": (60_000, 0, 10_000_000),
    "midRunChunkKeepThreshold": (0.6, 0, 1),
    "midRunBreakEven": (True, None, None),
    "smallResultMinChars": (400, 0, 10_000_000),
    "smallKeepThreshold": (0.45, 0, 1),
    "pruneExchanges": (True, None, None),
    "keepRecentExchanges": (2, 0, 100),
    "exchangeOmitThreshold": (0.2, 0, 1),
    "exchangeBreakEven": (True, None, None),
    "exchangeMinSavingChars": (8_000, 0, 10_000_000),
    "imageKeepTurns": (3, 0, 1_000),
}
"""Key → default and range of the original, `model` aside."""

FIELDS = {field.encode_name: field for field in msgspec.structs.fields(Config)}


@pytest.mark.parametrize("key", SEED)
def test_a_setting_of_the_original_has_its_default_and_range(key: str) -> None:
    """Whoever brings the original's settings file finds every key, with the same default and the same bounds."""
    field = FIELDS[key]
    (meta,) = get_type_hints(Config, include_extras=True)[field.name].__metadata__
    assert SEED[key] == (field.default, meta.ge, meta.le)
    assert SEED[key][0] == getattr(Config.original(), field.name)


def test_the_original_sends_to_its_own_model_and_we_to_none() -> None:
    """The default judge needs no key and no network; under the original's settings it is the original's."""
    assert ("local", "openrouter/~typesafe/jev-latest") == (Config().model, Config.original().model)


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("minResultChars", -1, "a whole number from 0 to 10000000"),
        ("minResultChars", 4000.5, "a whole number from 0 to 10000000"),
        ("minResultChars", "4000", "a whole number from 0 to 10000000"),
        ("minResultChars", True, "a whole number from 0 to 10000000"),
        ("midRunMinAgeTurns", 0, "a whole number from 1 to 100"),
        ("chunkKeepThreshold", 1.01, "a number from 0 to 1"),
        ("chunkKeepThreshold", float("nan"), "a number from 0 to 1"),
        ("enabled", 1, "true or false"),
        ("enabled", None, "true or false"),
        ("excludeTools", "edit", 'a list of tool names: ["edit", "write"]'),
        ("model", "jev-latest", "`local`, `jev`, `local+jev` or `provider/id`"),
        ("model", "openrouter/", "`local`, `jev`, `local+jev` or `provider/id`"),
        ("midRunBatchCharsOpenAI", [], "a whole number from 0 to 10000000"),
    ],
)
def test_a_bad_value_falls_back_and_is_named(key: str, value: object, accepted: str) -> None:
    """The default stands in for it, the other settings survive, and one warning names key, value and range."""
    parsed = apply_settings({key: value, "concurrency": 2}, Config())
    assert msgspec.structs.replace(Config(), concurrency=2) == parsed.config
    (warning,) = parsed.warnings
    assert warning.startswith(f"{key}: {json.dumps(value)} is not usable ({accepted}); using ")
    assert accepted == range_of(key)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("minResultChars", 6000.0, 6_000),
        ("chunkKeepThreshold", 1, 1.0),
        ("model", "  openrouter/~typesafe/jev-latest ", "openrouter/~typesafe/jev-latest"),
        ("model", "a/b/c", "a/b/c"),
        ("excludeTools", ["bash", 7, None], ("bash",)),
        ("excludeTools", [], ()),
    ],
)
def test_a_value_in_another_form_is_taken(key: str, value: object, expected: object) -> None:
    """What the original accepts is accepted: 6000.0, a padded model, a list with strays in it."""
    parsed = apply_settings({key: value}, Config())
    assert (expected, ()) == (getattr(parsed.config, FIELDS[key].name), parsed.warnings)


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '"text"', "{} {}", "\ufffe", "[" * 100_000])
def test_a_file_that_is_no_object_is_an_error(text: str) -> None:
    """A broken settings file is reported as such, and never written over."""
    for failed in (parse_config(text), patch_config(text, {"enabled": False}), unknown_keys(text)):
        match failed:
            case Failure(ConfigError(message=message)):
                assert message.startswith("not ")
            case _:
                pytest.fail(f"{failed} is no failure")


def test_unknown_keys_stay_where_they_are() -> None:
    """Writing one setting keeps every other key, known or not, in its order."""
    source = '{"someday": {"a": [1, "é"]}, "enabled": true, "concurrency": 99}'
    written = patch_config(source, {"enabled": False}).unwrap()
    assert list({"someday": 0, "enabled": 0, "concurrency": 0}) == list(json.loads(written))
    assert {"someday": {"a": [1, "é"]}, "enabled": False, "concurrency": 99} == json.loads(written)
    assert Success(("someday",)) == unknown_keys(source)
    assert written.endswith("}\n")


def test_a_byte_order_mark_is_no_trouble() -> None:
    """Files that Windows editors saved are read."""
    assert Success(ParsedConfig(Config(enabled=False))) == parse_config(b'\xef\xbb\xbf{"enabled": false}')


def test_the_schema_names_every_setting() -> None:
    """The JSON Schema of a settings file has every key, under its name on disk."""
    (definition,) = config_schema()["$defs"].values()
    assert FIELDS.keys() == definition["properties"].keys()


QUICK = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@QUICK
@given(st.dictionaries(st.sampled_from([*FIELDS, "unknown"]), JSON, max_size=5))
def test_whatever_the_file_says_the_settings_are_in_range(values: dict[str, Any]) -> None:
    """No value raises, none out of range gets in, and each that is refused has its warning."""
    parsed = apply_settings(values, Config())
    assert parsed.config == msgspec.convert(msgspec.to_builtins(parsed.config), Config)
    refused = {warning.partition(":")[0] for warning in parsed.warnings}
    assert refused <= values.keys()
    for key in values.keys() - refused - {"unknown"}:
        assert apply_settings({key: values[key]}, Config()).warnings == ()

"""Structured logs, one JSON object a line: what happened, never what was said. No header, no body, no query."""

import json
import logging
import sys
import time
from typing import Any, TextIO

NAME = "context_guard.proxy"


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, Any] = record.args if isinstance(record.args, dict) else {}
        line = {"time": f"{when}.{int(record.msecs):03}Z", "level": record.levelname.lower(), "event": record.msg}
        return json.dumps(line | fields, ensure_ascii=False)


class Log:
    """Fields are figures and words of ours."""

    def __init__(self, stream: TextIO | None = None, level: str = "info") -> None:
        self._logger = logging.Logger(NAME, level.upper())
        handler = logging.StreamHandler(stream or sys.stderr)
        handler.setFormatter(JsonLines())
        self._logger.addHandler(handler)

    def info(self, event: str, **fields: Any) -> None:
        self._logger.info(event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._logger.warning(event, fields)

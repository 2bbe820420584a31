"""Imported before anything of `store.postgres`: without its driver the tests of the importing module are skipped."""

import pytest

pytest.importorskip("psycopg_pool", reason="pip install '.[postgres]'")

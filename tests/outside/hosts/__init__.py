"""Frameworks as hosts for `assert_guard_invariants`: each module is run by itself, where its framework is installed."""

"""Fits the embedded judge: `python -m benchmarks.train_local_judge`."""

"""Audits of the sessions that are already on this disk: found, opened read-only, and worked on in processes."""

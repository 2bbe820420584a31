"""Stage 0, one module a host: its data in, a `Transcript` out; drafts in, the host's own form of them out."""

"""The tables of the store as data: each version is a list of statements on top of the one before it.

A released step is never changed. Texts from outside (ids, names, contents) are bytes, UTF-8 with lone surrogates, since
SQLite's own texts hold neither those nor zero characters.
"""

APPLICATION_ID = 0x63747867
"""Tells a store from other SQLite files: `ctxg` in ASCII, at offset 68 of the file."""

Migrations = tuple[tuple[str, ...], ...]

MIGRATIONS: Migrations = (
    (
        # a content, once, however many outputs and passes share it
        """CREATE TABLE blob (
            id INTEGER PRIMARY KEY,
            sha256 BLOB NOT NULL UNIQUE,
            size INTEGER NOT NULL,
            packing TEXT NOT NULL,
            data BLOB NOT NULL
        )""",
        # an expired output keeps its id and the time, nothing else
        """CREATE TABLE output (
            id BLOB PRIMARY KEY,
            digest BLOB,
            text INTEGER REFERENCES blob (id),
            tool BLOB NOT NULL,
            session BLOB NOT NULL,
            expired_at INTEGER
        ) WITHOUT ROWID""",
        """CREATE TABLE image (
            output BLOB NOT NULL REFERENCES output (id),
            place INTEGER NOT NULL,
            media_type BLOB NOT NULL,
            kind TEXT NOT NULL,
            data INTEGER NOT NULL REFERENCES blob (id),
            PRIMARY KEY (output, place)
        ) WITHOUT ROWID""",
        # AUTOINCREMENT: a place in the log is never given twice, even after a purge
        """CREATE TABLE pass (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            session BLOB NOT NULL,
            is_word INTEGER NOT NULL,
            kept_at INTEGER NOT NULL,
            body INTEGER NOT NULL REFERENCES blob (id)
        )""",
        # which passes are about an id; `needed`: the pass's edits hide that output
        """CREATE TABLE mention (
            id BLOB NOT NULL,
            seq INTEGER NOT NULL REFERENCES pass (seq),
            needed INTEGER NOT NULL,
            PRIMARY KEY (id, seq)
        ) WITHOUT ROWID""",
        "CREATE INDEX mention_seq ON mention (seq)",
        "CREATE INDEX output_text ON output (text)",
        "CREATE INDEX image_data ON image (data)",
        "CREATE INDEX pass_body ON pass (body)",
    ),
    (
        # places taken in a window of time, of a limit that processes share
        """CREATE TABLE quota (
            name BLOB NOT NULL,
            time INTEGER NOT NULL,
            place INTEGER NOT NULL,
            PRIMARY KEY (name, time, place)
        ) WITHOUT ROWID""",
    ),
)

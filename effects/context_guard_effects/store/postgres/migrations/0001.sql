-- Texts from outside (ids, names, contents) are bytes, UTF-8 with lone surrogates: text holds neither those nor zeros.
-- Times are milliseconds since the epoch. Rows are only ever added; a purge deletes whole passes and what they needed.

CREATE TABLE context_guard.blob (
    sha256 bytea PRIMARY KEY,
    size bigint NOT NULL,
    packing text NOT NULL,
    data bytea NOT NULL
);
COMMENT ON TABLE context_guard.blob IS 'A content, once, however many outputs and passes share it';
ALTER TABLE context_guard.blob ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE context_guard.mend (
    sha256 bytea NOT NULL REFERENCES context_guard.blob,
    number integer NOT NULL,
    size bigint NOT NULL,
    packing text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (sha256, number)
);
COMMENT ON TABLE context_guard.mend IS 'A content again whose blob was found damaged; the last one counts';

CREATE TABLE context_guard.output (
    id bytea PRIMARY KEY,
    digest bytea NOT NULL,
    text bytea NOT NULL REFERENCES context_guard.blob,
    tool bytea NOT NULL,
    session bytea NOT NULL
);

CREATE TABLE context_guard.image (
    output bytea NOT NULL REFERENCES context_guard.output,
    place integer NOT NULL,
    media_type bytea NOT NULL,
    kind text NOT NULL,
    data bytea NOT NULL REFERENCES context_guard.blob,
    PRIMARY KEY (output, place)
);

CREATE TABLE context_guard.expired (
    id bytea PRIMARY KEY,
    at bigint NOT NULL
);
COMMENT ON TABLE context_guard.expired IS 'Ids of outputs that were purged; an output with the same id came again';

CREATE TABLE context_guard.pass (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bytea NOT NULL,
    is_word boolean NOT NULL,
    kept_at bigint NOT NULL,
    body bytea NOT NULL REFERENCES context_guard.blob
);

CREATE TABLE context_guard.mention (
    id bytea NOT NULL,
    seq bigint NOT NULL REFERENCES context_guard.pass,
    needed boolean NOT NULL,
    PRIMARY KEY (id, seq)
);
COMMENT ON COLUMN context_guard.mention.needed IS 'The edits of the pass hide that output';

CREATE INDEX mention_seq ON context_guard.mention (seq);
CREATE INDEX output_text ON context_guard.output (text);
CREATE INDEX image_data ON context_guard.image (data);
CREATE INDEX pass_body ON context_guard.pass (body);
CREATE INDEX pass_session ON context_guard.pass (session);

CREATE TABLE context_guard.quota (
    name bytea NOT NULL,
    time bigint NOT NULL,
    place integer NOT NULL,
    PRIMARY KEY (name, time, place)
);
COMMENT ON TABLE context_guard.quota IS 'Places taken in a window of time, of a limit that processes share';

-- +goose Up
-- Records that were erased on request and stay out.

CREATE SEQUENCE IF NOT EXISTS suppressions_seq AS bigint;

-- dataset, kind, normalization, key: how the digest of the value was made; no value is kept.
-- seq: the place in the order of additions. removed_at: when loading was allowed again.
-- applied_at: when the record was gone from everything; null: that is not finished.
CREATE TABLE IF NOT EXISTS suppressions (
    id            uuid        PRIMARY KEY,
    seq           bigint      NOT NULL DEFAULT nextval('suppressions_seq'),
    dataset       text        NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    kind          text        NOT NULL CHECK (kind IN ('id', 'email', 'phone', 'name_firm')),
    normalization integer     NOT NULL CHECK (normalization > 0),
    key           integer     NOT NULL CHECK (key > 0),
    digest        bytea       NOT NULL CHECK (octet_length(digest) = 32),
    reason        text        NOT NULL DEFAULT '' CHECK (char_length(reason) <= 500),
    added_by      text        NOT NULL DEFAULT '' CHECK (char_length(added_by) <= 200),
    added_at      timestamptz NOT NULL,
    applied_at    timestamptz,
    removed_at    timestamptz,
    removed_by    text        NOT NULL DEFAULT '' CHECK (char_length(removed_by) <= 200)
);
CREATE UNIQUE INDEX IF NOT EXISTS suppressions_active ON suppressions (dataset, kind, normalization, key, digest) WHERE removed_at IS NULL;

-- What is being erased: records by id, with those whose documents have something of them.
-- Rows go when it is done.
CREATE TABLE IF NOT EXISTS suppressed_records (
    dataset   text        NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id uuid        NOT NULL,
    related   jsonb       NOT NULL DEFAULT '{}',
    noted_at  timestamptz NOT NULL,
    PRIMARY KEY (dataset, record_id)
);

-- Up to which suppression a generation of indices has been searched for such records.
CREATE TABLE IF NOT EXISTS suppressed_generations (
    generation text   PRIMARY KEY,
    through    bigint NOT NULL
);

-- The list belongs to no workspace: the system role alone reads and writes it.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['suppressions', 'suppressed_records', 'suppressed_generations'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

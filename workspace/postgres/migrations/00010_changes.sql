-- The feed of changes of global records.

-- +goose Up
-- A row for each change of a record. Readers see the rows up to data_feed.head.
-- changed: the names of the fields with other values; null: all.
CREATE TABLE IF NOT EXISTS data_changes (
    dataset   text   NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    seq       bigint NOT NULL,
    record_id uuid   NOT NULL,
    op        text   NOT NULL CHECK (op IN ('upsert', 'delete')),
    changed   text[],
    CONSTRAINT data_changes_pkey PRIMARY KEY (dataset, seq)
);
CREATE INDEX IF NOT EXISTS data_changes_record ON data_changes (dataset, record_id, seq) INCLUDE (op);

-- A publication makes changes readable: all after the publication before, up to
-- head.
CREATE TABLE IF NOT EXISTS data_publications (
    id           uuid PRIMARY KEY,
    head         bigint NOT NULL,
    published_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS data_publications_head ON data_publications (head);

-- The state of the feed, one row. Changes up to forgotten are deleted. Those after
-- head are not told yet: writer has not finished. A writer is a delta, or a
-- generation that searches were switched to from the generation origin, "" if there
-- was none. generation is the one that searches used when the feed was last told of a
-- switch, "" for none. latest is the last publication, publishing the one in progress.
-- Elasticsearch keeps the id of the last publication too; accepted is what it had
-- when the feed was last started over, null after a publication.
CREATE TABLE IF NOT EXISTS data_feed (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    forgotten  bigint NOT NULL DEFAULT 0,
    head       bigint NOT NULL DEFAULT 0,
    tail       bigint NOT NULL DEFAULT 0,
    latest     uuid,
    publishing uuid,
    accepted   uuid DEFAULT '00000000-0000-0000-0000-000000000000',
    writer     text,
    origin     text,
    generation text   NOT NULL DEFAULT '',
    CHECK (forgotten <= head AND head <= tail)
);
INSERT INTO data_feed DEFAULT VALUES ON CONFLICT DO NOTHING;

-- Global records belong to no workspace: requests read every row.
GRANT SELECT ON data_changes, data_publications, data_feed TO atlas_app;
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['data_changes', 'data_publications', 'data_feed'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
        EXECUTE format('DROP POLICY IF EXISTS app_reads ON %I', t);
        EXECUTE format('CREATE POLICY app_reads ON %I FOR SELECT TO atlas_app USING (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

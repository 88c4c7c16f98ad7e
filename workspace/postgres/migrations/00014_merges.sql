-- Records that became others: merges of global records.
--
-- Without a transaction, so that the index is built while servers write. Each
-- statement can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- into_id: what the record of a merge became.
ALTER TABLE data_changes ADD COLUMN IF NOT EXISTS into_id uuid;
ALTER TABLE data_changes DROP CONSTRAINT IF EXISTS data_changes_op_check;
ALTER TABLE data_changes DROP CONSTRAINT IF EXISTS data_changes_op;
ALTER TABLE data_changes ADD CONSTRAINT data_changes_op
    CHECK (op IN ('upsert', 'delete', 'merge') AND (op = 'merge') = (into_id IS NOT NULL)) NOT VALID;
ALTER TABLE data_changes VALIDATE CONSTRAINT data_changes_op;
DROP INDEX CONCURRENTLY IF EXISTS data_changes_merges;
CREATE INDEX CONCURRENTLY data_changes_merges ON data_changes (dataset, seq) WHERE op = 'merge';

-- What records became that are gone: the merges that the feed has told, without those
-- whose record is there again. What a record became may itself have become another.
CREATE TABLE IF NOT EXISTS data_merges (
    dataset   text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    record_id uuid NOT NULL,
    into_id   uuid NOT NULL CHECK (into_id <> record_id),
    merged_at timestamptz NOT NULL,
    CONSTRAINT data_merges_pkey PRIMARY KEY (dataset, record_id)
);

-- The merges of each generation, of its load and of the deltas on it: what a switch to
-- it tells.
CREATE TABLE IF NOT EXISTS data_generation_merges (
    generation text NOT NULL,
    dataset    text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    record_id  uuid NOT NULL,
    into_id    uuid NOT NULL CHECK (into_id <> record_id),
    CONSTRAINT data_generation_merges_pkey PRIMARY KEY (generation, dataset, record_id)
);

-- The merges after which workspaces may still hold the record that is gone. due_at: when
-- to look next.
CREATE TABLE IF NOT EXISTS data_merge_moves (
    dataset   text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id uuid NOT NULL,
    told_at   timestamptz NOT NULL,
    due_at    timestamptz NOT NULL,
    CONSTRAINT data_merge_moves_pkey PRIMARY KEY (dataset, record_id)
);
CREATE INDEX IF NOT EXISTS data_merge_moves_due ON data_merge_moves (due_at);

-- The overlays of records that became others of which the workspace had an overlay too,
-- as they were: the values that the survivor's overlay did not take are here.
CREATE TABLE IF NOT EXISTS merged_overlays (
    workspace_id uuid NOT NULL CONSTRAINT merged_overlays_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    dataset      text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id    uuid NOT NULL,
    into_id      uuid NOT NULL,
    merged_at    timestamptz NOT NULL,
    overlay      jsonb NOT NULL,
    CONSTRAINT merged_overlays_pkey PRIMARY KEY (workspace_id, dataset, record_id, merged_at)
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['data_merges', 'data_generation_merges', 'data_merge_moves', 'merged_overlays'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Global records belong to no workspace: requests read every row.
GRANT SELECT ON data_merges TO atlas_app;
DROP POLICY IF EXISTS app_reads ON data_merges;
CREATE POLICY app_reads ON data_merges FOR SELECT TO atlas_app USING (true);

GRANT SELECT, INSERT ON merged_overlays TO atlas_app;
DROP POLICY IF EXISTS app_own ON merged_overlays;
CREATE POLICY app_own ON merged_overlays TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
    WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);

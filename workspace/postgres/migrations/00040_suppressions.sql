-- Why a record is being erased, checks of the keys of the list, and indices for erasing.
--
-- Without a transaction, so that the tables are locked for a moment only. Every statement
-- can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- suppressions: because of which ones; without any of them the record is not erased.
ALTER TABLE suppressed_records ADD COLUMN IF NOT EXISTS suppressions uuid[] NOT NULL DEFAULT '{}';

-- unclean: documents have something of erased records, and nothing can be written there.
ALTER TABLE suppressed_generations ADD COLUMN IF NOT EXISTS unclean boolean NOT NULL DEFAULT false;

-- A digest that says which key has a number, and is good for nothing else.
CREATE TABLE IF NOT EXISTS suppression_keys (
    key    integer PRIMARY KEY CHECK (key > 0),
    digest bytea   NOT NULL CHECK (octet_length(digest) = 32)
);
ALTER TABLE suppression_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE suppression_keys FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON suppression_keys;
CREATE POLICY system_all ON suppression_keys TO atlas_system USING (true) WITH CHECK (true);

DROP INDEX CONCURRENTLY IF EXISTS data_merges_into_id;
CREATE INDEX CONCURRENTLY data_merges_into_id ON data_merges (into_id);
DROP INDEX CONCURRENTLY IF EXISTS data_generation_merges_into_id;
CREATE INDEX CONCURRENTLY data_generation_merges_into_id ON data_generation_merges (into_id);

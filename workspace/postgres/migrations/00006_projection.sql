-- What makes projecting safe against late writes and lost indices. No
-- transaction: an index that is made concurrently lets writes go on.

-- +goose NO TRANSACTION
-- +goose Up
-- attempted_version: the version that a document was last sent with; while that
-- is not acknowledged, the document may still arrive. Null in rows from before
-- the column: not known. lost_version: the version that the row took when the
-- serving index was found to lack its document. view_deleted_version: the
-- version that it took when a Static View was deleted that its document may
-- still name. Both are null once a document with that version or a later one is
-- acknowledged. refusal: why Elasticsearch does not take the document.
ALTER TABLE held_records
    ADD COLUMN IF NOT EXISTS attempted_version bigint,
    ADD COLUMN IF NOT EXISTS lost_version bigint,
    ADD COLUMN IF NOT EXISTS view_deleted_version bigint,
    ADD COLUMN IF NOT EXISTS refusal text;
ALTER TABLE held_records ALTER COLUMN attempted_version SET DEFAULT 0;

-- index_uuid: Elasticsearch's own id of the index; another one under the same
-- name is another index. marked: lost_version is set in every row whose document
-- the index lacks.
ALTER TABLE held_generations
    ADD COLUMN IF NOT EXISTS index_uuid text,
    ADD COLUMN IF NOT EXISTS marked boolean NOT NULL DEFAULT true;

-- An index whose making was interrupted is there, and of no use.
-- +goose StatementBegin
DO $$
DECLARE
    broken regclass;
BEGIN
    FOR broken IN
        SELECT indexrelid FROM pg_index WHERE NOT indisvalid AND indrelid = 'held_records'::regclass
    LOOP
        EXECUTE format('DROP INDEX %s', broken);
    END LOOP;
END
$$;
-- +goose StatementEnd

CREATE INDEX CONCURRENTLY IF NOT EXISTS held_records_lost
    ON held_records (dataset, workspace_id) WHERE lost_version IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS held_records_view_deleted
    ON held_records (workspace_id, dataset) WHERE view_deleted_version IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS held_records_refused
    ON held_records (workspace_id) WHERE refusal IS NOT NULL;

-- The few held records that the global dataset has no more: what a View's
-- members are too many by.
CREATE INDEX CONCURRENTLY IF NOT EXISTS held_records_absent
    ON held_records (workspace_id, dataset, record_id) WHERE NOT present;
-- A delta makes the held rows of a few records pending, whichever workspace has
-- them.
CREATE INDEX CONCURRENTLY IF NOT EXISTS held_records_record ON held_records (dataset, record_id);

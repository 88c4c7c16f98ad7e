-- Pages of the feed of changes ask of each record whether it is gone later. Few are.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS data_changes_ended;
CREATE INDEX CONCURRENTLY data_changes_ended ON data_changes (dataset, record_id, seq) WHERE op <> 'upsert';

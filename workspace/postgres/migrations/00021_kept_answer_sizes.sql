-- A workspace has a limit for the bytes of its kept answers too.

-- +goose NO TRANSACTION
-- +goose Up
-- bytes: the length of the answer. A server of the version before leaves it at 0.
ALTER TABLE kept_answers ADD COLUMN IF NOT EXISTS bytes integer NOT NULL DEFAULT 0;
DROP INDEX CONCURRENTLY IF EXISTS kept_answers_size;
CREATE INDEX CONCURRENTLY kept_answers_size ON kept_answers (workspace_id, kept_at) INCLUDE (bytes);
DROP INDEX CONCURRENTLY IF EXISTS kept_answers_age;

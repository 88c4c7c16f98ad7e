-- Answers to requests with an Idempotency-Key that changed something, for their
-- repetitions. A row is written in the transaction of the change.

-- +goose Up
-- key: a digest of the caller, the operation and the key. part: 0, or the item of a batch
-- that is not done yet, from 1. request: a digest of the request. answer: as the API renders
-- it, without secrets.
CREATE TABLE IF NOT EXISTS kept_answers (
    workspace_id uuid NOT NULL CONSTRAINT kept_answers_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    key          bytea NOT NULL CHECK (octet_length(key) = 16),
    part         integer NOT NULL CHECK (part BETWEEN 0 AND 100),
    request      bytea NOT NULL CHECK (octet_length(request) = 16),
    answer       bytea NOT NULL,
    kept_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT kept_answers_pkey PRIMARY KEY (workspace_id, key, part)
);
CREATE INDEX IF NOT EXISTS kept_answers_age ON kept_answers (workspace_id, kept_at);

ALTER TABLE kept_answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE kept_answers FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON kept_answers;
CREATE POLICY system_all ON kept_answers TO atlas_system USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS app_own ON kept_answers;
CREATE POLICY app_own ON kept_answers TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
    WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON kept_answers TO atlas_app;

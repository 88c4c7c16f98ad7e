-- +goose Up
-- What workspaces permit of their API keys.

-- scopes: those that keys may have; null: any. max_days, max_daily_credits: null: no limit.
CREATE TABLE IF NOT EXISTS key_policies (
    workspace_id      uuid PRIMARY KEY CONSTRAINT key_policies_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    scopes            text[] CHECK (cardinality(scopes) > 0 AND scopes <@ '{data:read,workspace:read,workspace:write,workspace:admin}'),
    max_days          integer CHECK (max_days BETWEEN 1 AND 3650),
    networks          boolean NOT NULL,
    max_daily_credits bigint CHECK (max_daily_credits > 0),
    updated_at        timestamptz NOT NULL,
    updated_by        uuid CONSTRAINT key_policies_updated_by REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE INDEX IF NOT EXISTS key_policies_updated_by_user ON key_policies (updated_by);

ALTER TABLE key_policies ENABLE ROW LEVEL SECURITY;
ALTER TABLE key_policies FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON key_policies;
CREATE POLICY system_all ON key_policies TO atlas_system USING (true) WITH CHECK (true);
DROP POLICY IF EXISTS app_own ON key_policies;
CREATE POLICY app_own ON key_policies TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
    WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE ON key_policies TO atlas_app;

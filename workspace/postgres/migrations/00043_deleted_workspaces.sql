-- +goose Up
-- Workspaces whose deletion has begun. users: those who were members of no other workspace, until
-- it has ended; ended_at: when nothing of it was left to delete. No column refers to another
-- table: the row outlives what it is of.
CREATE TABLE IF NOT EXISTS deleted_workspaces (
    id       uuid        PRIMARY KEY,
    users    uuid[]      NOT NULL DEFAULT '{}',
    begun_at timestamptz NOT NULL,
    ended_at timestamptz
);

-- The system role alone reads and writes it.
ALTER TABLE deleted_workspaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_workspaces FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON deleted_workspaces;
CREATE POLICY system_all ON deleted_workspaces TO atlas_system USING (true) WITH CHECK (true);

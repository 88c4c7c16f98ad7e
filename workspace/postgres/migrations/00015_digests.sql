-- E-mails of the signals that arrived.

-- +goose Up
-- The name of the time zone by whose clock a workspace gets its digests.
ALTER TABLE workspaces ADD COLUMN IF NOT EXISTS time_zone text NOT NULL DEFAULT 'UTC' CHECK (char_length(time_zone) BETWEEN 1 AND 100);
SELECT follow_changes_of('workspaces');

-- Where the digests of a workspace are: those of a frequency have the signals that arrived
-- up to through. The next one is due at next_at.
CREATE TABLE IF NOT EXISTS signal_digests (
    workspace_id uuid NOT NULL CONSTRAINT signal_digests_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    frequency    text NOT NULL CHECK (frequency IN ('instant', 'daily', 'weekly')),
    through      timestamptz NOT NULL,
    next_at      timestamptz NOT NULL,
    CONSTRAINT signal_digests_pkey PRIMARY KEY (workspace_id, frequency)
);

-- Users who want no e-mails of a workspace's signals.
CREATE TABLE IF NOT EXISTS unsubscribed_users (
    workspace_id uuid NOT NULL CONSTRAINT unsubscribed_users_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid NOT NULL CONSTRAINT unsubscribed_users_user REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE,
    at           timestamptz NOT NULL,
    CONSTRAINT unsubscribed_users_pkey PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX IF NOT EXISTS unsubscribed_users_user_id ON unsubscribed_users (user_id);

-- Requests touch neither: the background work does, and who follows the link of an e-mail.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['signal_digests', 'unsubscribed_users'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

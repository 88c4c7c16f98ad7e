-- The queue of signals.

-- +goose Up
-- arrival is the last arrival that a load or a delta was given for its new signals,
-- arrived the last one of which searches see every signal. A load or a delta is given
-- an arrival when those before it have ended, so that later arrivals are seen later.
ALTER TABLE data_feed
    ADD COLUMN IF NOT EXISTS arrival timestamptz NOT NULL DEFAULT 'epoch',
    ADD COLUMN IF NOT EXISTS arrived timestamptz NOT NULL DEFAULT 'epoch';

-- The queue has the signals that arrived after arrived_after: data_feed.arrived when the
-- subscription began. Null: queue_started_at, in rows of the version before, and
-- where data_feed knew no generation.
ALTER TABLE signal_subscriptions ADD COLUMN IF NOT EXISTS arrived_after timestamptz;

-- The signals that a workspace dismissed from its queue, with the type that they had
-- then.
-- +goose StatementBegin
DO $$
BEGIN
    IF to_regclass('dismissed_signals') IS NOT NULL THEN
        RETURN;
    END IF;
    CREATE TABLE dismissed_signals (
        workspace_id uuid NOT NULL CONSTRAINT dismissed_signals_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
        signal_id    uuid NOT NULL,
        signal_type  text NOT NULL,
        dismissed_at timestamptz NOT NULL,
        CONSTRAINT dismissed_signals_pkey PRIMARY KEY (workspace_id, signal_id)
    );
    CREATE INDEX dismissed_signals_signal ON dismissed_signals (signal_id);
    ALTER TABLE dismissed_signals ENABLE ROW LEVEL SECURITY;
    ALTER TABLE dismissed_signals FORCE ROW LEVEL SECURITY;
    CREATE POLICY system_all ON dismissed_signals TO atlas_system USING (true) WITH CHECK (true);
    CREATE POLICY app_own ON dismissed_signals TO atlas_app
        USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
        WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
    GRANT SELECT, INSERT, UPDATE, DELETE ON dismissed_signals TO atlas_app;
END
$$;
-- +goose StatementEnd

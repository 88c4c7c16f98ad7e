-- Webhooks of workspaces. Their deliveries are jobs of the kind 'webhook', their lane is
-- the webhook.

-- +goose Up
-- secret, old_secret: sealed under a key of the servers. old_secret signs too, until
-- old_until. failing_since: when the first of the attempts failed that all failed since,
-- null after a success. signals_after: the arrival up to which it was told of signals, null
-- before it is first looked at: what arrived until then it is not told of.
CREATE TABLE IF NOT EXISTS webhooks (
    workspace_id  uuid NOT NULL CONSTRAINT webhooks_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id            uuid NOT NULL,
    url           text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    events        text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 20),
    enabled       boolean NOT NULL,
    secret        bytea NOT NULL,
    old_secret    bytea,
    old_until     timestamptz,
    failing_since timestamptz,
    signals_after timestamptz,
    created_at    timestamptz NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (workspace_id, id),
    CHECK ((old_secret IS NULL) = (old_until IS NULL))
);

-- How far events are dispatched to webhooks, by source: a dataset of the feed of changes,
-- or 'load' for its switches. Whoever dispatches locks the row.
CREATE TABLE IF NOT EXISTS webhook_positions (
    source     text PRIMARY KEY,
    seq        bigint NOT NULL DEFAULT 0,
    generation text NOT NULL DEFAULT '',
    at         timestamptz
);

-- When a workspace was last told that it used so many percent of its credits.
CREATE TABLE IF NOT EXISTS credit_notices (
    workspace_id uuid NOT NULL CONSTRAINT credit_notices_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    percent      integer NOT NULL,
    noticed_at   timestamptz NOT NULL,
    CONSTRAINT credit_notices_pkey PRIMARY KEY (workspace_id, percent)
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['webhooks', 'webhook_positions', 'credit_notices'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['webhooks', 'credit_notices'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS app_own ON %I', t);
        EXECUTE format('CREATE POLICY app_own ON %I TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks, credit_notices TO atlas_app;

-- +goose Up
-- Alerts on Views.

-- A View that somebody has an alert on. definition: the one that matched was compared with.
-- matched: the records that match, deflated (workspace/alerts); null: they are not known.
-- publication, seq: the place in the feed up to which changes are compared. latest: the
-- number of the last entry. version: counts the changes of the row. alerted_at: when an
-- alert was last switched on.
CREATE TABLE IF NOT EXISTS watched_views (
    workspace_id uuid NOT NULL,
    view_id      uuid NOT NULL,
    state        text NOT NULL CHECK (state IN ('waiting', 'watching', 'resting')),
    definition   jsonb,
    matched      bytea,
    publication  uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    seq          bigint NOT NULL DEFAULT 0,
    latest       bigint NOT NULL DEFAULT 0,
    version      bigint NOT NULL DEFAULT 0,
    compared_at  timestamptz NOT NULL,
    alerted_at   timestamptz NOT NULL,
    CONSTRAINT watched_views_pkey PRIMARY KEY (workspace_id, view_id),
    CONSTRAINT watched_views_view FOREIGN KEY (workspace_id, view_id) REFERENCES views (workspace_id, id) ON DELETE CASCADE
);

-- A user's alert. since: the entry after which it tells. seen: the last entry that the user
-- has looked at.
CREATE TABLE IF NOT EXISTS view_alerts (
    workspace_id uuid NOT NULL,
    user_id      uuid NOT NULL,
    view_id      uuid NOT NULL,
    since        bigint NOT NULL,
    seen         bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    seen_at      timestamptz,
    CONSTRAINT view_alerts_pkey PRIMARY KEY (workspace_id, user_id, view_id),
    CONSTRAINT view_alerts_member FOREIGN KEY (workspace_id, user_id) REFERENCES members (workspace_id, user_id)
        ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT view_alerts_view FOREIGN KEY (workspace_id, view_id) REFERENCES watched_views (workspace_id, view_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS view_alerts_of_view ON view_alerts (workspace_id, view_id);

-- Records that began to match a View: how many, and the first of them.
CREATE TABLE IF NOT EXISTS view_alert_entries (
    workspace_id uuid NOT NULL,
    view_id      uuid NOT NULL,
    number       bigint NOT NULL CHECK (number > 0),
    at           timestamptz NOT NULL,
    records      integer NOT NULL CHECK (records > 0),
    record_ids   uuid[] NOT NULL CHECK (cardinality(record_ids) BETWEEN 1 AND 500),
    CONSTRAINT view_alert_entries_pkey PRIMARY KEY (workspace_id, view_id, number),
    CONSTRAINT view_alert_entries_view FOREIGN KEY (workspace_id, view_id) REFERENCES watched_views (workspace_id, view_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS view_alert_entries_at ON view_alert_entries (at);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['watched_views', 'view_alerts', 'view_alert_entries'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('DROP POLICY IF EXISTS app_own ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
        EXECUTE format('CREATE POLICY app_own ON %I TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
GRANT SELECT, INSERT, UPDATE, DELETE ON watched_views, view_alerts, view_alert_entries TO atlas_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON view_alerts TO atlas_app;
GRANT SELECT, INSERT, UPDATE (state, version, alerted_at) ON watched_views TO atlas_app;
GRANT SELECT ON view_alert_entries TO atlas_app;

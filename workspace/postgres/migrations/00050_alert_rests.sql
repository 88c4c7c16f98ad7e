-- Alerts on what workspaces write and on contacts, and alerts that rest.
--
-- Without a transaction, so that each table is locked for a moment only. Every statement can be
-- run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    FOREACH change IN ARRAY ARRAY[
        -- Why a View rests, since when, and how often it began to.
        $c$ALTER TABLE watched_views
            ADD COLUMN IF NOT EXISTS reason    text CHECK (reason IN ('too_many_matches', 'definition_refused')),
            ADD COLUMN IF NOT EXISTS rested_at timestamptz,
            ADD COLUMN IF NOT EXISTS rests     bigint NOT NULL DEFAULT 0$c$,
        -- Of a View's rests those that the user has looked at, and that are mailed.
        $c$ALTER TABLE view_alerts
            ADD COLUMN IF NOT EXISTS rests_seen   bigint NOT NULL DEFAULT 0,
            ADD COLUMN IF NOT EXISTS rests_mailed bigint NOT NULL DEFAULT 0$c$
    ] LOOP
        FOR attempt IN REVERSE 99..0 LOOP
            BEGIN
                SET LOCAL lock_timeout = '300ms';
                EXECUTE change;
                EXIT;
            EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
                IF attempt = 0 THEN
                    RAISE;
                END IF;
            END;
            COMMIT;
            PERFORM pg_sleep(1);
        END LOOP;
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$
BEGIN
    -- Records that a workspace holds, of which a document was written since they were compared
    -- with watched Views. version: that of the document; 0: none was written yet. shown: the
    -- version that the record took when the workspace put it into its book or a Static View; 0:
    -- it did not.
    CREATE TABLE IF NOT EXISTS view_alert_changes (
        workspace_id uuid NOT NULL CONSTRAINT view_alert_changes_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
        dataset      text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
        record_id    uuid NOT NULL,
        version      bigint NOT NULL,
        shown        bigint NOT NULL,
        CONSTRAINT view_alert_changes_pkey PRIMARY KEY (workspace_id, dataset, record_id)
    );
    ALTER TABLE view_alert_changes ENABLE ROW LEVEL SECURITY;
    ALTER TABLE view_alert_changes FORCE ROW LEVEL SECURITY;
    DROP POLICY IF EXISTS system_all ON view_alert_changes;
    DROP POLICY IF EXISTS app_own ON view_alert_changes;
    CREATE POLICY system_all ON view_alert_changes TO atlas_system USING (true) WITH CHECK (true);
    CREATE POLICY app_own ON view_alert_changes TO atlas_app
        USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
        WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
    GRANT SELECT, INSERT, UPDATE, DELETE ON view_alert_changes TO atlas_system;
    GRANT SELECT, INSERT, UPDATE ON view_alert_changes TO atlas_app;
END
$$;
-- +goose StatementEnd

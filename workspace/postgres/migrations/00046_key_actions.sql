-- What an API key changed is listed with the request, and undoing it is an event of the audit
-- log.
--
-- Without a transaction, so that the tables are locked for a moment only. Every statement can
-- be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    FOREACH change IN ARRAY ARRAY[
        -- request_id: null where it is not known, of changes from before, and for an id that a
        -- client chose and that is no UUID: that may say who somebody is.
        $c$ALTER TABLE workspace_changes ADD COLUMN IF NOT EXISTS request_id uuid$c$,
        $c$ALTER TABLE workspace_changes ALTER COLUMN request_id SET DEFAULT CASE
            WHEN current_setting('atlas.origin', true) ~* '^[^ ]+ [0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$'
            THEN split_part(current_setting('atlas.origin', true), ' ', 2)::uuid END$c$
    ] LOOP
        -- Requests queue behind a change that waits for its lock, so it waits for less than
        -- Postgres needs to detect a deadlock, and is tried again for two minutes.
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
DROP INDEX CONCURRENTLY IF EXISTS workspace_changes_key;
CREATE INDEX CONCURRENTLY workspace_changes_key ON workspace_changes (workspace_id, by_key, seq) WHERE by_key IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS workspace_changes_view;
CREATE INDEX CONCURRENTLY workspace_changes_view ON workspace_changes (workspace_id, view_id, seq) WHERE view_id IS NOT NULL;

-- audit_add for the workspace of the transaction, of what changes no row that a trigger looks
-- at. The role that serves requests may call it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_own(action text, object_kind text, object_id uuid, details jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    here uuid := NULLIF(current_setting('atlas.workspace_id', true), '')::uuid;
BEGIN
    IF (action IN ('webhook.tested', 'webhook.replayed') AND object_kind = 'webhook'
        OR action = 'scim_group.members_changed' AND object_kind = 'scim_group'
        OR action = 'api_key.undone' AND object_kind = 'api_key') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = format('the event %s of %s is written by its change alone', action, object_kind);
    END IF;
    IF here IS NOT NULL THEN
        PERFORM audit_add(here, action, object_kind, object_id, '{}', details);
    END IF;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION audit_own(text, text, uuid, jsonb) SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

-- Who is removed from a workspace is remembered, so that its provider does not let them in again
-- (docs/identity.md), and which role it told the last owner.
--
-- Without a transaction, so that the tables of members and of identities are locked for a moment
-- only. Every statement can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- Also who never signed in by a provider, or before there is one. What is deleted with the
-- workspace or with the user leaves nothing.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION remember_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO identities (workspace_id, user_id, created_at)
    SELECT w.id, u.id, clock_timestamp() FROM workspaces w, users u
    WHERE w.id = OLD.workspace_id AND u.id = OLD.user_id
      AND NOT EXISTS (SELECT FROM deleted_workspaces d WHERE d.id = w.id AND d.ended_at IS NULL)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    REVOKE EXECUTE ON FUNCTION remember_removed() FROM PUBLIC;
    EXECUTE format('ALTER FUNCTION remember_removed() SET search_path = %I, pg_temp', current_schema());
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        -- told_role: what the provider told the last owner, who stays one, '' for no role; null:
        -- nothing else than they are.
        $c$ALTER TABLE identities ADD COLUMN IF NOT EXISTS told_role text CHECK (told_role IN ('', 'admin', 'member'))$c$,
        $c$CREATE OR REPLACE TRIGGER remember_removed AFTER DELETE ON members
            FOR EACH ROW EXECUTE FUNCTION remember_removed()$c$,
        -- The event of the removal says it.
        $c$CREATE OR REPLACE TRIGGER audit AFTER UPDATE OR DELETE ON identities
            FOR EACH ROW EXECUTE FUNCTION audit_identity('identity')$c$,
        $c$CREATE OR REPLACE TRIGGER audit_new AFTER INSERT ON identities
            FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION audit_identity('identity')$c$
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

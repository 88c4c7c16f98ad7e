-- The scope workspace:admin of keys, and the ends of sessions of users.
--
-- Without a transaction, so that the tables are locked for a moment only.

-- +goose NO TRANSACTION
-- +goose Up
-- As the owner: a server sees the members of one workspace at a time.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION sign_out_users() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    -- Of two removals at once, the second waits for this row, and then sees the first.
    PERFORM FROM users WHERE id = OLD.user_id FOR NO KEY UPDATE;
    UPDATE users SET signed_out_at = clock_timestamp()
    WHERE id = OLD.user_id AND NOT EXISTS (SELECT FROM members WHERE user_id = OLD.user_id);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION sign_out_users() FROM PUBLIC;
-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    EXECUTE format('ALTER FUNCTION sign_out_users() SET search_path = %I, pg_temp', current_schema());
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        -- Keys with workspace:write acted as admins: those that there are keep that. A
        -- repetition finds the constraint gone, and gives nothing to a key that was made
        -- without the scope.
        $c$DO $scope$
        BEGIN
            IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'api_keys_scopes_check' AND conrelid = 'api_keys'::regclass) THEN
                ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_check;
                UPDATE api_keys SET scopes = scopes || ARRAY['workspace:admin']
                WHERE 'workspace:write' = ANY(scopes) AND NOT 'workspace:admin' = ANY(scopes);
                ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_known CHECK (cardinality(scopes) > 0
                    AND scopes <@ ARRAY['data:read', 'workspace:read', 'workspace:write', 'workspace:admin']);
            END IF;
        END
        $scope$;
        $c$,
        -- Sessions that began before are over: an operator signed the user out, or their last
        -- membership ended.
        $c$ALTER TABLE users ADD COLUMN IF NOT EXISTS signed_out_at timestamptz$c$,
        $c$CREATE OR REPLACE TRIGGER sign_out AFTER DELETE ON members FOR EACH ROW EXECUTE FUNCTION sign_out_users()$c$
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

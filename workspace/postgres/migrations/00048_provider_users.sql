-- Failed look-ups of the record of a domain are counted before it is lost, and users whom the
-- provider of a workspace made are told from others (docs/identity.md).
--
-- Without a transaction, so that the tables are locked for a moment only. Every statement can be
-- run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    FOREACH change IN ARRAY ARRAY[
        -- failures: how many look-ups in a row found no record, of those that are hours apart;
        -- failed_at: when the last of them was.
        $c$ALTER TABLE identity_domains ADD COLUMN IF NOT EXISTS failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
            ADD COLUMN IF NOT EXISTS failed_at timestamptz$c$,
        -- by_provider: the provider of a workspace made the user, and no account is theirs
        -- elsewhere.
        $c$ALTER TABLE users ADD COLUMN IF NOT EXISTS by_provider boolean NOT NULL DEFAULT false$c$
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
-- A provider made the users whose identity is as old as they are.
UPDATE users u SET by_provider = true FROM identities i
WHERE i.user_id = u.id AND i.created_at = u.created_at AND NOT u.claimable AND NOT u.by_provider;

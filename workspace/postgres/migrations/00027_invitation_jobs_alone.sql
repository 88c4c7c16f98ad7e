-- E-mails of invitations are jobs alone: what queued them in columns goes.
--
-- Without a transaction, so that the table is locked for a moment only. It can be run again
-- where it was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    -- Requests queue behind a change that waits for its lock, so it waits for less than
    -- Postgres needs to detect a deadlock, and is tried again for two minutes.
    FOR attempt IN REVERSE 99..0 LOOP
        BEGIN
            SET LOCAL lock_timeout = '300ms';
            DROP TRIGGER IF EXISTS queue_invitation ON invitations;
            ALTER TABLE invitations DROP COLUMN IF EXISTS attempts, DROP COLUMN IF EXISTS next_attempt_at, DROP COLUMN IF EXISTS delivered_at;
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
END
$$;
-- +goose StatementEnd
DROP FUNCTION IF EXISTS queue_invitation();

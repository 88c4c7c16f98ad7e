-- Users whom an operator named by address, and who get their id when they first sign in.
--
-- Without a transaction, so that the tables are locked for a moment only: what follows the
-- new id is changed first, and checked afterwards, while servers read and write.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    FOR change IN
        -- True until somebody signs in with the address, verified, and becomes this user.
        SELECT 'ALTER TABLE users ADD COLUMN IF NOT EXISTS claimable boolean NOT NULL DEFAULT false'
        UNION ALL
        -- What belongs to a user follows the new id.
        SELECT format('ALTER TABLE %1$s DROP CONSTRAINT %2$I, ADD CONSTRAINT %2$I %3$s ON UPDATE CASCADE NOT VALID',
                      conrelid::regclass, conname, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE contype = 'f' AND confrelid IN ('users'::regclass, 'members'::regclass) AND confupdtype <> 'c'
    LOOP
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
    FOR change IN
        SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', conrelid::regclass, conname)
        FROM pg_constraint WHERE contype = 'f' AND NOT convalidated
    LOOP
        EXECUTE change;
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Webhooks that are told of what begins to match Views.
--
-- Without a transaction, so that the table is locked for a moment only. Every statement can
-- be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    change text;
BEGIN
    FOREACH change IN ARRAY ARRAY[
        -- The Views that view.matched is about. One that is deleted stays, and tells nothing.
        $c$ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS view_ids uuid[] NOT NULL DEFAULT '{}' CHECK (cardinality(view_ids) <= 20)$c$,
        $c$SELECT follow_changes_of('webhooks')$c$
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

-- Tables and columns get the names of their field: what repeats the answer of a change, where
-- the kept part of an audit chain begins, and when what was published, logged or reported.
--
-- Without a transaction, so that each table is locked for a moment only. Every statement can be
-- run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    change text[];
    of     regclass;
    c      text;
BEGIN
    -- Table, old name, new name; of the first one also the table.
    FOREACH change SLICE 1 IN ARRAY ARRAY[
        ['kept_answers', 'kept_answers', 'stored_answers'],
        ['stored_answers', 'kept_at', 'stored_at'],
        ['audit_chains', 'told', 'logged'],
        ['audit_chains', 'kept_after', 'checkpoint_number'],
        ['audit_chains', 'kept_digest', 'checkpoint_digest'],
        ['audit_chains', 'kept_at', 'checkpoint_at'],
        ['records_delivered', 'told', 'reported'],
        ['data_merge_moves', 'told_at', 'published_at'],
        ['identities', 'told_role', 'provider_role'],
        ['scim_users', 'kept_at', 'removal_refused_at']
    ] LOOP
        -- Requests queue behind a change that waits for its lock, so it waits for less than
        -- Postgres needs to detect a deadlock, and is tried again for two minutes.
        FOR attempt IN REVERSE 99..0 LOOP
            BEGIN
                SET LOCAL lock_timeout = '300ms';
                of := to_regclass(change[1]);
                IF change[1] = change[2] AND of IS NOT NULL THEN
                    EXECUTE format('ALTER TABLE %I RENAME TO %I', change[1], change[3]);
                    EXECUTE format('ALTER INDEX %I RENAME TO %I', change[2] || '_size', change[3] || '_size');
                ELSIF EXISTS (SELECT FROM pg_attribute WHERE attrelid = of AND attname = change[3]) THEN
                    -- An older migration was run again and added it.
                    EXECUTE format('ALTER TABLE %I DROP COLUMN IF EXISTS %I', change[1], change[2]);
                ELSIF of IS NOT NULL THEN
                    EXECUTE format('ALTER TABLE %I RENAME COLUMN %I TO %I', change[1], change[2], change[3]);
                END IF;
                -- Constraints have the names of their table and column.
                FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = of AND conname ~ ('(^|_)' || change[2] || '_') LOOP
                    EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', of, c,
                        regexp_replace(c, '(^|_)' || change[2] || '_', '\1' || change[3] || '_'));
                END LOOP;
                IF change[1] = 'scim_users' THEN
                    -- The event is written where the column is set.
                    EXECUTE replace(replace(pg_get_functiondef('audit_scim()'::regprocedure),
                        change[2], change[3]), 'last_owner_kept', 'last_owner_retained');
                END IF;
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
    UPDATE jobs SET kind = 'last_owner_retained' WHERE kind = 'last_owner_kept';
END
$$;
-- +goose StatementEnd

-- The first text of this migration, which some databases were migrated by.
-- Users whom an operator named by address, and who get their id when they first sign in.

-- +goose Up
-- True until somebody signs in with the address, verified, and becomes this user.
ALTER TABLE users ADD COLUMN IF NOT EXISTS claimable boolean NOT NULL DEFAULT false;

-- What belongs to a user follows the new id.
DO $$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT conrelid::regclass AS table_name, conname, pg_get_constraintdef(oid) AS definition
             FROM pg_constraint WHERE contype = 'f' AND confrelid IN ('users'::regclass, 'members'::regclass) AND confupdtype <> 'c' LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s ON UPDATE CASCADE',
            c.table_name, c.conname, c.conname, c.definition);
    END LOOP;
END
$$;

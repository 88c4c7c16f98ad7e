-- Bounds: letters of invitations are paced, and what is added to books is
-- counted.
--
-- Without a transaction, so that the indices are built while servers write. Each
-- statement can be run again where one before was interrupted: an index that was
-- half built would be there, and never used.

-- +goose NO TRANSACTION
-- +goose Up
-- When the letter's turn is, at the pace of its workspace and of its address; null
-- where there is no letter, or it ended before it was sent. What is sent stays,
-- whatever becomes of its invitation.
ALTER TABLE invitations ADD COLUMN IF NOT EXISTS letter_at timestamptz;

DROP INDEX CONCURRENTLY IF EXISTS invitations_letters;
CREATE INDEX CONCURRENTLY invitations_letters ON invitations (workspace_id, letter_at) WHERE letter_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS invitations_letters_to;
CREATE INDEX CONCURRENTLY invitations_letters_to ON invitations (email_folded, workspace_id, letter_at) WHERE letter_at IS NOT NULL;

-- How many records were new to a workspace's books in each span of ten minutes;
-- those of the last 24 hours.
-- +goose StatementBegin
DO $$
BEGIN
    IF to_regclass('book_additions') IS NOT NULL THEN
        RETURN;
    END IF;
    CREATE TABLE book_additions (
        workspace_id uuid NOT NULL CONSTRAINT book_additions_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
        span         timestamptz NOT NULL,
        added        integer NOT NULL CHECK (added >= 0),
        CONSTRAINT book_additions_pkey PRIMARY KEY (workspace_id, span)
    );
    ALTER TABLE book_additions ENABLE ROW LEVEL SECURITY;
    ALTER TABLE book_additions FORCE ROW LEVEL SECURITY;
    CREATE POLICY system_all ON book_additions TO atlas_system USING (true) WITH CHECK (true);
    CREATE POLICY app_own ON book_additions TO atlas_app
        USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
        WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
    GRANT SELECT, INSERT, UPDATE, DELETE ON book_additions TO atlas_app;
END
$$;
-- +goose StatementEnd

-- +goose Up
-- Links that erase one contact, mailed to its address. digest: that of the address, made as
-- those of suppressions; no value is kept. used_at: when somebody had the contact erased by it;
-- erase_at: when that is tried next. Rows go when nothing of the contact is left to erase, or they
-- expire.
--
-- state, run_at, attempts and lease are of the letter, as those of jobs are.
CREATE TABLE IF NOT EXISTS erasure_links (
    id            uuid        PRIMARY KEY,
    contact_id    uuid        NOT NULL,
    normalization integer     NOT NULL CHECK (normalization > 0),
    key           integer     NOT NULL CHECK (key > 0),
    digest        bytea       NOT NULL CHECK (octet_length(digest) = 32),
    made_by       text        NOT NULL DEFAULT '' CHECK (char_length(made_by) <= 200),
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    state         text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'failed')),
    run_at        timestamptz NOT NULL,
    attempts      integer     NOT NULL DEFAULT 0,
    lease         uuid,
    used_at       timestamptz,
    erase_at      timestamptz
);
CREATE INDEX IF NOT EXISTS erasure_links_contact ON erasure_links (contact_id);
CREATE INDEX IF NOT EXISTS erasure_links_letters ON erasure_links (run_at) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS erasure_links_due ON erasure_links (erase_at) WHERE used_at IS NOT NULL;

-- The links belong to no workspace: the system role alone reads and writes them.
ALTER TABLE erasure_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasure_links FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON erasure_links;
CREATE POLICY system_all ON erasure_links TO atlas_system USING (true) WITH CHECK (true);

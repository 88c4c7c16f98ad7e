-- +goose Up
-- E-mail addresses that somebody asked a link for, to have the contact with the address erased.
-- address: sealed by the key of cursors, until it was looked up. digest: that of the address, made
-- as those of suppressions; network: a keyed digest of the caller's network, none if it is not
-- known. sent_at: when letters were queued; at most once a day for an address. Rows go after a day.
--
-- state, run_at, attempts and lease are of the look-up, as those of jobs are.
CREATE TABLE IF NOT EXISTS erasure_requests (
    id         uuid        PRIMARY KEY,
    address    bytea       CHECK (octet_length(address) <= 4096),
    digest     bytea       NOT NULL CHECK (octet_length(digest) = 32),
    network    bytea       CHECK (octet_length(network) = 32),
    created_at timestamptz NOT NULL,
    sent_at    timestamptz,
    state      text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'failed')),
    run_at     timestamptz NOT NULL,
    attempts   integer     NOT NULL DEFAULT 0,
    lease      uuid
);
CREATE INDEX IF NOT EXISTS erasure_requests_created ON erasure_requests (created_at);
CREATE INDEX IF NOT EXISTS erasure_requests_digest ON erasure_requests (digest) WHERE sent_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS erasure_requests_due ON erasure_requests (run_at) WHERE state = 'pending';

-- The requests belong to no workspace: the system role alone reads and writes them.
ALTER TABLE erasure_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasure_requests FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON erasure_requests;
CREATE POLICY system_all ON erasure_requests TO atlas_system USING (true) WITH CHECK (true);

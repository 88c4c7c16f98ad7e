-- Ids that belong to a suppression by another value, and e-mails for requests of erasures in order.
--
-- Without a transaction, so that the table is locked for a moment only. Every statement can be
-- run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- of_id: the suppression that this one belongs to and is removed with.
ALTER TABLE suppressions ADD COLUMN IF NOT EXISTS of_id uuid;

-- A digest is in the list once for each suppression that it belongs to.
DROP INDEX CONCURRENTLY IF EXISTS suppressions_once;
CREATE UNIQUE INDEX CONCURRENTLY suppressions_once ON suppressions
    (dataset, kind, normalization, key, digest, coalesce(of_id, '00000000-0000-0000-0000-000000000000')) WHERE removed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS suppressions_active;

-- first: the first request of its network in 24 hours that e-mails are sent for.
ALTER TABLE erasure_requests ADD COLUMN IF NOT EXISTS first boolean;
DROP INDEX CONCURRENTLY IF EXISTS erasure_requests_sent;
CREATE INDEX CONCURRENTLY erasure_requests_sent ON erasure_requests (first, sent_at DESC) WHERE sent_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS erasure_requests_network;
CREATE INDEX CONCURRENTLY erasure_requests_network ON erasure_requests (network, sent_at) WHERE sent_at IS NOT NULL;

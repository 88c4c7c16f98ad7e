-- Indices of what refers to users, so that neither a new id nor a deletion of a user reads
-- whole tables.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS invitations_invited_by;
CREATE INDEX CONCURRENTLY invitations_invited_by ON invitations (invited_by) WHERE invited_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS invitations_accepted_by;
CREATE INDEX CONCURRENTLY invitations_accepted_by ON invitations (accepted_by) WHERE accepted_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS skills_owner_id;
CREATE INDEX CONCURRENTLY skills_owner_id ON skills (owner_id) WHERE owner_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS skills_created_by;
CREATE INDEX CONCURRENTLY skills_created_by ON skills (created_by) WHERE created_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS views_created_by;
CREATE INDEX CONCURRENTLY views_created_by ON views (created_by) WHERE created_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS views_updated_by;
CREATE INDEX CONCURRENTLY views_updated_by ON views (updated_by) WHERE updated_by IS NOT NULL;

-- E-mails of invitations are jobs. What a server of the version before queues, in
-- invitations.next_attempt_at, becomes one. The columns attempts, next_attempt_at and
-- delivered_at, and the trigger, are for such servers: a later version drops them.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION queue_invitation() RETURNS trigger LANGUAGE plpgsql AS $queue$
BEGIN
    INSERT INTO jobs (workspace_id, id, kind, lane, payload, run_at, created_at)
    VALUES (NEW.workspace_id, NEW.id, 'invitation', NEW.workspace_id, '{}', NEW.next_attempt_at, NEW.created_at)
    ON CONFLICT ON CONSTRAINT jobs_pkey DO NOTHING;
    NEW.next_attempt_at := NULL;
    RETURN NEW;
END
$queue$;
-- +goose StatementEnd
DROP TRIGGER IF EXISTS queue_invitation ON invitations;
CREATE TRIGGER queue_invitation BEFORE INSERT OR UPDATE OF next_attempt_at ON invitations
    FOR EACH ROW WHEN (NEW.next_attempt_at IS NOT NULL) EXECUTE FUNCTION queue_invitation();
UPDATE invitations SET next_attempt_at = CASE WHEN expires_at > now() AND accepted_at IS NULL AND revoked_at IS NULL THEN next_attempt_at END
WHERE next_attempt_at IS NOT NULL;
DROP INDEX IF EXISTS invitations_due;

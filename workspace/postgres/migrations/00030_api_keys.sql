-- API keys: networks, keys of one workspace that its owners and admins govern, rotation.
--
-- Without a transaction, so that the tables are locked for a moment only.

-- +goose NO TRANSACTION
-- +goose Up
-- A key of a workspace is granted there, and nowhere else.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION grant_key_at_home() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO api_key_workspaces (workspace_id, key_id, position) VALUES (NEW.workspace_id, NEW.id, 1);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- With a key end those that it made, and those that they made. The same if it is restricted,
-- and for those beyond its networks. None goes on after its end.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_keys_of_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE api_keys c SET revoked_at = coalesce(NEW.revoked_at, clock_timestamp())
    WHERE c.created_by_key = NEW.id AND c.revoked_at IS NULL AND (NEW.revoked_at IS NOT NULL OR NEW.restricted
        OR NEW.networks <> '{}' AND (c.networks = '{}' OR EXISTS (SELECT FROM unnest(c.networks) n
            WHERE NOT EXISTS (SELECT FROM unnest(NEW.networks) o WHERE n <<= o))));
    UPDATE api_keys SET expires_at = NEW.expires_at WHERE created_by_key = NEW.id AND revoked_at IS NULL
        AND NEW.expires_at IS NOT NULL AND (expires_at IS NULL OR expires_at > NEW.expires_at);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- The same where a workspace ends the key of an operator for itself.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_keys_of_grant() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE api_keys SET revoked_at = NEW.revoked_at
    WHERE created_by_key = NEW.key_id AND workspace_id = NEW.workspace_id AND revoked_at IS NULL;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- With a membership, or the role that may make keys, end the keys that the person made there.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_keys_of_member() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE api_keys SET revoked_at = clock_timestamp()
    WHERE created_by = OLD.user_id AND workspace_id = OLD.workspace_id AND revoked_at IS NULL;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$
DECLARE
    f      text;
    change text;
BEGIN
    FOREACH f IN ARRAY ARRAY['grant_key_at_home', 'end_keys_of_key', 'end_keys_of_grant', 'end_keys_of_member'] LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', f);
        EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        -- networks: those that the key may be used from; none: any. form: how its text is
        -- written (workspace.KeyForm). last_network: where it was used from last.
        $c$ALTER TABLE api_keys
            ADD COLUMN IF NOT EXISTS networks cidr[] NOT NULL DEFAULT '{}' CHECK (cardinality(networks) <= 20),
            ADD COLUMN IF NOT EXISTS form integer NOT NULL DEFAULT 0 CHECK (form IN (0, 1)),
            ADD COLUMN IF NOT EXISTS last_network cidr,
            -- The secret before the last rotation is good too until old_until.
            ADD COLUMN IF NOT EXISTS old_hash bytea CHECK (octet_length(old_hash) = 32),
            ADD COLUMN IF NOT EXISTS old_until timestamptz$c$,
        -- workspace_id: the workspace that the key belongs to, null for an operator's.
        $c$ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS workspace_id uuid
            CONSTRAINT api_keys_workspace REFERENCES workspaces (id) ON DELETE CASCADE$c$,
        -- created_by: who made the key, or the key that made it; created_by_key: that key.
        $c$ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS created_by uuid
            CONSTRAINT api_keys_created_by REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE$c$,
        $c$ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS created_by_key uuid$c$,
        -- revoked_at: when the workspace ended the key for itself. The row stays: without it
        -- another workspace would be the default of the key. last_used_at, last_network: of
        -- the last use in this workspace.
        $c$ALTER TABLE api_key_workspaces
            ADD COLUMN IF NOT EXISTS revoked_at timestamptz,
            ADD COLUMN IF NOT EXISTS last_used_at timestamptz,
            ADD COLUMN IF NOT EXISTS last_network cidr$c$,
        $c$UPDATE api_key_workspaces g SET last_used_at = k.last_used_at FROM api_keys k
            WHERE k.id = g.key_id AND g.last_used_at IS NULL AND k.last_used_at IS NOT NULL
            AND NOT EXISTS (SELECT FROM api_key_workspaces o WHERE o.key_id = g.key_id AND o.workspace_id <> g.workspace_id)$c$,
        $c$CREATE OR REPLACE TRIGGER grant_at_home AFTER INSERT ON api_keys
            FOR EACH ROW WHEN (NEW.workspace_id IS NOT NULL) EXECUTE FUNCTION grant_key_at_home()$c$,
        $c$CREATE OR REPLACE TRIGGER end_keys AFTER UPDATE OF revoked_at, restricted, networks, expires_at ON api_keys
            FOR EACH ROW WHEN ((OLD.revoked_at, OLD.restricted, OLD.networks, OLD.expires_at)
                IS DISTINCT FROM (NEW.revoked_at, NEW.restricted, NEW.networks, NEW.expires_at))
            EXECUTE FUNCTION end_keys_of_key()$c$,
        $c$CREATE OR REPLACE TRIGGER end_keys AFTER UPDATE OF revoked_at ON api_key_workspaces
            FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION end_keys_of_grant()$c$,
        $c$CREATE OR REPLACE TRIGGER end_keys AFTER DELETE ON members FOR EACH ROW EXECUTE FUNCTION end_keys_of_member()$c$,
        $c$CREATE OR REPLACE TRIGGER end_keys_of_role AFTER UPDATE OF role ON members
            FOR EACH ROW WHEN (OLD.role <> 'member' AND NEW.role = 'member') EXECUTE FUNCTION end_keys_of_member()$c$,
        -- A workspace sees the keys that may act in it, makes and changes its own, and ends
        -- others for itself. Those of others it can lock: their row must not change meanwhile.
        $c$DROP POLICY IF EXISTS app_own ON api_key_workspaces$c$,
        $c$CREATE POLICY app_own ON api_key_workspaces TO atlas_app
            USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
            WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)$c$,
        $c$DROP POLICY IF EXISTS app_own ON api_keys$c$,
        $c$CREATE POLICY app_own ON api_keys TO atlas_app
            USING (id IN (SELECT g.key_id FROM api_key_workspaces g
                WHERE g.workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid))
            WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)$c$,
        $c$GRANT SELECT, INSERT, UPDATE (revoked_at, secret_hash, old_hash, old_until, form, expires_at) ON api_keys TO atlas_app$c$,
        $c$GRANT SELECT, UPDATE (revoked_at) ON api_key_workspaces TO atlas_app$c$
    ] LOOP
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
END
$$;
-- +goose StatementEnd
-- An index that an interrupted run left is not valid.
DROP INDEX CONCURRENTLY IF EXISTS api_keys_workspace_id;
CREATE INDEX CONCURRENTLY api_keys_workspace_id ON api_keys (workspace_id);
DROP INDEX CONCURRENTLY IF EXISTS api_keys_created_by_user;
CREATE INDEX CONCURRENTLY api_keys_created_by_user ON api_keys (created_by);
DROP INDEX CONCURRENTLY IF EXISTS api_keys_created_by_key;
CREATE INDEX CONCURRENTLY api_keys_created_by_key ON api_keys (created_by_key);

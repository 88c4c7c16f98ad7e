-- The audit log: what changes access or leaves the house, in chains of digests.
--
-- Without a transaction, so that the tables are locked for a moment only. Every statement
-- can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- An event. workspace_id: null for what is the installation's. number, previous, digest: its
-- place in the chain of its workspace, or of the installation; null until the sealer has
-- chained it, in the order of (xid, id). network: a /24 or /48 of the client. fields: names
-- of what changed. details: no values of persons; a digest in their place is one of
-- audit_values. No column refers to another table: the event outlives what it is of.
CREATE TABLE IF NOT EXISTS audit_events (
    id             bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_events_pkey PRIMARY KEY,
    workspace_id   uuid,
    xid            xid8        NOT NULL DEFAULT pg_current_xact_id(),
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    action         text        NOT NULL CHECK (action ~ '^[a-z_]{1,40}\.[a-z_]{1,40}$'),
    principal_kind text        NOT NULL CHECK (principal_kind IN ('user', 'key', 'operator', 'service')),
    principal_id   uuid        CHECK ((principal_id IS NULL) = (principal_kind IN ('operator', 'service'))),
    network        cidr,
    request_id     text        CHECK (char_length(request_id) BETWEEN 1 AND 200),
    object_kind    text        NOT NULL CHECK (char_length(object_kind) BETWEEN 1 AND 40),
    object_id      uuid,
    fields         text[]      NOT NULL DEFAULT '{}',
    details        jsonb       NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(details) = 'object'),
    number         bigint      CHECK (number > 0),
    previous       bytea       CHECK (octet_length(previous) = 32),
    digest         bytea       CHECK (octet_length(digest) = 32),
    CHECK ((number IS NULL) = (digest IS NULL) AND (number IS NULL) = (previous IS NULL))
);
CREATE INDEX IF NOT EXISTS audit_events_workspace ON audit_events (workspace_id, id);
CREATE INDEX IF NOT EXISTS audit_events_principal ON audit_events (workspace_id, principal_id, id);
CREATE INDEX IF NOT EXISTS audit_events_unsealed ON audit_events (xid, id) WHERE number IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS audit_events_number
    ON audit_events (coalesce(workspace_id, '00000000-0000-0000-0000-000000000000'), number) WHERE number IS NOT NULL;

-- Values of persons and names that events are of. digest: SHA-256 of salt and value. Rows can
-- be deleted; the chains stay whole.
CREATE TABLE IF NOT EXISTS audit_values (
    digest       bytea       CONSTRAINT audit_values_pkey PRIMARY KEY CHECK (octet_length(digest) = 32),
    workspace_id uuid        CONSTRAINT audit_values_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    salt         bytea       NOT NULL CHECK (octet_length(salt) = 16),
    value        text        NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS audit_values_workspace_id ON audit_values (workspace_id);
CREATE INDEX IF NOT EXISTS audit_values_value ON audit_values (lower(value));
CREATE INDEX IF NOT EXISTS audit_values_at ON audit_values (at);

-- The end of each chain; chain: its workspace, all zero for the installation. told: the number
-- whose digest the log of a server has. kept_after, kept_digest, kept_at: the last event that
-- retention deleted, signed.
CREATE TABLE IF NOT EXISTS audit_chains (
    chain       uuid   CONSTRAINT audit_chains_pkey PRIMARY KEY,
    number      bigint NOT NULL,
    digest      bytea  NOT NULL CHECK (octet_length(digest) = 32),
    told        bigint NOT NULL DEFAULT 0,
    kept_after  bigint NOT NULL DEFAULT 0,
    kept_digest bytea  CHECK (octet_length(kept_digest) = 32),
    kept_at     timestamptz,
    signature   bytea  CHECK (octet_length(signature) = 64)
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['audit_events', 'audit_values', 'audit_chains'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
    -- Triggers and audit_own write, as the owner.
    FOREACH t IN ARRAY ARRAY['audit_events', 'audit_values'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS app_reads ON %I', t);
        EXECUTE format('CREATE POLICY app_reads ON %I FOR SELECT TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
GRANT SELECT ON audit_events, audit_values TO atlas_app;

-- The digest that stands for a value in an event; null for none.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_value(of_workspace uuid, v text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    salt   bytea := uuid_send(gen_random_uuid());
    digest bytea := sha256(salt || convert_to(v, 'UTF8'));
BEGIN
    IF v IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit_values (digest, workspace_id, salt, value) VALUES (digest, of_workspace, salt, v);
    RETURN 'sha256:' || encode(digest, 'hex');
END
$$;
-- +goose StatementEnd

-- Writes an event. The settings say who acts: atlas.actor as in triggers of changes;
-- atlas.command the command of an operator, atlas.account who ran it; atlas.origin the network
-- of the client and the id of the request. A workspace that is being deleted has no log.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_add(of_workspace uuid, action text, object_kind text, object_id uuid, fields text[], details jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    actor   text := current_setting('atlas.actor', true);
    command text := NULLIF(current_setting('atlas.command', true), '');
    origin  text := current_setting('atlas.origin', true);
    kind    text := CASE WHEN actor LIKE 'user:%' THEN 'user' WHEN actor LIKE 'key:%' THEN 'key'
                         WHEN command IS NOT NULL THEN 'operator' ELSE 'service' END;
BEGIN
    IF of_workspace IS NOT NULL AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = of_workspace) THEN
        RETURN;
    END IF;
    IF kind = 'operator' THEN
        details := details || jsonb_strip_nulls(jsonb_build_object('command', command, 'account',
            audit_value(of_workspace, NULLIF(current_setting('atlas.account', true), ''))));
    END IF;
    INSERT INTO audit_events (workspace_id, action, principal_kind, principal_id, network, request_id, object_kind, object_id, fields, details)
    VALUES (of_workspace, action, kind,
            CASE kind WHEN 'user' THEN substr(actor, 6)::uuid WHEN 'key' THEN substr(actor, 5)::uuid END,
            NULLIF(NULLIF(split_part(origin, ' ', 1), ''), '-')::cidr, NULLIF(left(substr(origin, strpos(origin, ' ') + 1), 200), ''),
            object_kind, object_id, coalesce(fields, '{}'), jsonb_strip_nulls(details));
END
$$;
-- +goose StatementEnd

-- audit_add for the workspace of the transaction.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_own(action text, object_kind text, object_id uuid, details jsonb)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT audit_add(NULLIF(current_setting('atlas.workspace_id', true), '')::uuid, action, object_kind, object_id, '{}', details)
    WHERE NULLIF(current_setting('atlas.workspace_id', true), '') IS NOT NULL
$$;
-- +goose StatementEnd

-- Writes the event of a changed row, in its transaction, whatever program changes it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    o       jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    n       jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    r       jsonb := coalesce(n, o);
    here    uuid  := CASE WHEN TG_TABLE_NAME <> 'users' THEN coalesce(r->>'workspace_id', r->>'id')::uuid END;
    object  uuid  := r->>'id';
    kind    text  := TG_ARGV[0];
    verb    text  := CASE TG_OP WHEN 'INSERT' THEN 'created' WHEN 'UPDATE' THEN 'changed' ELSE 'deleted' END;
    -- Columns that are no fields of the object.
    hidden  text[] := ARRAY['workspace_id', 'id', 'created_at', 'updated_at', 'updated_by', 'name_folded', 'email_folded', 'description_folded',
                            'revision', 'members', 'failing_since', 'failures', 'signals_after', 'old_secret', 'old_hash', 'form'];
    renamed jsonb := '{"secret_hash": "secret", "old_until": "secret", "credit_ceiling": "ceiling"}';
    fields  text[] := '{}';
    details jsonb := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        SELECT coalesce(array_agg(DISTINCT coalesce(renamed->>k, k) ORDER BY coalesce(renamed->>k, k)), '{}') INTO fields
        FROM jsonb_object_keys(n) k WHERE k <> ALL (hidden) AND n->k IS DISTINCT FROM o->k;
    END IF;
    CASE TG_TABLE_NAME
    WHEN 'members' THEN
        object := r->>'user_id';
        verb := CASE TG_OP WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE CASE WHEN n->>'user_id' <> o->>'user_id' THEN 'claimed' ELSE 'role_changed' END END;
        details := jsonb_build_object('role', r->>'role', 'role_before', CASE WHEN TG_OP = 'UPDATE' THEN o->>'role' END);
        IF verb = 'added' THEN
            details := details || jsonb_build_object('email', audit_value(here, (SELECT u.email FROM users u WHERE u.id = object)));
        END IF;
    WHEN 'invitations' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (o->>'accepted_at') IS NULL AND (n->>'accepted_at') IS NOT NULL THEN 'accepted'
                         WHEN (o->>'revoked_at') IS NULL AND (n->>'revoked_at') IS NOT NULL THEN 'revoked' END;
            fields := '{}';
        END IF;
        details := jsonb_build_object('role', r->>'role', 'email', CASE WHEN TG_OP = 'INSERT' THEN audit_value(here, r->>'email') END);
    WHEN 'api_key_workspaces' THEN
        object := r->>'key_id';
        fields := '{}';
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (o->>'revoked_at') IS NULL AND (n->>'revoked_at') IS NOT NULL THEN 'revoked' END;
        END IF;
        IF TG_OP = 'INSERT' THEN
            SELECT jsonb_build_object('name', audit_value(here, k.name), 'scopes', to_jsonb(k.scopes), 'expires_at', k.expires_at,
                                      'networks', to_jsonb(k.networks), 'daily_credits', NULLIF(k.daily_credits, 0))
            INTO details FROM api_keys k WHERE k.id = object;
        END IF;
    WHEN 'api_keys' THEN
        verb := CASE WHEN (o->>'revoked_at') IS NULL AND (n->>'revoked_at') IS NOT NULL THEN 'revoked'
                     WHEN o->>'secret_hash' <> n->>'secret_hash' THEN 'rotated' WHEN fields <> '{}' THEN 'changed' END;
        IF verb <> 'revoked' THEN
            details := jsonb_build_object('scopes', n->'scopes', 'expires_at', n->'expires_at', 'networks', n->'networks',
                                          'restricted', n->'restricted', 'old_secret_until', n->'old_until');
        END IF;
        IF verb IS NOT NULL THEN
            PERFORM audit_add(g.workspace_id, kind || '.' || verb, kind, object, fields, details) FROM api_key_workspaces g WHERE g.key_id = object;
        END IF;
        RETURN NULL;
    WHEN 'webhooks' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN o->>'secret' <> n->>'secret' AND (n->>'old_until') IS DISTINCT FROM (o->>'old_until') THEN 'secret_rotated'
                         WHEN o->>'enabled' = 'true' AND n->>'enabled' = 'false' THEN 'disabled'
                         WHEN fields && ARRAY['url', 'events', 'enabled'] THEN 'changed' END;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            -- Of the address the host alone: many receivers take the rest for a password.
            details := jsonb_build_object('events', r->'events', 'host', substring(r->>'url' FROM '^[a-z]+://(?:[^/@]*@)?([^/?#]+)'));
        END IF;
    WHEN 'skills' THEN
        IF r->>'scope' <> 'workspace' THEN
            RETURN NULL; -- a personal Skill is its owner's alone
        END IF;
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN o->>'status' <> n->>'status' THEN CASE n->>'status' WHEN 'published' THEN 'published' ELSE 'unpublished' END
                         WHEN fields <> '{}' THEN 'changed' END;
        END IF;
        details := jsonb_build_object('name', audit_value(here, r->>'name'));
    WHEN 'views' THEN
        IF TG_OP = 'UPDATE' AND fields = '{}' THEN
            verb := NULL;
        END IF;
        IF verb IS NOT NULL THEN
            details := jsonb_build_object('dataset', r->>'dataset', 'name', audit_value(here, r->>'name'));
        END IF;
    WHEN 'workspaces' THEN
        IF TG_OP = 'UPDATE' AND fields = '{}' THEN
            RETURN NULL;
        END IF;
        details := jsonb_build_object('plan', r->'plan', 'ceiling', r->'credit_ceiling', 'time_zone', r->'time_zone');
        -- The installation's log has workspaces too: one that is deleted has none of its own.
        PERFORM audit_add(NULL, kind || '.' || verb, kind, object, fields, details);
        here := object;
    WHEN 'users' THEN
        verb := CASE WHEN TG_OP = 'DELETE' THEN 'deleted' WHEN (n->>'signed_out_at') IS DISTINCT FROM (o->>'signed_out_at') THEN 'signed_out'
                     WHEN n->>'id' <> o->>'id' THEN NULL -- the memberships tell it
                     WHEN o->>'claimable' = 'false' AND n->>'claimable' = 'true' THEN 'released'
                     WHEN fields && ARRAY['email', 'name'] THEN 'changed' END;
        IF verb IS NULL THEN
            RETURN NULL;
        END IF;
        IF NOT EXISTS (SELECT FROM members m WHERE m.user_id = object) THEN
            PERFORM audit_add(NULL, kind || '.' || verb, kind, object, fields, details);
            RETURN NULL;
        END IF;
        PERFORM audit_add(m.workspace_id, kind || '.' || verb, kind, object, fields, CASE WHEN 'email' = ANY (fields)
            THEN jsonb_build_object('email', audit_value(m.workspace_id, n->>'email')) ELSE details END)
        FROM members m WHERE m.user_id = object;
        RETURN NULL;
    END CASE;
    IF verb IS NOT NULL THEN
        PERFORM audit_add(here, kind || '.' || verb, kind, object, fields, details);
    END IF;
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
    FOREACH f IN ARRAY ARRAY['audit_value(uuid, text)', 'audit_add(uuid, text, text, uuid, text[], jsonb)',
                             'audit_own(text, text, uuid, jsonb)', 'audit_row()'] LOOP
        EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC';
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
    GRANT EXECUTE ON FUNCTION audit_own(text, text, uuid, jsonb) TO atlas_app;
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF role, user_id ON members
            FOR EACH ROW EXECUTE FUNCTION audit_row('member')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OF accepted_at, revoked_at ON invitations
            FOR EACH ROW EXECUTE FUNCTION audit_row('invitation')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF revoked_at ON api_key_workspaces
            FOR EACH ROW EXECUTE FUNCTION audit_row('api_key')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER UPDATE OF name, scopes, restricted, secret_hash, expires_at, revoked_at, networks,
            daily_credits, requests_per_second ON api_keys FOR EACH ROW EXECUTE FUNCTION audit_row('api_key')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF url, events, enabled, secret ON webhooks
            FOR EACH ROW EXECUTE FUNCTION audit_row('webhook')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON skills FOR EACH ROW EXECUTE FUNCTION audit_row('skill')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF name, definition, presentation ON views
            FOR EACH ROW EXECUTE FUNCTION audit_row('view')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON workspaces
            FOR EACH ROW EXECUTE FUNCTION audit_row('workspace')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER UPDATE OR DELETE ON users
            FOR EACH ROW EXECUTE FUNCTION audit_row('user')$c$
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

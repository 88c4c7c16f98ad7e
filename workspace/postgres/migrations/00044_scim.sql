-- SCIM: what the identity providers of workspaces say of people and groups, and their tokens.
--
-- Without a transaction, so that the tables of members and of events are locked for a moment
-- only. Every statement can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- A token is good for SCIM alone, and for one workspace.
CREATE TABLE IF NOT EXISTS scim_tokens (
    workspace_id uuid        NOT NULL CONSTRAINT scim_tokens_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id           uuid        NOT NULL CONSTRAINT scim_tokens_pkey PRIMARY KEY,
    name         text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    secret_hash  bytea       NOT NULL CHECK (octet_length(secret_hash) = 32),
    created_by   uuid        CONSTRAINT scim_tokens_created_by REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    last_network cidr
);
CREATE INDEX IF NOT EXISTS scim_tokens_workspace_id ON scim_tokens (workspace_id);
CREATE INDEX IF NOT EXISTS scim_tokens_created_by_user ON scim_tokens (created_by);

-- A person as the provider knows them. addresses: all of emails, folded. address: the one that
-- they sign in with. user_id: who they are here, null before they first sign in; it outlives
-- the membership. kept_at: when the provider last asked to end the membership of the last owner.
CREATE TABLE IF NOT EXISTS scim_users (
    workspace_id     uuid        NOT NULL CONSTRAINT scim_users_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id               uuid        NOT NULL,
    user_name        text        NOT NULL CHECK (char_length(user_name) BETWEEN 1 AND 255),
    user_name_folded text        COLLATE "C" NOT NULL,
    external_id      text        CHECK (char_length(external_id) BETWEEN 1 AND 255),
    active           boolean     NOT NULL,
    display_name     text        NOT NULL CHECK (char_length(display_name) <= 255),
    formatted_name   text        NOT NULL CHECK (char_length(formatted_name) <= 255),
    family_name      text        NOT NULL CHECK (char_length(family_name) <= 255),
    given_name       text        NOT NULL CHECK (char_length(given_name) <= 255),
    emails           jsonb       NOT NULL CHECK (jsonb_typeof(emails) = 'array' AND jsonb_array_length(emails) <= 10),
    addresses        text[]      NOT NULL,
    address          text        NOT NULL CHECK (octet_length(address) <= 320),
    address_folded   text        NOT NULL,
    user_id          uuid        CONSTRAINT scim_users_user REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    kept_at          timestamptz,
    version          integer     NOT NULL CHECK (version >= 1),
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CONSTRAINT scim_users_pkey PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS scim_users_user_name ON scim_users (workspace_id, user_name_folded);
CREATE UNIQUE INDEX IF NOT EXISTS scim_users_external_id ON scim_users (workspace_id, external_id);
-- Two people with one address could not be told apart when they sign in.
CREATE UNIQUE INDEX IF NOT EXISTS scim_users_address ON scim_users (workspace_id, address_folded);
CREATE UNIQUE INDEX IF NOT EXISTS scim_users_account ON scim_users (workspace_id, user_id);
CREATE INDEX IF NOT EXISTS scim_users_user_id ON scim_users (user_id);
CREATE INDEX IF NOT EXISTS scim_users_pending ON scim_users (address_folded) WHERE active AND user_id IS NULL;

-- role: what members of the group are in the workspace; null: nothing is said.
CREATE TABLE IF NOT EXISTS scim_groups (
    workspace_id        uuid        NOT NULL CONSTRAINT scim_groups_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id                  uuid        NOT NULL,
    display_name        text        NOT NULL CHECK (char_length(display_name) BETWEEN 1 AND 255),
    display_name_folded text        COLLATE "C" NOT NULL,
    external_id         text        CHECK (char_length(external_id) BETWEEN 1 AND 255),
    role                text        CHECK (role IN ('admin', 'member')),
    version             integer     NOT NULL CHECK (version >= 1),
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    CONSTRAINT scim_groups_pkey PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS scim_groups_name ON scim_groups (workspace_id, display_name_folded);

-- member_id: of scim_users.
CREATE TABLE IF NOT EXISTS scim_group_members (
    workspace_id uuid NOT NULL,
    group_id     uuid NOT NULL,
    member_id    uuid NOT NULL,
    CONSTRAINT scim_group_members_pkey PRIMARY KEY (workspace_id, group_id, member_id),
    CONSTRAINT scim_group_members_group FOREIGN KEY (workspace_id, group_id) REFERENCES scim_groups (workspace_id, id) ON DELETE CASCADE,
    CONSTRAINT scim_group_members_member FOREIGN KEY (workspace_id, member_id) REFERENCES scim_users (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS scim_group_members_of ON scim_group_members (workspace_id, member_id);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['scim_tokens', 'scim_users', 'scim_groups', 'scim_group_members'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
        EXECUTE format('DROP POLICY IF EXISTS app_own ON %I', t);
        EXECUTE format('CREATE POLICY app_own ON %I TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
GRANT SELECT, INSERT, UPDATE (revoked_at) ON scim_tokens TO atlas_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON scim_users, scim_groups, scim_group_members TO atlas_app;

-- The only user with an address who is or was a member of the workspace of the transaction;
-- null for none, and for several. Who never was in it cannot be found by it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION scim_account(address text, folded text) RETURNS uuid LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN count(*) = 1 THEN (array_agg(u.id))[1] END FROM users u
    WHERE u.email_folded = folded AND lower(u.email COLLATE "C") = lower(address COLLATE "C")
      AND (EXISTS (SELECT FROM members m WHERE m.user_id = u.id AND m.workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
        OR EXISTS (SELECT FROM identities i WHERE i.user_id = u.id AND i.workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid))
$$;
-- +goose StatementEnd

-- audit_add with tokens for SCIM among who acts.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_add(of_workspace uuid, action text, object_kind text, object_id uuid, fields text[], details jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    actor   text := current_setting('atlas.actor', true);
    command text := NULLIF(current_setting('atlas.command', true), '');
    origin  text := current_setting('atlas.origin', true);
    kind    text := CASE WHEN actor LIKE 'user:%' THEN 'user' WHEN actor LIKE 'key:%' THEN 'key' WHEN actor LIKE 'scim:%' THEN 'scim_token'
                         WHEN command IS NOT NULL AND pg_has_role(session_user, 'atlas_system', 'MEMBER') THEN 'operator' ELSE 'service' END;
    request text := NULLIF(left(substr(origin, strpos(origin, ' ') + 1), 200), '');
BEGIN
    IF of_workspace IS NOT NULL AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = of_workspace) THEN
        RETURN;
    END IF;
    IF kind = 'operator' THEN
        details := details || jsonb_strip_nulls(jsonb_build_object('command', command, 'account',
            audit_value(of_workspace, NULLIF(current_setting('atlas.account', true), ''))));
    END IF;
    IF request !~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' THEN
        details := details || jsonb_build_object('request', audit_value(of_workspace, request));
        request := NULL;
    END IF;
    INSERT INTO audit_events (workspace_id, action, principal_kind, principal_id, network, request_id, object_kind, object_id, fields, details)
    VALUES (of_workspace, action, kind,
            CASE kind WHEN 'user' THEN substr(actor, 6)::uuid WHEN 'key' THEN substr(actor, 5)::uuid
                      WHEN 'scim_token' THEN substr(actor, 6)::uuid END,
            NULLIF(NULLIF(split_part(origin, ' ', 1), ''), '-')::cidr, request,
            object_kind, object_id, coalesce(fields, '{}'), jsonb_strip_nulls(details));
END
$$;
-- +goose StatementEnd

-- Writes the events of SCIM. Of a group the people are counted (scim_group.members_changed):
-- one that is made may have thousands.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_scim() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    o       jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    n       jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    r       jsonb := coalesce(n, o);
    here    uuid  := r->>'workspace_id';
    object  uuid  := r->>'id';
    kind    text  := TG_ARGV[0];
    verb    text  := CASE TG_OP WHEN 'INSERT' THEN 'created' WHEN 'UPDATE' THEN 'changed' ELSE 'deleted' END;
    hidden  text[] := ARRAY['workspace_id', 'id', 'created_at', 'updated_at', 'version', 'user_name_folded', 'display_name_folded',
                            'addresses', 'address', 'address_folded', 'kept_at'];
    fields  text[] := '{}';
    details jsonb := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        SELECT coalesce(array_agg(k ORDER BY k), '{}') INTO fields
        FROM jsonb_object_keys(n) k WHERE k <> ALL (hidden) AND n->k IS DISTINCT FROM o->k;
    END IF;
    CASE TG_TABLE_NAME
    WHEN 'scim_tokens' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (o->>'revoked_at') IS NULL AND (n->>'revoked_at') IS NOT NULL THEN 'revoked' END;
            fields := '{}';
        END IF;
        details := jsonb_build_object('name', audit_value(here, r->>'name'), 'expires_at', r->'expires_at');
    WHEN 'scim_users' THEN
        IF TG_OP = 'UPDATE' THEN
            IF n->>'kept_at' IS NOT NULL AND n->'kept_at' IS DISTINCT FROM o->'kept_at' THEN
                PERFORM audit_add(here, kind || '.last_owner_kept', kind, object, '{}', jsonb_build_object('user_id', n->>'user_id'));
            END IF;
            verb := CASE WHEN o->>'active' = 'true' AND n->>'active' = 'false' THEN 'deactivated'
                         WHEN o->>'active' = 'false' AND n->>'active' = 'true' THEN 'reactivated'
                         WHEN fields = ARRAY['user_id'] AND (n->>'user_id') IS NOT NULL THEN 'linked'
                         WHEN fields <> '{}' AND fields <> ARRAY['user_id'] THEN 'changed' END;
        END IF;
        details := jsonb_build_object('user_id', r->>'user_id', 'active', r->'active', 'address',
            CASE WHEN TG_OP = 'INSERT' OR n->>'address' <> o->>'address' THEN audit_value(here, r->>'address') END);
    WHEN 'scim_groups' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN fields = ARRAY['role'] THEN 'role_changed' WHEN fields <> '{}' THEN 'changed' END;
        END IF;
        details := jsonb_build_object('name', audit_value(here, r->>'display_name'), 'role', r->>'role',
                                      'role_before', CASE WHEN verb = 'role_changed' THEN o->>'role' END);
    END CASE;
    IF verb IS NOT NULL THEN
        PERFORM audit_add(here, kind || '.' || verb, kind, object, fields, details);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- audit_own with how many people a provider put into a group and took out of it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_own(action text, object_kind text, object_id uuid, details jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    here uuid := NULLIF(current_setting('atlas.workspace_id', true), '')::uuid;
BEGIN
    IF (action IN ('webhook.tested', 'webhook.replayed') AND object_kind = 'webhook'
        OR action = 'scim_group.members_changed' AND object_kind = 'scim_group') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = format('the event %s of %s is written by its change alone', action, object_kind);
    END IF;
    IF here IS NOT NULL THEN
        PERFORM audit_add(here, action, object_kind, object_id, '{}', details);
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    f      text;
    change text;
BEGIN
    FOREACH f IN ARRAY ARRAY['audit_add(uuid, text, text, uuid, text[], jsonb)', 'audit_own(text, text, uuid, jsonb)', 'audit_scim()',
                             'scim_account(text, text)'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
    REVOKE EXECUTE ON FUNCTION audit_scim(), scim_account(text, text) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION scim_account(text, text) TO atlas_app, atlas_system;
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        $c$ALTER TABLE audit_events DROP CONSTRAINT IF EXISTS audit_events_principal_kind_check$c$,
        -- Not valid: rows that are there need no look, which would take long.
        $c$ALTER TABLE audit_events ADD CONSTRAINT audit_events_principal_kind_check
            CHECK (principal_kind IN ('user', 'key', 'scim_token', 'operator', 'service')) NOT VALID$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF revoked_at ON scim_tokens
            FOR EACH ROW EXECUTE FUNCTION audit_scim('scim_token')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON scim_users
            FOR EACH ROW EXECUTE FUNCTION audit_scim('scim_user')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON scim_groups
            FOR EACH ROW EXECUTE FUNCTION audit_scim('scim_group')$c$
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

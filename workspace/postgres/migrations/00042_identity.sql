-- Identity: domains that workspaces proved, their OpenID providers, and who signed in by them.
--
-- Without a transaction, so that the tables that others have references to are locked for a moment only. Every
-- statement can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- A domain of e-mail addresses. token: what its DNS record has. proved_at: since when the
-- workspace, and no other, speaks for it; null: it does not. proved_by: dns or operator.
-- checked_at: when the record was looked for last; failing_since: since when it is away.
CREATE TABLE IF NOT EXISTS identity_domains (
    workspace_id  uuid        NOT NULL CONSTRAINT identity_domains_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    domain        text        NOT NULL CHECK (domain ~ '^[a-z0-9-]+(\.[a-z0-9-]+)+$' AND char_length(domain) <= 253),
    token         text        NOT NULL CHECK (char_length(token) BETWEEN 20 AND 100),
    proved_at     timestamptz,
    proved_by     text        CHECK (proved_by IN ('dns', 'operator')),
    checked_at    timestamptz,
    failing_since timestamptz,
    created_at    timestamptz NOT NULL,
    created_by    uuid        CONSTRAINT identity_domains_created_by REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    CONSTRAINT identity_domains_pkey PRIMARY KEY (workspace_id, domain),
    CHECK ((proved_at IS NULL) = (proved_by IS NULL))
);
-- One workspace speaks for a domain, also when two prove it at once.
CREATE UNIQUE INDEX IF NOT EXISTS identity_domains_proved ON identity_domains (domain) WHERE proved_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS identity_domains_due ON identity_domains (checked_at) WHERE proved_by = 'dns';
CREATE INDEX IF NOT EXISTS identity_domains_created_by_user ON identity_domains (created_by);

-- The OpenID provider of a workspace. id: another one whenever it is another provider, so that
-- sessions of the one before end. client_secret: sealed under a key of the servers. required:
-- people act in the workspace only with a session of it. role_claim: the claim whose values
-- roles has roles for; default_role: of who has none of them; null: they do not get in.
CREATE TABLE IF NOT EXISTS identity_providers (
    workspace_id  uuid        CONSTRAINT identity_providers_pkey PRIMARY KEY
                              CONSTRAINT identity_providers_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id            uuid        NOT NULL CONSTRAINT identity_providers_id UNIQUE,
    issuer        text        NOT NULL CHECK (char_length(issuer) BETWEEN 1 AND 500),
    client_id     text        NOT NULL CHECK (char_length(client_id) BETWEEN 1 AND 255),
    client_secret bytea       NOT NULL,
    scopes        text[]      NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 20 AND 'openid' = ANY (scopes)),
    required      boolean     NOT NULL,
    role_claim    text        CHECK (char_length(role_claim) BETWEEN 1 AND 200),
    roles         jsonb       NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(roles) = 'object'),
    default_role  text        CHECK (default_role IN ('admin', 'member')),
    session_hours integer     NOT NULL CHECK (session_hours BETWEEN 1 AND 720),
    idle_minutes  integer     NOT NULL CHECK (idle_minutes BETWEEN 5 AND 43200),
    revision      integer     NOT NULL CHECK (revision >= 1),
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    updated_by    uuid        CONSTRAINT identity_providers_updated_by REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    CHECK (roles = '{}' OR role_claim IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS identity_providers_updated_by_user ON identity_providers (updated_by);

-- Who a subject of an issuer is in a workspace. issuer, subject: null until they first sign
-- in. It outlives the membership: who was removed does not come back by signing in.
CREATE TABLE IF NOT EXISTS identities (
    workspace_id uuid        NOT NULL CONSTRAINT identities_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid        NOT NULL CONSTRAINT identities_user REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE,
    issuer       text        CHECK (char_length(issuer) BETWEEN 1 AND 500),
    subject      text        CHECK (char_length(subject) BETWEEN 1 AND 255),
    created_at   timestamptz NOT NULL,
    bound_at     timestamptz,
    CONSTRAINT identities_pkey PRIMARY KEY (workspace_id, user_id),
    CONSTRAINT identities_subject UNIQUE (workspace_id, issuer, subject),
    CHECK ((issuer IS NULL) = (subject IS NULL) AND (issuer IS NULL) = (bound_at IS NULL))
);
CREATE INDEX IF NOT EXISTS identities_user_id ON identities (user_id);

-- Sessions of members that began until then are over in the workspace.
CREATE TABLE IF NOT EXISTS member_sign_outs (
    workspace_id uuid        NOT NULL,
    user_id      uuid        NOT NULL,
    at           timestamptz NOT NULL,
    CONSTRAINT member_sign_outs_pkey PRIMARY KEY (workspace_id, user_id),
    CONSTRAINT member_sign_outs_member FOREIGN KEY (workspace_id, user_id) REFERENCES members ON DELETE CASCADE ON UPDATE CASCADE
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['identity_domains', 'identity_providers', 'identities', 'member_sign_outs'] LOOP
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
-- What proves a domain, and who a subject is, crosses workspaces: the system role writes it.
GRANT SELECT, DELETE, INSERT (workspace_id, domain, token, created_at, created_by) ON identity_domains TO atlas_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON identity_providers TO atlas_app;
GRANT SELECT ON identities TO atlas_app;
GRANT SELECT, INSERT, UPDATE (at) ON member_sign_outs TO atlas_app;

-- Identities of an issuer that the workspace has left are to be bound again.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION unbind_identities() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE identities SET issuer = NULL, subject = NULL, bound_at = NULL
    WHERE workspace_id = OLD.workspace_id AND issuer = OLD.issuer;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- Writes the events of identity: domains, providers, who is bound to a subject, and members
-- who are signed out. Of an address the host alone: the path may name a customer.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_identity() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    o       jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    n       jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    r       jsonb := coalesce(n, o);
    here    uuid  := r->>'workspace_id';
    object  uuid  := coalesce(r->>'id', r->>'user_id', r->>'workspace_id')::uuid;
    kind    text  := TG_ARGV[0];
    verb    text  := CASE TG_OP WHEN 'INSERT' THEN 'created' WHEN 'UPDATE' THEN 'changed' ELSE 'deleted' END;
    hidden  text[] := ARRAY['workspace_id', 'id', 'created_at', 'created_by', 'updated_at', 'updated_by', 'revision'];
    fields  text[] := '{}';
    details jsonb := '{}';
BEGIN
    CASE TG_TABLE_NAME
    WHEN 'member_sign_outs' THEN
        verb := 'signed_out';
    WHEN 'identity_domains' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (o->>'proved_at') IS NULL AND (n->>'proved_at') IS NOT NULL THEN 'proved'
                         WHEN (o->>'proved_at') IS NOT NULL AND (n->>'proved_at') IS NULL THEN 'lost' END;
        END IF;
        details := jsonb_build_object('domain', r->>'domain', 'proved_by', r->>'proved_by');
    WHEN 'identities' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (n->>'subject') IS NOT NULL AND (n->>'subject') IS DISTINCT FROM (o->>'subject') THEN 'bound'
                         WHEN (o->>'subject') IS NOT NULL AND (n->>'subject') IS NULL THEN 'unbound' END;
        ELSIF TG_OP = 'INSERT' AND (n->>'subject') IS NOT NULL THEN
            verb := 'bound';
        END IF;
        IF verb = 'bound' THEN
            details := jsonb_build_object('subject', audit_value(here, n->>'subject'));
        END IF;
    WHEN 'identity_providers' THEN
        IF TG_OP = 'UPDATE' THEN
            SELECT coalesce(array_agg(k ORDER BY k), '{}') INTO fields
            FROM jsonb_object_keys(n) k WHERE k <> ALL (hidden) AND n->k IS DISTINCT FROM o->k;
            IF fields = '{}' THEN
                RETURN NULL;
            END IF;
        END IF;
        details := jsonb_build_object('host', substring(r->>'issuer' FROM '^[a-z]+://(?:[^/@]*@)?([^/?#]+)'),
            'required', r->'required', 'default_role', r->'default_role');
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
    FOREACH f IN ARRAY ARRAY['unbind_identities', 'audit_identity'] LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', f);
        EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OF at ON member_sign_outs
            FOR EACH ROW EXECUTE FUNCTION audit_identity('member')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON identity_domains
            FOR EACH ROW EXECUTE FUNCTION audit_identity('identity_domain')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON identity_providers
            FOR EACH ROW EXECUTE FUNCTION audit_identity('identity_provider')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON identities
            FOR EACH ROW EXECUTE FUNCTION audit_identity('identity')$c$,
        $c$CREATE OR REPLACE TRIGGER unbind AFTER DELETE ON identity_providers
            FOR EACH ROW EXECUTE FUNCTION unbind_identities()$c$,
        $c$CREATE OR REPLACE TRIGGER unbind_other AFTER UPDATE OF issuer ON identity_providers
            FOR EACH ROW WHEN (OLD.issuer <> NEW.issuer) EXECUTE FUNCTION unbind_identities()$c$
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

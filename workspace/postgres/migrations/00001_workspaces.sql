-- Workspaces, users, members, API keys and leases, under two roles.
--
-- atlas_system owns everything and runs this file; FORCE puts even the owner
-- under the policies, and its own permissive policy lets it through. (BYPASSRLS
-- would need a superuser, which managed servers do not give.)
-- atlas_app sees the one workspace named by the transaction's setting
-- atlas.workspace_id. On a connection used before, the setting is an empty
-- string rather than null once its transaction is over: hence NULLIF.
--
-- There is no Down: a migration is undone by another migration.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    bad text;
BEGIN
    IF current_user <> 'atlas_system' THEN
        RAISE EXCEPTION 'migrations must run as atlas_system, not as %', current_user;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'atlas_app') THEN
        RAISE EXCEPTION 'the role atlas_app is missing: create it first';
    END IF;
    SELECT rolname INTO bad FROM pg_roles
    WHERE rolname IN ('atlas_app', 'atlas_system') AND (rolsuper OR rolbypassrls) LIMIT 1;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION 'the role % ignores row-level security (SUPERUSER or BYPASSRLS)', bad;
    END IF;
END
$$;
-- +goose StatementEnd

CREATE TABLE workspaces (
    id             uuid PRIMARY KEY,
    name           text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    plan           text NOT NULL CHECK (plan IN ('free', 'pro')),
    -- Credits per rolling 24 hours.
    credit_ceiling bigint NOT NULL CHECK (credit_ceiling >= 1),
    created_at     timestamptz NOT NULL
);

-- A user belongs to no workspace of their own. Address and name are kept here
-- once, not copied into each membership: the application role may read the
-- users who are members of its workspace, because the policy below asks the
-- members table, which is under its own policy.
CREATE TABLE users (
    id           uuid PRIMARY KEY,
    email        text NOT NULL,
    email_folded text NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    created_at   timestamptz NOT NULL
);
-- Not unique: an identity provider that re-creates an account gives the same
-- address a new id.
CREATE INDEX users_email_folded ON users (email_folded);

CREATE TABLE members (
    workspace_id uuid NOT NULL CONSTRAINT members_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid NOT NULL CONSTRAINT members_user REFERENCES users (id) ON DELETE CASCADE,
    role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    joined_at    timestamptz NOT NULL,
    CONSTRAINT members_pkey PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX members_user_id ON members (user_id);

CREATE TABLE api_keys (
    id           uuid PRIMARY KEY,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    -- SHA-256 of the secret; the secret itself is nowhere.
    secret_hash  bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    scopes       text[] NOT NULL
        CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['data:read', 'workspace:read', 'workspace:write']),
    restricted   boolean NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    created_at   timestamptz NOT NULL
);

CREATE TABLE api_key_workspaces (
    workspace_id uuid NOT NULL CONSTRAINT api_key_workspaces_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    key_id       uuid NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    -- The lowest position is the key's default workspace.
    position     integer NOT NULL,
    PRIMARY KEY (workspace_id, key_id),
    UNIQUE (key_id, position)
);

-- One writer at a time where order matters: a name, who holds it, until when.
CREATE TABLE leases (
    name     text PRIMARY KEY,
    holder   text NOT NULL,
    deadline timestamptz NOT NULL
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['workspaces', 'users', 'members', 'api_keys', 'api_key_workspaces', 'leases'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

CREATE POLICY app_own ON workspaces FOR SELECT TO atlas_app
    USING (id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
CREATE POLICY app_own ON members TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
    WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
CREATE POLICY app_members ON users FOR SELECT TO atlas_app
    USING (EXISTS (SELECT FROM members m WHERE m.user_id = users.id));

-- What crosses workspaces (users' writes, keys, leases) is the system role's:
-- no grant, no policy. Readiness reads the schema version.
GRANT SELECT ON workspaces, users TO atlas_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON members TO atlas_app;
GRANT SELECT ON goose_db_version TO atlas_app;

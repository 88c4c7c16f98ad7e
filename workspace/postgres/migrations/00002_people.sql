-- Invitations, signal subscriptions and Skills.
--
-- Every table leads its primary key with workspace_id, so that it can be
-- partitioned or sharded by it, and is under the policies of the first
-- migration. The application role gets no more than its statements need.

-- +goose Up
CREATE TABLE invitations (
    workspace_id    uuid NOT NULL CONSTRAINT invitations_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id              uuid NOT NULL,
    email           text NOT NULL,
    email_folded    text NOT NULL,
    role            text NOT NULL CHECK (role IN ('admin', 'member')),
    -- The link's secret is made from these random bytes under a key of the
    -- servers; what is kept of it is its SHA-256. The table alone opens no link.
    seed            bytea NOT NULL CHECK (octet_length(seed) = 32),
    secret_hash     bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    -- Null when an API key invited, or when the user is gone.
    invited_by      uuid REFERENCES users (id) ON DELETE SET NULL,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    accepted_at     timestamptz,
    accepted_by     uuid REFERENCES users (id) ON DELETE SET NULL,
    revoked_at      timestamptz,
    -- The letter: when it was first tried, how often, when it is next, and when
    -- a mail server took it. next_attempt_at is null when there is nothing (more)
    -- to send.
    sent_at         timestamptz,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    delivered_at    timestamptz,
    CONSTRAINT invitations_pkey PRIMARY KEY (workspace_id, id),
    CHECK (accepted_at IS NULL OR revoked_at IS NULL)
);
-- One open invitation for an address, also when two are made at once.
CREATE UNIQUE INDEX invitations_open ON invitations (workspace_id, email_folded)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;
-- A link names its invitation and not the workspace.
CREATE UNIQUE INDEX invitations_id ON invitations (id);
CREATE INDEX invitations_due ON invitations (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

CREATE TABLE signal_subscriptions (
    workspace_id     uuid NOT NULL CONSTRAINT signal_subscriptions_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id               uuid NOT NULL,
    signal_type      text NOT NULL,
    channels         text[] NOT NULL CHECK (cardinality(channels) > 0 AND channels <@ ARRAY['in_app', 'email']),
    frequency        text NOT NULL CHECK (frequency IN ('instant', 'daily', 'weekly')),
    -- Signals from here on are in the queue.
    queue_started_at timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CONSTRAINT signal_subscriptions_pkey PRIMARY KEY (workspace_id, id),
    CONSTRAINT signal_subscriptions_type UNIQUE (workspace_id, signal_type)
);

CREATE TABLE skills (
    workspace_id       uuid NOT NULL CONSTRAINT skills_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id                 uuid NOT NULL,
    scope              text NOT NULL CHECK (scope IN ('personal', 'workspace')),
    -- Whose it alone is, for a personal one.
    owner_id           uuid REFERENCES users (id) ON DELETE CASCADE,
    slug               text NOT NULL CHECK (char_length(slug) BETWEEN 1 AND 120),
    status             text NOT NULL CHECK (status IN ('draft', 'published')),
    name               text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    description        text NOT NULL CHECK (char_length(description) BETWEEN 1 AND 500),
    content            text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 100000),
    -- Name and description as they are searched and sorted: without case and
    -- accents.
    name_folded        text NOT NULL,
    description_folded text NOT NULL,
    -- Null for an API key's, or when the user is gone.
    created_by         uuid REFERENCES users (id) ON DELETE SET NULL,
    revision           integer NOT NULL CHECK (revision >= 1),
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT skills_pkey PRIMARY KEY (workspace_id, id),
    CHECK ((scope = 'personal') = (owner_id IS NOT NULL))
);
CREATE UNIQUE INDEX skills_workspace_slug ON skills (workspace_id, slug) WHERE scope = 'workspace';
CREATE UNIQUE INDEX skills_personal_slug ON skills (workspace_id, owner_id, slug) WHERE scope = 'personal';

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['invitations', 'signal_subscriptions', 'skills'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
        EXECUTE format('CREATE POLICY app_own ON %I TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Accepting, sending and publishing are the system role's.
GRANT SELECT, INSERT, UPDATE ON invitations TO atlas_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON signal_subscriptions TO atlas_app;
GRANT SELECT, INSERT ON skills TO atlas_app;

-- Views, the records of Static Views, and the Favorites of users.

-- +goose Up
CREATE TABLE views (
    workspace_id uuid NOT NULL CONSTRAINT views_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id           uuid NOT NULL,
    dataset      text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    view_type    text NOT NULL CHECK (view_type IN ('dynamic', 'static')),
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    -- The name without case and accents, as it is compared, searched and sorted.
    name_folded  text COLLATE "C" NOT NULL,
    definition   jsonb NOT NULL,
    presentation jsonb NOT NULL,
    revision     integer NOT NULL CHECK (revision >= 1),
    -- How many rows of view_records it has: counting them would take longer with
    -- each. Whoever adds or removes one locks this row first.
    members      integer NOT NULL DEFAULT 0 CHECK (members BETWEEN 0 AND 100000),
    -- Null for an API key's, or when the user is gone.
    created_by   uuid REFERENCES users (id) ON DELETE SET NULL,
    updated_by   uuid REFERENCES users (id) ON DELETE SET NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT views_pkey PRIMARY KEY (workspace_id, id),
    CONSTRAINT views_name UNIQUE (workspace_id, dataset, name_folded),
    CHECK (view_type = 'static' OR members = 0)
);

CREATE TABLE view_records (
    workspace_id uuid NOT NULL,
    view_id      uuid NOT NULL,
    dataset      text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id    uuid NOT NULL,
    added_at     timestamptz NOT NULL,
    CONSTRAINT view_records_pkey PRIMARY KEY (workspace_id, view_id, record_id),
    CONSTRAINT view_records_view FOREIGN KEY (workspace_id, view_id) REFERENCES views (workspace_id, id) ON DELETE CASCADE
);
-- Which Views hold a record.
CREATE INDEX view_records_record ON view_records (workspace_id, dataset, record_id) INCLUDE (view_id);
-- A user's Favorites. Their order is that of position, then view_id; what is
-- answered as the position is the rank in it, so holes mean nothing.
CREATE TABLE favorites (
    workspace_id uuid NOT NULL,
    user_id      uuid NOT NULL,
    view_id      uuid NOT NULL,
    position     integer NOT NULL CHECK (position >= 0),
    CONSTRAINT favorites_pkey PRIMARY KEY (workspace_id, user_id, view_id),
    CONSTRAINT favorites_member FOREIGN KEY (workspace_id, user_id) REFERENCES members (workspace_id, user_id) ON DELETE CASCADE,
    CONSTRAINT favorites_view FOREIGN KEY (workspace_id, view_id) REFERENCES views (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX favorites_of_view ON favorites (workspace_id, view_id);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['views', 'view_records', 'favorites'] LOOP
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

GRANT SELECT, INSERT, UPDATE, DELETE ON views, view_records, favorites TO atlas_app;

-- The book: the records a workspace holds, its own data on them, and what keeps
-- their documents in Elasticsearch in step.

-- +goose Up
-- Every write to what a workspace holds takes the next version, while it has the
-- record's row locked: of two writes the later to commit has the higher one.
CREATE SEQUENCE held_version AS bigint;

-- A record that a workspace holds: it is in the book, or in one of the
-- workspace's Static Views. The row outlives that until its document is gone.
CREATE TABLE held_records (
    workspace_id      uuid NOT NULL CONSTRAINT held_records_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    dataset           text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id         uuid NOT NULL,
    version           bigint NOT NULL,
    -- The version that the document was last acknowledged with; less than
    -- version: the record is pending.
    projected_version bigint NOT NULL DEFAULT 0,
    -- When it became pending, for who watches.
    pending_since     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Pending because of the workspace's own write, which its searches wait for.
    own_change        boolean NOT NULL DEFAULT true,
    -- Whether the global dataset has the record.
    present           boolean NOT NULL DEFAULT true,
    projected_at      timestamptz,
    -- Since when the document is an empty stub because nothing holds the record.
    stub_since        timestamptz,
    -- SHA-256 of the document, null while it is not certain which one is there.
    digest            bytea,
    CONSTRAINT held_records_pkey PRIMARY KEY (workspace_id, dataset, record_id)
);
CREATE INDEX held_records_pending ON held_records (workspace_id, version) WHERE version > projected_version;
-- What a search has to wait for, found without passing by what is pending
-- because global records changed.
CREATE INDEX held_records_own ON held_records (workspace_id, dataset) WHERE own_change AND version > projected_version;
CREATE INDEX held_records_stubs ON held_records (stub_since) WHERE stub_since IS NOT NULL;

CREATE TABLE overlays (
    workspace_id     uuid NOT NULL CONSTRAINT overlays_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    dataset          text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id        uuid NOT NULL,
    icp_tier         text CHECK (icp_tier IN ('tier_1', 'tier_2', 'tier_3', 'disqualified')),
    workspace_status text CHECK (char_length(workspace_status) BETWEEN 1 AND 100),
    notes            text CHECK (char_length(notes) <= 10000),
    tags             text[] NOT NULL CHECK (cardinality(tags) <= 50),
    atlas_score      integer CHECK (atlas_score BETWEEN 0 AND 100),
    atlas_trend      text CHECK (atlas_trend IN ('rising', 'steady', 'falling')),
    -- When score and trend were computed; accounts only.
    scored_at        timestamptz,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CONSTRAINT overlays_pkey PRIMARY KEY (workspace_id, dataset, record_id),
    CHECK ((dataset = 'accounts') = (atlas_score IS NOT NULL AND atlas_trend IS NOT NULL AND scored_at IS NOT NULL)),
    CHECK (dataset = 'accounts' OR icp_tier IS NULL)
);
CREATE INDEX overlays_scored ON overlays (scored_at) WHERE scored_at IS NOT NULL;

-- One projector of a workspace at a time: a lease by this database's clock.
CREATE TABLE projectors (
    workspace_id uuid NOT NULL CONSTRAINT projectors_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    holder       text,
    deadline     timestamptz,
    -- When a projection was last acknowledged.
    projected_at timestamptz,
    CONSTRAINT projectors_pkey PRIMARY KEY (workspace_id)
);

-- The generations of the held indices. Every projector writes to all of a
-- dataset's; searches go to the serving one.
CREATE TABLE held_generations (
    dataset    text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    generation text NOT NULL,
    serving    boolean NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT held_generations_pkey PRIMARY KEY (dataset, generation)
);
CREATE UNIQUE INDEX held_generations_serving ON held_generations (dataset) WHERE serving;

-- Which generation of the global records the held ones were last told of.
CREATE TABLE held_sources (
    dataset    text PRIMARY KEY CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    generation text NOT NULL
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['held_records', 'overlays', 'projectors', 'held_generations', 'held_sources'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['held_records', 'overlays', 'projectors'] LOOP
        EXECUTE format('CREATE POLICY app_own ON %I TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The generations are nobody's own: projecting reads them.
CREATE POLICY app_read ON held_generations FOR SELECT TO atlas_app USING (true);

GRANT USAGE ON SEQUENCE held_version TO atlas_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON held_records, overlays TO atlas_app;
GRANT SELECT, INSERT, UPDATE ON projectors TO atlas_app;
GRANT SELECT ON held_generations TO atlas_app;

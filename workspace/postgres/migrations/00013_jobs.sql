-- The queue of what is done later: webhooks that are delivered, e-mails that are sent.

-- +goose Up
-- A job. lane: what has a limit of its own, such as one webhook. order_key: jobs of one
-- kind, lane and key run one after the other, in the order of seq; '' has no order.
-- run_at: when it is due; of a job that a server has taken, when another server may take
-- it. lease: who has taken it. status: the HTTP status that the last attempt got. error:
-- why the last attempt failed, in words of this program.
CREATE TABLE IF NOT EXISTS jobs (
    workspace_id uuid NOT NULL CONSTRAINT jobs_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id           uuid NOT NULL,
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    kind         text NOT NULL CHECK (char_length(kind) BETWEEN 1 AND 50),
    lane         uuid NOT NULL,
    order_key    text NOT NULL DEFAULT '' CHECK (char_length(order_key) <= 200),
    payload      jsonb NOT NULL,
    state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'failed')),
    attempts     integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    run_at       timestamptz NOT NULL,
    lease        uuid,
    status       integer,
    error        text,
    created_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    CONSTRAINT jobs_pkey PRIMARY KEY (workspace_id, id),
    CHECK ((state = 'pending') = (ended_at IS NULL)),
    CHECK (state = 'pending' OR lease IS NULL)
);
-- What is due, lane by lane.
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (kind, lane, run_at, seq) WHERE state = 'pending';
-- What a job waits for.
CREATE INDEX IF NOT EXISTS jobs_order ON jobs (lane, order_key, seq) WHERE state = 'pending' AND order_key <> '';
-- The log of a lane, and what is forgotten.
CREATE INDEX IF NOT EXISTS jobs_lane ON jobs (kind, lane, created_at, seq);
CREATE INDEX IF NOT EXISTS jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- +goose StatementBegin
DO $$
BEGIN
    ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
    ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
    DROP POLICY IF EXISTS system_all ON jobs;
    CREATE POLICY system_all ON jobs TO atlas_system USING (true) WITH CHECK (true);
    DROP POLICY IF EXISTS app_own ON jobs;
    CREATE POLICY app_own ON jobs TO atlas_app
        USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
        WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
END
$$;
-- +goose StatementEnd
GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO atlas_app;

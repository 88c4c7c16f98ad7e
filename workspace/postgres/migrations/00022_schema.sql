-- The schema: everything that workspaces own, the feed of changes, and the queue of jobs,
-- under two roles.
--
-- atlas_system owns everything and runs this file; FORCE puts even the owner
-- under the policies, and its own permissive policy lets it through. (BYPASSRLS
-- would need a superuser, which managed servers do not give.)
-- atlas_app sees the one workspace named by the transaction's setting
-- atlas.workspace_id. On a connection used before, the setting is an empty
-- string rather than null once its transaction is over: hence NULLIF. It gets no more
-- than its statements need.
--
-- A table of workspaces leads its primary key with workspace_id, so that it can be
-- partitioned or sharded by it.
--
-- This is the first schema. Databases of versions 1 to 21 were of development only.
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

-- Workspaces, users, members and API keys.

CREATE TABLE workspaces (
    id             uuid PRIMARY KEY,
    name           text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
    plan           text NOT NULL CHECK (plan IN ('free', 'pro')),
    -- Credits per rolling 24 hours.
    credit_ceiling bigint NOT NULL CHECK (credit_ceiling >= 1),
    created_at     timestamptz NOT NULL,
    -- The name of the time zone by whose clock a workspace gets its digests.
    time_zone      text NOT NULL DEFAULT 'UTC' CHECK (char_length(time_zone) BETWEEN 1 AND 100)
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
    created_at   timestamptz NOT NULL,
    -- True until somebody signs in with the address, verified, and becomes this user: what
    -- belongs to a user follows the new id.
    claimable    boolean NOT NULL DEFAULT false
);
-- Not unique: an identity provider that re-creates an account gives the same
-- address a new id.
CREATE INDEX users_email_folded ON users (email_folded);

CREATE TABLE members (
    workspace_id uuid NOT NULL CONSTRAINT members_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid NOT NULL CONSTRAINT members_user REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE,
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
    created_at   timestamptz NOT NULL,
    -- Credits of each workspace of the key in 24 hours, and its requests a second; 0: no limit.
    daily_credits       bigint NOT NULL DEFAULT 0 CHECK (daily_credits BETWEEN 0 AND 1000000000000),
    requests_per_second integer NOT NULL DEFAULT 0 CHECK (requests_per_second BETWEEN 0 AND 1000000)
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

-- Invitations, signal subscriptions and Skills.

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
    invited_by      uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    accepted_at     timestamptz,
    accepted_by     uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    revoked_at      timestamptz,
    -- When a mail server took the e-mail.
    sent_at         timestamptz,
    -- When the e-mail's turn is, at the pace of its workspace and of its address; null
    -- where there is none, or it ended before it was sent. What is sent stays, whatever
    -- becomes of its invitation.
    letter_at       timestamptz,
    CONSTRAINT invitations_pkey PRIMARY KEY (workspace_id, id),
    CHECK (accepted_at IS NULL OR revoked_at IS NULL)
);
-- One open invitation for an address, also when two are made at once.
CREATE UNIQUE INDEX invitations_open ON invitations (workspace_id, email_folded)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;
-- A link names its invitation and not the workspace.
CREATE UNIQUE INDEX invitations_id ON invitations (id);
CREATE INDEX invitations_letters ON invitations (workspace_id, letter_at) WHERE letter_at IS NOT NULL;
CREATE INDEX invitations_letters_to ON invitations (email_folded, workspace_id, letter_at) WHERE letter_at IS NOT NULL;
-- Neither a new id nor a deletion of a user reads whole tables.
CREATE INDEX invitations_invited_by ON invitations (invited_by) WHERE invited_by IS NOT NULL;
CREATE INDEX invitations_accepted_by ON invitations (accepted_by) WHERE accepted_by IS NOT NULL;

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
    -- The queue has the signals that arrived after this: data_feed.arrived when the
    -- subscription began. Null: queue_started_at, where data_feed knew no generation.
    arrived_after    timestamptz,
    CONSTRAINT signal_subscriptions_pkey PRIMARY KEY (workspace_id, id),
    CONSTRAINT signal_subscriptions_type UNIQUE (workspace_id, signal_type)
);

CREATE TABLE skills (
    workspace_id       uuid NOT NULL CONSTRAINT skills_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id                 uuid NOT NULL,
    scope              text NOT NULL CHECK (scope IN ('personal', 'workspace')),
    -- Whose it alone is, for a personal one.
    owner_id           uuid REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE,
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
    created_by         uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    revision           integer NOT NULL CHECK (revision >= 1),
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT skills_pkey PRIMARY KEY (workspace_id, id),
    CHECK ((scope = 'personal') = (owner_id IS NOT NULL))
);
CREATE UNIQUE INDEX skills_workspace_slug ON skills (workspace_id, slug) WHERE scope = 'workspace';
CREATE UNIQUE INDEX skills_personal_slug ON skills (workspace_id, owner_id, slug) WHERE scope = 'personal';
CREATE INDEX skills_owner_id ON skills (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX skills_created_by ON skills (created_by) WHERE created_by IS NOT NULL;

-- The book: the records a workspace holds, its own data on them, and what keeps
-- their documents in Elasticsearch in step.

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
    -- The version that a document was last sent with; while that is not acknowledged, the
    -- document may still arrive. Null: not known.
    attempted_version bigint DEFAULT 0,
    -- The version that the row took when the serving index was found to lack its document,
    -- and the one that it took when a Static View was deleted that its document may still
    -- name. Both are null once a document with that version or a later one is acknowledged.
    lost_version         bigint,
    view_deleted_version bigint,
    -- Why Elasticsearch does not take the document.
    refusal           text,
    CONSTRAINT held_records_pkey PRIMARY KEY (workspace_id, dataset, record_id)
);
CREATE INDEX held_records_pending ON held_records (workspace_id, version) WHERE version > projected_version;
-- What a search has to wait for, found without passing by what is pending
-- because global records changed.
CREATE INDEX held_records_own ON held_records (workspace_id, dataset) WHERE own_change AND version > projected_version;
CREATE INDEX held_records_stubs ON held_records (stub_since) WHERE stub_since IS NOT NULL;
CREATE INDEX held_records_lost ON held_records (dataset, workspace_id) WHERE lost_version IS NOT NULL;
CREATE INDEX held_records_view_deleted ON held_records (workspace_id, dataset) WHERE view_deleted_version IS NOT NULL;
CREATE INDEX held_records_refused ON held_records (workspace_id) WHERE refusal IS NOT NULL;
-- The few held records that the global dataset has no more: what a View's
-- members are too many by.
CREATE INDEX held_records_absent ON held_records (workspace_id, dataset, record_id) WHERE NOT present;
-- A delta makes the held rows of a few records pending, whichever workspace has
-- them.
CREATE INDEX held_records_record ON held_records (dataset, record_id);

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
    -- Elasticsearch's own id of the index; another one under the same name is another index.
    index_uuid text,
    -- Whether lost_version is set in every row whose document the index lacks.
    marked     boolean NOT NULL DEFAULT true,
    CONSTRAINT held_generations_pkey PRIMARY KEY (dataset, generation)
);
CREATE UNIQUE INDEX held_generations_serving ON held_generations (dataset) WHERE serving;

-- Which generation of the global records the held ones were last told of.
CREATE TABLE held_sources (
    dataset    text PRIMARY KEY CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    generation text NOT NULL
);

-- How many records were new to a workspace's books in each span of ten minutes;
-- those of the last 24 hours.
CREATE TABLE book_additions (
    workspace_id uuid NOT NULL CONSTRAINT book_additions_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    span         timestamptz NOT NULL,
    added        integer NOT NULL CHECK (added >= 0),
    CONSTRAINT book_additions_pkey PRIMARY KEY (workspace_id, span)
);

-- The overlays of records that became others of which the workspace had an overlay too,
-- as they were: the values that the survivor's overlay did not take are here.
CREATE TABLE merged_overlays (
    workspace_id uuid NOT NULL CONSTRAINT merged_overlays_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    dataset      text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id    uuid NOT NULL,
    into_id      uuid NOT NULL,
    merged_at    timestamptz NOT NULL,
    overlay      jsonb NOT NULL,
    CONSTRAINT merged_overlays_pkey PRIMARY KEY (workspace_id, dataset, record_id, merged_at)
);

-- Views, the records of Static Views, and the Favorites of users.

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
    created_by   uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    updated_by   uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT views_pkey PRIMARY KEY (workspace_id, id),
    CONSTRAINT views_name UNIQUE (workspace_id, dataset, name_folded),
    CHECK (view_type = 'static' OR members = 0)
);
CREATE INDEX views_created_by ON views (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX views_updated_by ON views (updated_by) WHERE updated_by IS NOT NULL;

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
    CONSTRAINT favorites_member FOREIGN KEY (workspace_id, user_id) REFERENCES members (workspace_id, user_id) ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT favorites_view FOREIGN KEY (workspace_id, view_id) REFERENCES views (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX favorites_of_view ON favorites (workspace_id, view_id);

-- Global records: what deltas deleted, the feed of changes, merges.

-- Global records that a delta deleted, each with the updated_at of its deletion:
-- an older version that comes late does not bring the record back. Rows are
-- forgotten after some days.
CREATE TABLE deleted_records (
    dataset    text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    record_id  uuid NOT NULL,
    updated_at timestamptz NOT NULL,
    noted_at   timestamptz NOT NULL,
    CONSTRAINT deleted_records_pkey PRIMARY KEY (dataset, record_id)
);
CREATE INDEX deleted_records_noted ON deleted_records (noted_at);

-- A row for each change of a record. Readers see the rows up to data_feed.head.
-- changed: the names of the fields with other values; null: all. into_id: what the record
-- of a merge became.
CREATE TABLE data_changes (
    dataset   text   NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    seq       bigint NOT NULL,
    record_id uuid   NOT NULL,
    op        text   NOT NULL,
    changed   text[],
    into_id   uuid,
    CONSTRAINT data_changes_pkey PRIMARY KEY (dataset, seq),
    CONSTRAINT data_changes_op CHECK (op IN ('upsert', 'delete', 'merge') AND (op = 'merge') = (into_id IS NOT NULL))
);
CREATE INDEX data_changes_record ON data_changes (dataset, record_id, seq) INCLUDE (op);
CREATE INDEX data_changes_merges ON data_changes (dataset, seq) WHERE op = 'merge';
-- Pages ask of each record whether it is gone later. Few are.
CREATE INDEX data_changes_ended ON data_changes (dataset, record_id, seq) WHERE op <> 'upsert';

-- A publication makes changes readable: all after the publication before, up to
-- head.
CREATE TABLE data_publications (
    id           uuid PRIMARY KEY,
    head         bigint NOT NULL,
    published_at timestamptz NOT NULL
);
CREATE INDEX data_publications_head ON data_publications (head);

-- The state of the feed, one row. Changes up to forgotten are deleted. Those after
-- head are not told yet: writer has not finished. A writer is a delta, or a
-- generation that searches were switched to from the generation origin, "" if there
-- was none. generation is the one that searches used when the feed was last told of a
-- switch, "" for none. latest is the last publication, publishing the one in progress.
-- Elasticsearch keeps the id of the last publication too; accepted is what it had
-- when the feed was last started over, null after a publication. arrival is the last
-- arrival that a load or a delta was given for its new signals, arrived the last one of
-- which searches see every signal. A load or a delta is given an arrival when those before
-- it have ended, so that later arrivals are seen later.
CREATE TABLE data_feed (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    forgotten  bigint NOT NULL DEFAULT 0,
    head       bigint NOT NULL DEFAULT 0,
    tail       bigint NOT NULL DEFAULT 0,
    latest     uuid,
    publishing uuid,
    accepted   uuid DEFAULT '00000000-0000-0000-0000-000000000000',
    writer     text,
    origin     text,
    generation text   NOT NULL DEFAULT '',
    arrival    timestamptz NOT NULL DEFAULT 'epoch',
    arrived    timestamptz NOT NULL DEFAULT 'epoch',
    CHECK (forgotten <= head AND head <= tail)
);
INSERT INTO data_feed DEFAULT VALUES;

-- What records became that are gone: the merges that the feed has told, without those
-- whose record is there again. What a record became may itself have become another.
CREATE TABLE data_merges (
    dataset   text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    record_id uuid NOT NULL,
    into_id   uuid NOT NULL CHECK (into_id <> record_id),
    merged_at timestamptz NOT NULL,
    CONSTRAINT data_merges_pkey PRIMARY KEY (dataset, record_id)
);

-- The merges of each generation, of its load and of the deltas on it: what a switch to
-- it tells.
CREATE TABLE data_generation_merges (
    generation text NOT NULL,
    dataset    text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects', 'signals')),
    record_id  uuid NOT NULL,
    into_id    uuid NOT NULL CHECK (into_id <> record_id),
    CONSTRAINT data_generation_merges_pkey PRIMARY KEY (generation, dataset, record_id)
);

-- The merges after which workspaces may still hold the record that is gone. due_at: when
-- to look next.
CREATE TABLE data_merge_moves (
    dataset   text NOT NULL CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    record_id uuid NOT NULL,
    told_at   timestamptz NOT NULL,
    due_at    timestamptz NOT NULL,
    CONSTRAINT data_merge_moves_pkey PRIMARY KEY (dataset, record_id)
);
CREATE INDEX data_merge_moves_due ON data_merge_moves (due_at);

-- The queue of signals, and the e-mails of the signals that arrived.

-- The signals that a workspace dismissed from its queue, with the type that they had
-- then.
CREATE TABLE dismissed_signals (
    workspace_id uuid NOT NULL CONSTRAINT dismissed_signals_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    signal_id    uuid NOT NULL,
    signal_type  text NOT NULL,
    dismissed_at timestamptz NOT NULL,
    CONSTRAINT dismissed_signals_pkey PRIMARY KEY (workspace_id, signal_id)
);
CREATE INDEX dismissed_signals_signal ON dismissed_signals (signal_id);

-- Where the digests of a workspace are: those of a frequency have the signals that arrived
-- up to through. The next one is due at next_at.
CREATE TABLE signal_digests (
    workspace_id uuid NOT NULL CONSTRAINT signal_digests_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    frequency    text NOT NULL CHECK (frequency IN ('instant', 'daily', 'weekly')),
    through      timestamptz NOT NULL,
    next_at      timestamptz NOT NULL,
    CONSTRAINT signal_digests_pkey PRIMARY KEY (workspace_id, frequency)
);

-- Users who want no e-mails of a workspace's signals.
CREATE TABLE unsubscribed_users (
    workspace_id uuid NOT NULL CONSTRAINT unsubscribed_users_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid NOT NULL CONSTRAINT unsubscribed_users_user REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE,
    at           timestamptz NOT NULL,
    CONSTRAINT unsubscribed_users_pkey PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX unsubscribed_users_user_id ON unsubscribed_users (user_id);

-- What is done later: webhooks that are delivered, e-mails that are sent.

-- A job. lane: what has a limit of its own, such as one webhook. order_key: jobs of one
-- kind, lane and key run one after the other, in the order of seq; '' has no order.
-- run_at: when it is due; of a job that a server has taken, when another server may take
-- it. lease: who has taken it. status: the HTTP status that the last attempt got. error:
-- why the last attempt failed, in words of this program.
CREATE TABLE jobs (
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
CREATE INDEX jobs_due ON jobs (kind, lane, run_at, seq) WHERE state = 'pending';
-- What a job waits for.
CREATE INDEX jobs_order ON jobs (lane, order_key, seq) WHERE state = 'pending' AND order_key <> '';
-- The log of a lane, and what is forgotten.
CREATE INDEX jobs_lane ON jobs (kind, lane, created_at, seq);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- Webhooks of workspaces. Their deliveries are jobs of the kind 'webhook', their lane is
-- the webhook.
-- secret, old_secret: sealed under a key of the servers. old_secret signs too, until
-- old_until. failing_since: when the first of the attempts failed that all failed since,
-- null after a success. signals_after: the arrival up to which it was told of signals, null
-- before it is first looked at: what arrived until then it is not told of.
CREATE TABLE webhooks (
    workspace_id  uuid NOT NULL CONSTRAINT webhooks_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id            uuid NOT NULL,
    url           text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    events        text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 20),
    enabled       boolean NOT NULL,
    secret        bytea NOT NULL,
    old_secret    bytea,
    old_until     timestamptz,
    failing_since timestamptz,
    signals_after timestamptz,
    created_at    timestamptz NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (workspace_id, id),
    CHECK ((old_secret IS NULL) = (old_until IS NULL))
);

-- How far events are dispatched to webhooks, by source: a dataset of the feed of changes,
-- or 'load' for its switches. Whoever dispatches locks the row.
CREATE TABLE webhook_positions (
    source     text PRIMARY KEY,
    seq        bigint NOT NULL DEFAULT 0,
    generation text NOT NULL DEFAULT '',
    at         timestamptz
);

-- When a workspace was last told that it used so many percent of its credits.
CREATE TABLE credit_notices (
    workspace_id uuid NOT NULL CONSTRAINT credit_notices_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    percent      integer NOT NULL,
    noticed_at   timestamptz NOT NULL,
    CONSTRAINT credit_notices_pkey PRIMARY KEY (workspace_id, percent)
);

-- Answers to requests with an Idempotency-Key that changed something, for their
-- repetitions. A row is written in the transaction of the change.
-- key: a digest of the caller, the operation and the key. part: 0, or the item of a batch
-- that is not done yet, from 1. request: a digest of the request. answer: as the API renders
-- it, without secrets.
CREATE TABLE kept_answers (
    workspace_id uuid NOT NULL CONSTRAINT kept_answers_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    key          bytea NOT NULL CHECK (octet_length(key) = 16),
    part         integer NOT NULL CHECK (part BETWEEN 0 AND 100),
    request      bytea NOT NULL CHECK (octet_length(request) = 16),
    answer       bytea NOT NULL,
    kept_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The length of the answer.
    bytes        integer NOT NULL DEFAULT 0,
    CONSTRAINT kept_answers_pkey PRIMARY KEY (workspace_id, key, part)
);
-- A workspace has a limit for how many it has and for their bytes.
CREATE INDEX kept_answers_size ON kept_answers (workspace_id, kept_at) INCLUDE (bytes);

-- What changed in each workspace, who changed it, and when.

CREATE SEQUENCE workspace_changes_seq AS bigint;

-- A row for each change, written by triggers in the transaction of the change, by
-- whatever program. xid is that transaction: readers see the rows whose xid is less than
-- that of every transaction in progress, so in the order of (xid, seq) none can appear
-- before one that was read. The first row of a workspace has the xid 0, or 1 if the
-- workspace had changes before that are not here. by_user or by_key changed it; neither:
-- the operator, or Atlas itself. changed: the names of the fields in the API. No values
-- are kept.
CREATE TABLE workspace_changes (
    workspace_id uuid        NOT NULL,
    xid          xid8        NOT NULL DEFAULT pg_current_xact_id(),
    seq          bigint      NOT NULL DEFAULT nextval('workspace_changes_seq'),
    at           timestamptz NOT NULL,
    kind         text        NOT NULL,
    op           text        NOT NULL CHECK (op IN ('upsert', 'delete')),
    id           uuid        NOT NULL,
    dataset      text        CHECK (dataset IN ('accounts', 'contacts', 'projects')),
    view_id      uuid,
    by_user      uuid,
    by_key       uuid,
    changed      text[]      NOT NULL,
    CONSTRAINT workspace_changes_pkey PRIMARY KEY (workspace_id, xid, seq) INCLUDE (at),
    CHECK (by_user IS NULL OR by_key IS NULL)
);
-- The history of a record.
CREATE INDEX workspace_changes_id ON workspace_changes (workspace_id, id, xid, seq);

-- Who may read and write what.

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tableowner = current_user AND tablename <> 'goose_db_version' LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
    -- What is a workspace's own.
    FOREACH t IN ARRAY ARRAY['members', 'invitations', 'signal_subscriptions', 'skills', 'held_records', 'overlays', 'projectors',
                             'book_additions', 'merged_overlays', 'views', 'view_records', 'favorites', 'dismissed_signals', 'jobs',
                             'webhooks', 'credit_notices', 'kept_answers'] LOOP
        EXECUTE format('CREATE POLICY app_own ON %I TO atlas_app '
            'USING (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = NULLIF(current_setting(''atlas.workspace_id'', true), '''')::uuid)', t);
    END LOOP;
    -- Global records belong to no workspace: requests read every row.
    FOREACH t IN ARRAY ARRAY['data_changes', 'data_publications', 'data_feed', 'data_merges'] LOOP
        EXECUTE format('CREATE POLICY app_reads ON %I FOR SELECT TO atlas_app USING (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
CREATE POLICY app_own ON workspaces FOR SELECT TO atlas_app
    USING (id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
CREATE POLICY app_members ON users FOR SELECT TO atlas_app
    USING (EXISTS (SELECT FROM members m WHERE m.user_id = users.id));
-- The generations are nobody's own: projecting reads them.
CREATE POLICY app_read ON held_generations FOR SELECT TO atlas_app USING (true);
-- Triggers alone write, as the owner.
CREATE POLICY app_reads ON workspace_changes FOR SELECT TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);

-- What crosses workspaces is the system role's: no grant, no policy. That is users'
-- writes, keys, leases, accepting and sending invitations, publishing Skills, digests.
-- Readiness reads the schema version.
GRANT SELECT ON goose_db_version, workspaces, users, held_generations, workspace_changes,
    data_changes, data_publications, data_feed, data_merges TO atlas_app;
GRANT SELECT, INSERT ON skills, merged_overlays TO atlas_app;
GRANT SELECT, INSERT, UPDATE ON invitations, projectors TO atlas_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON members, signal_subscriptions, held_records, overlays, book_additions, views, view_records,
    favorites, dismissed_signals, jobs, webhooks, credit_notices, kept_answers TO atlas_app;
GRANT USAGE ON SEQUENCE held_version TO atlas_app;

-- A member has the name and the address of their user.
-- +goose StatementBegin
CREATE FUNCTION tell_users() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    actor   text := current_setting('atlas.actor', true);
    by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
    by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
BEGIN
    INSERT INTO workspace_changes (workspace_id, at, kind, op, id, by_user, by_key, changed)
    SELECT m.workspace_id, clock_timestamp(), 'member', 'upsert', n.id, by_user, by_key,
           array_remove(ARRAY[CASE WHEN o.email <> n.email THEN 'email' END, CASE WHEN o.name <> n.name THEN 'name' END], NULL)
    FROM told_old o JOIN told_new n USING (id) JOIN members m ON m.user_id = n.id
    WHERE o.email <> n.email OR o.name <> n.name;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION tell_users() SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION tell_users() FROM PUBLIC;
CREATE TRIGGER tell_update AFTER UPDATE ON users REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new EXECUTE FUNCTION tell_users();

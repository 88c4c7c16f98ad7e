-- What was delivered to whom, and sign-ins that were refused: counted, for the audit log.

-- +goose Up
-- Records that a principal of a workspace got by an operation in an hour. told: the log has
-- that they are above the threshold in this hour.
CREATE TABLE IF NOT EXISTS records_delivered (
    workspace_id   uuid        NOT NULL CONSTRAINT records_delivered_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    hour           timestamptz NOT NULL,
    principal_kind text        NOT NULL CHECK (principal_kind IN ('user', 'key', 'service')),
    principal_id   uuid        NOT NULL,
    operation      text        NOT NULL CHECK (char_length(operation) BETWEEN 1 AND 100),
    records        bigint      NOT NULL CHECK (records >= 0),
    requests       bigint      NOT NULL CHECK (requests >= 0),
    told           boolean     NOT NULL DEFAULT false,
    CONSTRAINT records_delivered_pkey PRIMARY KEY (workspace_id, hour, principal_id, operation)
);
CREATE INDEX IF NOT EXISTS records_delivered_hour ON records_delivered (hour);

-- Sign-ins and credentials that were refused in a minute, by reason and network. network: a
-- /24 or /48; all zero where it is not known, or where too many were.
CREATE TABLE IF NOT EXISTS failed_sign_ins (
    minute  timestamptz NOT NULL,
    reason  text        NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 60),
    network cidr        NOT NULL,
    times   bigint      NOT NULL CHECK (times > 0),
    CONSTRAINT failed_sign_ins_pkey PRIMARY KEY (minute, reason, network)
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['records_delivered', 'failed_sign_ins'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('DROP POLICY IF EXISTS system_all ON %I', t);
        EXECUTE format('CREATE POLICY system_all ON %I TO atlas_system USING (true) WITH CHECK (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
DROP POLICY IF EXISTS app_reads ON records_delivered;
CREATE POLICY app_reads ON records_delivered FOR SELECT TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
GRANT SELECT ON records_delivered TO atlas_app;

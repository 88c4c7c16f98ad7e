-- What changed in each workspace, who changed it, and when.
--
-- Without a transaction, so that each table is locked for a moment only, while servers
-- read and write. Every statement can be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
CREATE SEQUENCE IF NOT EXISTS workspace_changes_seq AS bigint;

-- A row for each change, written by triggers in the transaction of the change, by
-- whatever program. xid is that transaction: readers see the rows whose xid is less than
-- that of every transaction in progress, so in the order of (xid, seq) none can appear
-- before one that was read. The first row of a workspace has the xid 0, or 1 if the
-- workspace had changes before that are not here. by_user or by_key changed it; neither:
-- the operator, or Atlas itself. changed: the names of the fields in the API. No values
-- are kept.
CREATE TABLE IF NOT EXISTS workspace_changes (
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
CREATE INDEX IF NOT EXISTS workspace_changes_id ON workspace_changes (workspace_id, id, xid, seq);

-- The application reads. Triggers alone write, as the owner.
ALTER TABLE workspace_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace_changes FORCE ROW LEVEL SECURITY;
-- +goose StatementBegin
DO $$
BEGIN
    DROP POLICY IF EXISTS system_all ON workspace_changes;
    CREATE POLICY system_all ON workspace_changes TO atlas_system USING (true) WITH CHECK (true);
    DROP POLICY IF EXISTS app_reads ON workspace_changes;
    CREATE POLICY app_reads ON workspace_changes FOR SELECT TO atlas_app
        USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
END
$$;
-- +goose StatementEnd
GRANT SELECT ON workspace_changes TO atlas_app;

-- Makes the triggers of a table anew. A migration calls it after it adds a column that the
-- API answers: SELECT follow_changes_of('overlays').
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION follow_changes_of(source text) RETURNS void LANGUAGE plpgsql AS $follow$
DECLARE
    -- A column of a row that is there before the change, after it, or both.
    either  constant text := 'coalesce(n.%1$I, o.%1$I)';
    kind    text;
    id      text;           -- the column with the id of what changed
    owner   text := 'workspace_id';
    keys    text[];         -- the columns that identify a row
    place   text[] := ARRAY['NULL', 'NULL']; -- its dataset and its View
    first   text := 'pg_current_xact_id()';  -- the xid of what an INSERT tells
    shown   text := 'true'; -- the rows that the API has
    hidden  text[] := ARRAY['workspace_id', 'created_at', 'updated_at']; -- columns that are no fields
    unnamed text[] := '{}'; -- columns that changed does not name
    renamed jsonb := '{}';
    gone    text := 'true'; -- the deleted rows that are told
    changed text;
    differs text;
    change  text;
    body    text;
BEGIN
    CASE source
    WHEN 'overlays' THEN
        kind := 'overlay'; id := 'record_id'; keys := ARRAY['workspace_id', 'dataset', 'record_id'];
        place := ARRAY[format(either, 'dataset'), 'NULL'];
        hidden := hidden || ARRAY['scored_at'];
    WHEN 'view_records' THEN
        kind := 'membership'; id := 'record_id'; keys := ARRAY['workspace_id', 'view_id', 'record_id'];
        place := ARRAY[format(either, 'dataset'), format(either, 'view_id')];
        hidden := hidden || ARRAY['dataset', 'added_at'];
        -- The deletion of a View says enough of its records.
        gone := 'EXISTS (SELECT FROM views v WHERE v.workspace_id = told_old.workspace_id AND v.id = told_old.view_id)';
    WHEN 'views' THEN
        kind := 'view'; id := 'id'; keys := ARRAY['workspace_id', 'id'];
        place := ARRAY[format(either, 'dataset'), 'NULL'];
        hidden := hidden || ARRAY['name_folded', 'revision', 'members'];
        unnamed := ARRAY['created_by', 'updated_by'];
    WHEN 'members' THEN
        kind := 'member'; id := 'user_id'; keys := ARRAY['workspace_id', 'user_id'];
        hidden := hidden || ARRAY['joined_at'];
    WHEN 'invitations' THEN
        kind := 'invitation'; id := 'id'; keys := ARRAY['workspace_id', 'id'];
        shown := 'accepted_at IS NULL AND revoked_at IS NULL';
        hidden := hidden || ARRAY['email_folded', 'seed', 'secret_hash', 'invited_by', 'accepted_at', 'accepted_by', 'revoked_at',
                                  'attempts', 'next_attempt_at', 'delivered_at', 'letter_at'];
    WHEN 'signal_subscriptions' THEN
        kind := 'subscription'; id := 'id'; keys := ARRAY['workspace_id', 'id'];
        hidden := hidden || ARRAY['arrived_after'];
        renamed := '{"channels": "delivery", "frequency": "delivery"}';
    WHEN 'workspaces' THEN
        kind := 'setting'; id := 'id'; owner := 'id'; keys := ARRAY['id']; first := '''0''::xid8';
        renamed := '{"credit_ceiling": "ceiling"}';
    END CASE;

    -- Columns with the same name in the API are one field. An empty list is no value.
    SELECT string_agg(format('CASE WHEN %s THEN %L END', differ, field), ', ' ORDER BY field) FILTER (WHERE field <> ALL (unnamed)),
           string_agg(differ, ' OR ')
    INTO changed, differs
    FROM (
        SELECT field, string_agg(format(CASE WHEN list THEN 'coalesce(o.%1$I, ''{}'') <> coalesce(n.%1$I, ''{}'')'
                                             ELSE 'o.%1$I IS DISTINCT FROM n.%1$I' END, attname), ' OR ' ORDER BY attname) AS differ
        FROM (
            SELECT attname, typcategory = 'A' AS list, coalesce(renamed->>attname::text, attname::text) AS field
            FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
            WHERE attrelid = source::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL (keys || hidden)
        ) columns
        GROUP BY field
    ) fields;

    change := format('
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT %1$s, {xid}, now, %2$L, CASE WHEN n.%4$I IS NULL THEN ''delete'' ELSE ''upsert'' END, %3$s, %5$s, %6$s, by_user, by_key,
                   CASE WHEN n.%4$I IS NULL THEN ''{}'' ELSE array_remove(ARRAY[%7$s]::text[], NULL) END
            FROM (SELECT * FROM {old} AND %8$s) o FULL JOIN (SELECT * FROM {new} AND %8$s) n ON %9$s
            WHERE o.%4$I IS NULL OR n.%4$I IS NULL OR %10$s;',
        format(either, owner), kind, format(either, id), owner, place[1], place[2], coalesce(changed, ''), shown,
        (SELECT string_agg(format('o.%1$I = n.%1$I', k), ' AND ') FROM unnest(keys) k), coalesce(differs, 'false'));
    body := format('
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting(''atlas.actor'', true);
            by_user uuid := CASE WHEN actor LIKE ''user:%%'' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE ''key:%%'' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = ''INSERT'' THEN%s
            ELSIF TG_OP = ''UPDATE'' THEN%s
            ELSE%s
            END IF;
            RETURN NULL;
        END',
        replace(replace(replace(change, '{old}', 'told_new WHERE false'), '{new}', 'told_new WHERE true'), '{xid}', first),
        replace(replace(replace(change, '{old}', 'told_old WHERE true'), '{new}', 'told_new WHERE true'), '{xid}', 'pg_current_xact_id()'),
        replace(replace(replace(change, '{old}', 'told_old WHERE ' || gone), '{new}', 'told_old WHERE false'), '{xid}', 'pg_current_xact_id()'));
    EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS %L', 'tell_' || source, body);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS told_new EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_update AFTER UPDATE ON %I REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS told_old EXECUTE FUNCTION %I()', source, 'tell_' || source);
END
$follow$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION follow_changes_of(text) FROM PUBLIC;

-- A member has the name and the address of their user.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tell_users() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
DECLARE
    change text;
BEGIN
    -- That of workspaces last: a workspace that it tells has all its changes told.
    FOREACH change IN ARRAY ARRAY[
        $c$SELECT follow_changes_of('overlays')$c$, $c$SELECT follow_changes_of('view_records')$c$, $c$SELECT follow_changes_of('views')$c$,
        $c$SELECT follow_changes_of('members')$c$, $c$SELECT follow_changes_of('invitations')$c$, $c$SELECT follow_changes_of('signal_subscriptions')$c$,
        $c$CREATE OR REPLACE TRIGGER tell_update AFTER UPDATE ON users REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new EXECUTE FUNCTION tell_users()$c$,
        $c$SELECT follow_changes_of('workspaces')$c$
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

-- The first row of each workspace from before.
INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, changed)
SELECT id, '1', clock_timestamp(), 'setting', 'upsert', id, '{}' FROM workspaces w
WHERE NOT EXISTS (SELECT FROM workspace_changes c WHERE c.workspace_id = w.id AND c.xid < '2');

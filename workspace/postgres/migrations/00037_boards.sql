-- +goose Up
-- Boards: charts, pivots, maps and Views on one page of a workspace.

-- tiles: an array of at most 12, as the API shows them. Requests are as they were sent.
CREATE TABLE IF NOT EXISTS boards (
    workspace_id uuid NOT NULL CONSTRAINT boards_workspace REFERENCES workspaces (id) ON DELETE CASCADE,
    id           uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- The name without case and accents, as it is sorted.
    name_folded  text COLLATE "C" NOT NULL,
    tiles        jsonb NOT NULL CHECK (jsonb_typeof(tiles) = 'array' AND jsonb_array_length(tiles) <= 12),
    revision     integer NOT NULL CHECK (revision >= 1),
    -- Null for an API key's, or when the user is gone.
    created_by   uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    updated_by   uuid REFERENCES users (id) ON DELETE SET NULL ON UPDATE CASCADE,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT boards_pkey PRIMARY KEY (workspace_id, id)
);
CREATE INDEX IF NOT EXISTS boards_created_by ON boards (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS boards_updated_by ON boards (updated_by) WHERE updated_by IS NOT NULL;

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
        hidden := hidden || ARRAY['scored_at', 'updated_by'];
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
    WHEN 'boards' THEN
        kind := 'board'; id := 'id'; keys := ARRAY['workspace_id', 'id'];
        hidden := hidden || ARRAY['name_folded', 'revision'];
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
    WHEN 'webhooks' THEN
        kind := 'webhook'; id := 'id'; keys := ARRAY['workspace_id', 'id'];
        -- A rotation sets old_until too. secret alone changes when it is sealed under
        -- another key of the servers.
        hidden := hidden || ARRAY['secret', 'old_secret', 'failing_since', 'failures', 'signals_after'];
        renamed := '{"old_until": "secret"}';
    WHEN 'skills' THEN
        kind := 'skill'; id := 'id'; keys := ARRAY['workspace_id', 'id'];
        -- A personal Skill is its owner's alone.
        shown := 'owner_id IS NULL';
        hidden := hidden || ARRAY['owner_id', 'name_folded', 'description_folded', 'revision'];
        unnamed := ARRAY['created_by'];
        renamed := '{"slug": "locator", "scope": "locator"}';
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
            ELSIF TG_OP = ''DELETE'' THEN%s
            ELSE%s
            END IF;
            RETURN NULL;
        END',
        replace(replace(replace(change, '{old}', 'told_new WHERE false'), '{new}', 'told_new WHERE true'), '{xid}', first),
        replace(replace(replace(change, '{old}', 'told_old WHERE true'), '{new}', 'told_new WHERE true'), '{xid}', 'pg_current_xact_id()'),
        replace(replace(replace(change, '{old}', 'told_old WHERE ' || gone), '{new}', 'told_old WHERE false'), '{xid}', 'pg_current_xact_id()'),
        -- Before a TRUNCATE the rows are in the table.
        replace(replace(replace(change, '{old}', format('%I told_old WHERE ', source) || gone), '{new}', format('%I WHERE false', source)), '{xid}', 'pg_current_xact_id()'));
    -- As the owner: so it finds no temporary table before ours, and nobody else makes
    -- triggers of it.
    EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = %I, pg_temp AS %L', 'tell_' || source, current_schema(), body);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS told_new EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_update AFTER UPDATE ON %I REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS told_old EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION %I()', source, 'tell_' || source);
END
$follow$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION follow_changes_of(text) FROM PUBLIC;
SELECT follow_changes_of('boards');

ALTER TABLE boards ENABLE ROW LEVEL SECURITY;
ALTER TABLE boards FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS system_all ON boards;
DROP POLICY IF EXISTS app_own ON boards;
CREATE POLICY system_all ON boards TO atlas_system USING (true) WITH CHECK (true);
CREATE POLICY app_own ON boards TO atlas_app
    USING (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid)
    WITH CHECK (workspace_id = NULLIF(current_setting('atlas.workspace_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON boards TO atlas_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON boards TO atlas_app;

-- The schema of version 22 as its migrations left it, by pg_dump --schema-only.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE FUNCTION public.follow_changes_of(source text) RETURNS void
    LANGUAGE plpgsql
    AS $_$
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
    -- As the owner: so it finds no temporary table before ours, and nobody else makes
    -- triggers of it.
    EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = %I, pg_temp AS %L', 'tell_' || source, current_schema(), body);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS told_new EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_update AFTER UPDATE ON %I REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new EXECUTE FUNCTION %I()', source, 'tell_' || source);
    EXECUTE format('CREATE OR REPLACE TRIGGER tell_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS told_old EXECUTE FUNCTION %I()', source, 'tell_' || source);
END
$_$;

ALTER FUNCTION public.follow_changes_of(source text) OWNER TO atlas_system;

CREATE FUNCTION public.queue_invitation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO jobs (workspace_id, id, kind, lane, payload, run_at, created_at)
    VALUES (NEW.workspace_id, NEW.id, 'invitation', NEW.workspace_id, '{}', NEW.next_attempt_at, NEW.created_at)
    ON CONFLICT ON CONSTRAINT jobs_pkey DO NOTHING;
    NEW.next_attempt_at := NULL;
    RETURN NEW;
END
$$;

ALTER FUNCTION public.queue_invitation() OWNER TO atlas_system;

CREATE FUNCTION public.tell_invitations() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'invitation', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.email IS DISTINCT FROM n.email THEN 'email' END, CASE WHEN o.expires_at IS DISTINCT FROM n.expires_at THEN 'expires_at' END, CASE WHEN o.role IS DISTINCT FROM n.role THEN 'role' END, CASE WHEN o.sent_at IS DISTINCT FROM n.sent_at THEN 'sent_at' END]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND accepted_at IS NULL AND revoked_at IS NULL) o FULL JOIN (SELECT * FROM told_new WHERE true AND accepted_at IS NULL AND revoked_at IS NULL) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.email IS DISTINCT FROM n.email OR o.expires_at IS DISTINCT FROM n.expires_at OR o.role IS DISTINCT FROM n.role OR o.sent_at IS DISTINCT FROM n.sent_at;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'invitation', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.email IS DISTINCT FROM n.email THEN 'email' END, CASE WHEN o.expires_at IS DISTINCT FROM n.expires_at THEN 'expires_at' END, CASE WHEN o.role IS DISTINCT FROM n.role THEN 'role' END, CASE WHEN o.sent_at IS DISTINCT FROM n.sent_at THEN 'sent_at' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND accepted_at IS NULL AND revoked_at IS NULL) o FULL JOIN (SELECT * FROM told_new WHERE true AND accepted_at IS NULL AND revoked_at IS NULL) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.email IS DISTINCT FROM n.email OR o.expires_at IS DISTINCT FROM n.expires_at OR o.role IS DISTINCT FROM n.role OR o.sent_at IS DISTINCT FROM n.sent_at;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'invitation', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.email IS DISTINCT FROM n.email THEN 'email' END, CASE WHEN o.expires_at IS DISTINCT FROM n.expires_at THEN 'expires_at' END, CASE WHEN o.role IS DISTINCT FROM n.role THEN 'role' END, CASE WHEN o.sent_at IS DISTINCT FROM n.sent_at THEN 'sent_at' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND accepted_at IS NULL AND revoked_at IS NULL) o FULL JOIN (SELECT * FROM told_old WHERE false AND accepted_at IS NULL AND revoked_at IS NULL) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.email IS DISTINCT FROM n.email OR o.expires_at IS DISTINCT FROM n.expires_at OR o.role IS DISTINCT FROM n.role OR o.sent_at IS DISTINCT FROM n.sent_at;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_invitations() OWNER TO atlas_system;

CREATE FUNCTION public.tell_members() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'member', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.user_id, o.user_id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.role IS DISTINCT FROM n.role THEN 'role' END]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.user_id = n.user_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.role IS DISTINCT FROM n.role;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'member', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.user_id, o.user_id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.role IS DISTINCT FROM n.role THEN 'role' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.user_id = n.user_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.role IS DISTINCT FROM n.role;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'member', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.user_id, o.user_id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.role IS DISTINCT FROM n.role THEN 'role' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_old WHERE false AND true) n ON o.workspace_id = n.workspace_id AND o.user_id = n.user_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.role IS DISTINCT FROM n.role;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_members() OWNER TO atlas_system;

CREATE FUNCTION public.tell_overlays() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'overlay', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.record_id, o.record_id), coalesce(n.dataset, o.dataset), NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.atlas_score IS DISTINCT FROM n.atlas_score THEN 'atlas_score' END, CASE WHEN o.atlas_trend IS DISTINCT FROM n.atlas_trend THEN 'atlas_trend' END, CASE WHEN o.icp_tier IS DISTINCT FROM n.icp_tier THEN 'icp_tier' END, CASE WHEN o.notes IS DISTINCT FROM n.notes THEN 'notes' END, CASE WHEN coalesce(o.tags, '{}') <> coalesce(n.tags, '{}') THEN 'tags' END, CASE WHEN o.workspace_status IS DISTINCT FROM n.workspace_status THEN 'workspace_status' END]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.dataset = n.dataset AND o.record_id = n.record_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.atlas_score IS DISTINCT FROM n.atlas_score OR o.atlas_trend IS DISTINCT FROM n.atlas_trend OR o.icp_tier IS DISTINCT FROM n.icp_tier OR o.notes IS DISTINCT FROM n.notes OR coalesce(o.tags, '{}') <> coalesce(n.tags, '{}') OR o.workspace_status IS DISTINCT FROM n.workspace_status;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'overlay', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.record_id, o.record_id), coalesce(n.dataset, o.dataset), NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.atlas_score IS DISTINCT FROM n.atlas_score THEN 'atlas_score' END, CASE WHEN o.atlas_trend IS DISTINCT FROM n.atlas_trend THEN 'atlas_trend' END, CASE WHEN o.icp_tier IS DISTINCT FROM n.icp_tier THEN 'icp_tier' END, CASE WHEN o.notes IS DISTINCT FROM n.notes THEN 'notes' END, CASE WHEN coalesce(o.tags, '{}') <> coalesce(n.tags, '{}') THEN 'tags' END, CASE WHEN o.workspace_status IS DISTINCT FROM n.workspace_status THEN 'workspace_status' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.dataset = n.dataset AND o.record_id = n.record_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.atlas_score IS DISTINCT FROM n.atlas_score OR o.atlas_trend IS DISTINCT FROM n.atlas_trend OR o.icp_tier IS DISTINCT FROM n.icp_tier OR o.notes IS DISTINCT FROM n.notes OR coalesce(o.tags, '{}') <> coalesce(n.tags, '{}') OR o.workspace_status IS DISTINCT FROM n.workspace_status;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'overlay', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.record_id, o.record_id), coalesce(n.dataset, o.dataset), NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.atlas_score IS DISTINCT FROM n.atlas_score THEN 'atlas_score' END, CASE WHEN o.atlas_trend IS DISTINCT FROM n.atlas_trend THEN 'atlas_trend' END, CASE WHEN o.icp_tier IS DISTINCT FROM n.icp_tier THEN 'icp_tier' END, CASE WHEN o.notes IS DISTINCT FROM n.notes THEN 'notes' END, CASE WHEN coalesce(o.tags, '{}') <> coalesce(n.tags, '{}') THEN 'tags' END, CASE WHEN o.workspace_status IS DISTINCT FROM n.workspace_status THEN 'workspace_status' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_old WHERE false AND true) n ON o.workspace_id = n.workspace_id AND o.dataset = n.dataset AND o.record_id = n.record_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.atlas_score IS DISTINCT FROM n.atlas_score OR o.atlas_trend IS DISTINCT FROM n.atlas_trend OR o.icp_tier IS DISTINCT FROM n.icp_tier OR o.notes IS DISTINCT FROM n.notes OR coalesce(o.tags, '{}') <> coalesce(n.tags, '{}') OR o.workspace_status IS DISTINCT FROM n.workspace_status;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_overlays() OWNER TO atlas_system;

CREATE FUNCTION public.tell_signal_subscriptions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'subscription', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN coalesce(o.channels, '{}') <> coalesce(n.channels, '{}') OR o.frequency IS DISTINCT FROM n.frequency THEN 'delivery' END, CASE WHEN o.queue_started_at IS DISTINCT FROM n.queue_started_at THEN 'queue_started_at' END, CASE WHEN o.signal_type IS DISTINCT FROM n.signal_type THEN 'signal_type' END]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR coalesce(o.channels, '{}') <> coalesce(n.channels, '{}') OR o.frequency IS DISTINCT FROM n.frequency OR o.queue_started_at IS DISTINCT FROM n.queue_started_at OR o.signal_type IS DISTINCT FROM n.signal_type;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'subscription', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN coalesce(o.channels, '{}') <> coalesce(n.channels, '{}') OR o.frequency IS DISTINCT FROM n.frequency THEN 'delivery' END, CASE WHEN o.queue_started_at IS DISTINCT FROM n.queue_started_at THEN 'queue_started_at' END, CASE WHEN o.signal_type IS DISTINCT FROM n.signal_type THEN 'signal_type' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR coalesce(o.channels, '{}') <> coalesce(n.channels, '{}') OR o.frequency IS DISTINCT FROM n.frequency OR o.queue_started_at IS DISTINCT FROM n.queue_started_at OR o.signal_type IS DISTINCT FROM n.signal_type;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'subscription', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN coalesce(o.channels, '{}') <> coalesce(n.channels, '{}') OR o.frequency IS DISTINCT FROM n.frequency THEN 'delivery' END, CASE WHEN o.queue_started_at IS DISTINCT FROM n.queue_started_at THEN 'queue_started_at' END, CASE WHEN o.signal_type IS DISTINCT FROM n.signal_type THEN 'signal_type' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_old WHERE false AND true) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR coalesce(o.channels, '{}') <> coalesce(n.channels, '{}') OR o.frequency IS DISTINCT FROM n.frequency OR o.queue_started_at IS DISTINCT FROM n.queue_started_at OR o.signal_type IS DISTINCT FROM n.signal_type;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_signal_subscriptions() OWNER TO atlas_system;

CREATE FUNCTION public.tell_users() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
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

ALTER FUNCTION public.tell_users() OWNER TO atlas_system;

CREATE FUNCTION public.tell_view_records() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'membership', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.record_id, o.record_id), coalesce(n.dataset, o.dataset), coalesce(n.view_id, o.view_id), by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.view_id = n.view_id AND o.record_id = n.record_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR false;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'membership', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.record_id, o.record_id), coalesce(n.dataset, o.dataset), coalesce(n.view_id, o.view_id), by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.view_id = n.view_id AND o.record_id = n.record_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR false;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'membership', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.record_id, o.record_id), coalesce(n.dataset, o.dataset), coalesce(n.view_id, o.view_id), by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE EXISTS (SELECT FROM views v WHERE v.workspace_id = told_old.workspace_id AND v.id = told_old.view_id) AND true) o FULL JOIN (SELECT * FROM told_old WHERE false AND true) n ON o.workspace_id = n.workspace_id AND o.view_id = n.view_id AND o.record_id = n.record_id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR false;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_view_records() OWNER TO atlas_system;

CREATE FUNCTION public.tell_views() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'view', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), coalesce(n.dataset, o.dataset), NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.dataset IS DISTINCT FROM n.dataset THEN 'dataset' END, CASE WHEN o.definition IS DISTINCT FROM n.definition THEN 'definition' END, CASE WHEN o.name IS DISTINCT FROM n.name THEN 'name' END, CASE WHEN o.presentation IS DISTINCT FROM n.presentation THEN 'presentation' END, CASE WHEN o.view_type IS DISTINCT FROM n.view_type THEN 'view_type' END]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.created_by IS DISTINCT FROM n.created_by OR o.dataset IS DISTINCT FROM n.dataset OR o.definition IS DISTINCT FROM n.definition OR o.name IS DISTINCT FROM n.name OR o.presentation IS DISTINCT FROM n.presentation OR o.updated_by IS DISTINCT FROM n.updated_by OR o.view_type IS DISTINCT FROM n.view_type;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'view', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), coalesce(n.dataset, o.dataset), NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.dataset IS DISTINCT FROM n.dataset THEN 'dataset' END, CASE WHEN o.definition IS DISTINCT FROM n.definition THEN 'definition' END, CASE WHEN o.name IS DISTINCT FROM n.name THEN 'name' END, CASE WHEN o.presentation IS DISTINCT FROM n.presentation THEN 'presentation' END, CASE WHEN o.view_type IS DISTINCT FROM n.view_type THEN 'view_type' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.created_by IS DISTINCT FROM n.created_by OR o.dataset IS DISTINCT FROM n.dataset OR o.definition IS DISTINCT FROM n.definition OR o.name IS DISTINCT FROM n.name OR o.presentation IS DISTINCT FROM n.presentation OR o.updated_by IS DISTINCT FROM n.updated_by OR o.view_type IS DISTINCT FROM n.view_type;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.workspace_id, o.workspace_id), pg_current_xact_id(), now, 'view', CASE WHEN n.workspace_id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), coalesce(n.dataset, o.dataset), NULL, by_user, by_key,
                   CASE WHEN n.workspace_id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.dataset IS DISTINCT FROM n.dataset THEN 'dataset' END, CASE WHEN o.definition IS DISTINCT FROM n.definition THEN 'definition' END, CASE WHEN o.name IS DISTINCT FROM n.name THEN 'name' END, CASE WHEN o.presentation IS DISTINCT FROM n.presentation THEN 'presentation' END, CASE WHEN o.view_type IS DISTINCT FROM n.view_type THEN 'view_type' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_old WHERE false AND true) n ON o.workspace_id = n.workspace_id AND o.id = n.id
            WHERE o.workspace_id IS NULL OR n.workspace_id IS NULL OR o.created_by IS DISTINCT FROM n.created_by OR o.dataset IS DISTINCT FROM n.dataset OR o.definition IS DISTINCT FROM n.definition OR o.name IS DISTINCT FROM n.name OR o.presentation IS DISTINCT FROM n.presentation OR o.updated_by IS DISTINCT FROM n.updated_by OR o.view_type IS DISTINCT FROM n.view_type;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_views() OWNER TO atlas_system;

CREATE FUNCTION public.tell_workspaces() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
        DECLARE
            -- user: or key: and an id, else the operator or Atlas itself.
            actor   text := current_setting('atlas.actor', true);
            by_user uuid := CASE WHEN actor LIKE 'user:%' THEN substr(actor, 6)::uuid END;
            by_key  uuid := CASE WHEN actor LIKE 'key:%' THEN substr(actor, 5)::uuid END;
            now     timestamptz := clock_timestamp();
        BEGIN
            IF TG_OP = 'INSERT' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.id, o.id), '0'::xid8, now, 'setting', CASE WHEN n.id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.credit_ceiling IS DISTINCT FROM n.credit_ceiling THEN 'ceiling' END, CASE WHEN o.name IS DISTINCT FROM n.name THEN 'name' END, CASE WHEN o.plan IS DISTINCT FROM n.plan THEN 'plan' END, CASE WHEN o.time_zone IS DISTINCT FROM n.time_zone THEN 'time_zone' END]::text[], NULL) END
            FROM (SELECT * FROM told_new WHERE false AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.id = n.id
            WHERE o.id IS NULL OR n.id IS NULL OR o.credit_ceiling IS DISTINCT FROM n.credit_ceiling OR o.name IS DISTINCT FROM n.name OR o.plan IS DISTINCT FROM n.plan OR o.time_zone IS DISTINCT FROM n.time_zone;
            ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.id, o.id), pg_current_xact_id(), now, 'setting', CASE WHEN n.id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.credit_ceiling IS DISTINCT FROM n.credit_ceiling THEN 'ceiling' END, CASE WHEN o.name IS DISTINCT FROM n.name THEN 'name' END, CASE WHEN o.plan IS DISTINCT FROM n.plan THEN 'plan' END, CASE WHEN o.time_zone IS DISTINCT FROM n.time_zone THEN 'time_zone' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_new WHERE true AND true) n ON o.id = n.id
            WHERE o.id IS NULL OR n.id IS NULL OR o.credit_ceiling IS DISTINCT FROM n.credit_ceiling OR o.name IS DISTINCT FROM n.name OR o.plan IS DISTINCT FROM n.plan OR o.time_zone IS DISTINCT FROM n.time_zone;
            ELSE
            INSERT INTO workspace_changes (workspace_id, xid, at, kind, op, id, dataset, view_id, by_user, by_key, changed)
            SELECT coalesce(n.id, o.id), pg_current_xact_id(), now, 'setting', CASE WHEN n.id IS NULL THEN 'delete' ELSE 'upsert' END, coalesce(n.id, o.id), NULL, NULL, by_user, by_key,
                   CASE WHEN n.id IS NULL THEN '{}' ELSE array_remove(ARRAY[CASE WHEN o.credit_ceiling IS DISTINCT FROM n.credit_ceiling THEN 'ceiling' END, CASE WHEN o.name IS DISTINCT FROM n.name THEN 'name' END, CASE WHEN o.plan IS DISTINCT FROM n.plan THEN 'plan' END, CASE WHEN o.time_zone IS DISTINCT FROM n.time_zone THEN 'time_zone' END]::text[], NULL) END
            FROM (SELECT * FROM told_old WHERE true AND true) o FULL JOIN (SELECT * FROM told_old WHERE false AND true) n ON o.id = n.id
            WHERE o.id IS NULL OR n.id IS NULL OR o.credit_ceiling IS DISTINCT FROM n.credit_ceiling OR o.name IS DISTINCT FROM n.name OR o.plan IS DISTINCT FROM n.plan OR o.time_zone IS DISTINCT FROM n.time_zone;
            END IF;
            RETURN NULL;
        END$$;

ALTER FUNCTION public.tell_workspaces() OWNER TO atlas_system;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.api_key_workspaces (
    workspace_id uuid NOT NULL,
    key_id uuid NOT NULL,
    "position" integer NOT NULL
);

ALTER TABLE ONLY public.api_key_workspaces FORCE ROW LEVEL SECURITY;

ALTER TABLE public.api_key_workspaces OWNER TO atlas_system;

CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    restricted boolean NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    daily_credits bigint DEFAULT 0 NOT NULL,
    requests_per_second integer DEFAULT 0 NOT NULL,
    CONSTRAINT api_keys_daily_credits_check CHECK (((daily_credits >= 0) AND (daily_credits <= '1000000000000'::bigint))),
    CONSTRAINT api_keys_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
    CONSTRAINT api_keys_requests_per_second_check CHECK (((requests_per_second >= 0) AND (requests_per_second <= 1000000))),
    CONSTRAINT api_keys_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['data:read'::text, 'workspace:read'::text, 'workspace:write'::text]))),
    CONSTRAINT api_keys_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
);

ALTER TABLE ONLY public.api_keys FORCE ROW LEVEL SECURITY;

ALTER TABLE public.api_keys OWNER TO atlas_system;

CREATE TABLE public.book_additions (
    workspace_id uuid NOT NULL,
    span timestamp with time zone NOT NULL,
    added integer NOT NULL,
    CONSTRAINT book_additions_added_check CHECK ((added >= 0))
);

ALTER TABLE ONLY public.book_additions FORCE ROW LEVEL SECURITY;

ALTER TABLE public.book_additions OWNER TO atlas_system;

CREATE TABLE public.credit_notices (
    workspace_id uuid NOT NULL,
    percent integer NOT NULL,
    noticed_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.credit_notices FORCE ROW LEVEL SECURITY;

ALTER TABLE public.credit_notices OWNER TO atlas_system;

CREATE TABLE public.data_changes (
    dataset text NOT NULL,
    seq bigint NOT NULL,
    record_id uuid NOT NULL,
    op text NOT NULL,
    changed text[],
    into_id uuid,
    CONSTRAINT data_changes_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text, 'signals'::text]))),
    CONSTRAINT data_changes_op CHECK (((op = ANY (ARRAY['upsert'::text, 'delete'::text, 'merge'::text])) AND ((op = 'merge'::text) = (into_id IS NOT NULL))))
);

ALTER TABLE ONLY public.data_changes FORCE ROW LEVEL SECURITY;

ALTER TABLE public.data_changes OWNER TO atlas_system;

CREATE TABLE public.data_feed (
    only_row boolean DEFAULT true NOT NULL,
    forgotten bigint DEFAULT 0 NOT NULL,
    head bigint DEFAULT 0 NOT NULL,
    tail bigint DEFAULT 0 NOT NULL,
    latest uuid,
    publishing uuid,
    accepted uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid,
    writer text,
    origin text,
    generation text DEFAULT ''::text NOT NULL,
    arrival timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    arrived timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    CONSTRAINT data_feed_check CHECK (((forgotten <= head) AND (head <= tail))),
    CONSTRAINT data_feed_only_row_check CHECK (only_row)
);

ALTER TABLE ONLY public.data_feed FORCE ROW LEVEL SECURITY;

ALTER TABLE public.data_feed OWNER TO atlas_system;

CREATE TABLE public.data_generation_merges (
    generation text NOT NULL,
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    into_id uuid NOT NULL,
    CONSTRAINT data_generation_merges_check CHECK ((into_id <> record_id)),
    CONSTRAINT data_generation_merges_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text, 'signals'::text])))
);

ALTER TABLE ONLY public.data_generation_merges FORCE ROW LEVEL SECURITY;

ALTER TABLE public.data_generation_merges OWNER TO atlas_system;

CREATE TABLE public.data_merge_moves (
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    told_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    CONSTRAINT data_merge_moves_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text])))
);

ALTER TABLE ONLY public.data_merge_moves FORCE ROW LEVEL SECURITY;

ALTER TABLE public.data_merge_moves OWNER TO atlas_system;

CREATE TABLE public.data_merges (
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    into_id uuid NOT NULL,
    merged_at timestamp with time zone NOT NULL,
    CONSTRAINT data_merges_check CHECK ((into_id <> record_id)),
    CONSTRAINT data_merges_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text, 'signals'::text])))
);

ALTER TABLE ONLY public.data_merges FORCE ROW LEVEL SECURITY;

ALTER TABLE public.data_merges OWNER TO atlas_system;

CREATE TABLE public.data_publications (
    id uuid NOT NULL,
    head bigint NOT NULL,
    published_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.data_publications FORCE ROW LEVEL SECURITY;

ALTER TABLE public.data_publications OWNER TO atlas_system;

CREATE TABLE public.deleted_records (
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    noted_at timestamp with time zone NOT NULL,
    CONSTRAINT deleted_records_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text, 'signals'::text])))
);

ALTER TABLE ONLY public.deleted_records FORCE ROW LEVEL SECURITY;

ALTER TABLE public.deleted_records OWNER TO atlas_system;

CREATE TABLE public.dismissed_signals (
    workspace_id uuid NOT NULL,
    signal_id uuid NOT NULL,
    signal_type text NOT NULL,
    dismissed_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.dismissed_signals FORCE ROW LEVEL SECURITY;

ALTER TABLE public.dismissed_signals OWNER TO atlas_system;

CREATE TABLE public.favorites (
    workspace_id uuid NOT NULL,
    user_id uuid NOT NULL,
    view_id uuid NOT NULL,
    "position" integer NOT NULL,
    CONSTRAINT favorites_position_check CHECK (("position" >= 0))
);

ALTER TABLE ONLY public.favorites FORCE ROW LEVEL SECURITY;

ALTER TABLE public.favorites OWNER TO atlas_system;

CREATE TABLE public.goose_db_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.goose_db_version OWNER TO atlas_system;

ALTER TABLE public.goose_db_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.goose_db_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.held_generations (
    dataset text NOT NULL,
    generation text NOT NULL,
    serving boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    index_uuid text,
    marked boolean DEFAULT true NOT NULL,
    CONSTRAINT held_generations_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text])))
);

ALTER TABLE ONLY public.held_generations FORCE ROW LEVEL SECURITY;

ALTER TABLE public.held_generations OWNER TO atlas_system;

CREATE TABLE public.held_records (
    workspace_id uuid NOT NULL,
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    version bigint NOT NULL,
    projected_version bigint DEFAULT 0 NOT NULL,
    pending_since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    own_change boolean DEFAULT true NOT NULL,
    present boolean DEFAULT true NOT NULL,
    projected_at timestamp with time zone,
    stub_since timestamp with time zone,
    digest bytea,
    attempted_version bigint DEFAULT 0,
    lost_version bigint,
    view_deleted_version bigint,
    refusal text,
    CONSTRAINT held_records_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text])))
);

ALTER TABLE ONLY public.held_records FORCE ROW LEVEL SECURITY;

ALTER TABLE public.held_records OWNER TO atlas_system;

CREATE TABLE public.held_sources (
    dataset text NOT NULL,
    generation text NOT NULL,
    CONSTRAINT held_sources_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text])))
);

ALTER TABLE ONLY public.held_sources FORCE ROW LEVEL SECURITY;

ALTER TABLE public.held_sources OWNER TO atlas_system;

CREATE SEQUENCE public.held_version
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE public.held_version OWNER TO atlas_system;

CREATE TABLE public.invitations (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_folded text NOT NULL,
    role text NOT NULL,
    seed bytea NOT NULL,
    secret_hash bytea NOT NULL,
    invited_by uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    accepted_by uuid,
    revoked_at timestamp with time zone,
    sent_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    delivered_at timestamp with time zone,
    letter_at timestamp with time zone,
    CONSTRAINT invitations_check CHECK (((accepted_at IS NULL) OR (revoked_at IS NULL))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text]))),
    CONSTRAINT invitations_secret_hash_check CHECK ((octet_length(secret_hash) = 32)),
    CONSTRAINT invitations_seed_check CHECK ((octet_length(seed) = 32))
);

ALTER TABLE ONLY public.invitations FORCE ROW LEVEL SECURITY;

ALTER TABLE public.invitations OWNER TO atlas_system;

CREATE TABLE public.jobs (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    lane uuid NOT NULL,
    order_key text DEFAULT ''::text NOT NULL,
    payload jsonb NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    run_at timestamp with time zone NOT NULL,
    lease uuid,
    status integer,
    error text,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT jobs_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT jobs_check CHECK (((state = 'pending'::text) = (ended_at IS NULL))),
    CONSTRAINT jobs_check1 CHECK (((state = 'pending'::text) OR (lease IS NULL))),
    CONSTRAINT jobs_kind_check CHECK (((char_length(kind) >= 1) AND (char_length(kind) <= 50))),
    CONSTRAINT jobs_order_key_check CHECK ((char_length(order_key) <= 200)),
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'done'::text, 'failed'::text])))
);

ALTER TABLE ONLY public.jobs FORCE ROW LEVEL SECURITY;

ALTER TABLE public.jobs OWNER TO atlas_system;

ALTER TABLE public.jobs ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.jobs_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.kept_answers (
    workspace_id uuid NOT NULL,
    key bytea NOT NULL,
    part integer NOT NULL,
    request bytea NOT NULL,
    answer bytea NOT NULL,
    kept_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    bytes integer DEFAULT 0 NOT NULL,
    CONSTRAINT kept_answers_key_check CHECK ((octet_length(key) = 16)),
    CONSTRAINT kept_answers_part_check CHECK (((part >= 0) AND (part <= 100))),
    CONSTRAINT kept_answers_request_check CHECK ((octet_length(request) = 16))
);

ALTER TABLE ONLY public.kept_answers FORCE ROW LEVEL SECURITY;

ALTER TABLE public.kept_answers OWNER TO atlas_system;

CREATE TABLE public.leases (
    name text NOT NULL,
    holder text NOT NULL,
    deadline timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.leases FORCE ROW LEVEL SECURITY;

ALTER TABLE public.leases OWNER TO atlas_system;

CREATE TABLE public.members (
    workspace_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
);

ALTER TABLE ONLY public.members FORCE ROW LEVEL SECURITY;

ALTER TABLE public.members OWNER TO atlas_system;

CREATE TABLE public.merged_overlays (
    workspace_id uuid NOT NULL,
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    into_id uuid NOT NULL,
    merged_at timestamp with time zone NOT NULL,
    "overlay" jsonb NOT NULL,
    CONSTRAINT merged_overlays_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text])))
);

ALTER TABLE ONLY public.merged_overlays FORCE ROW LEVEL SECURITY;

ALTER TABLE public.merged_overlays OWNER TO atlas_system;

CREATE TABLE public.overlays (
    workspace_id uuid NOT NULL,
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    icp_tier text,
    workspace_status text,
    notes text,
    tags text[] NOT NULL,
    atlas_score integer,
    atlas_trend text,
    scored_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT overlays_atlas_score_check CHECK (((atlas_score >= 0) AND (atlas_score <= 100))),
    CONSTRAINT overlays_atlas_trend_check CHECK ((atlas_trend = ANY (ARRAY['rising'::text, 'steady'::text, 'falling'::text]))),
    CONSTRAINT overlays_check CHECK (((dataset = 'accounts'::text) = ((atlas_score IS NOT NULL) AND (atlas_trend IS NOT NULL) AND (scored_at IS NOT NULL)))),
    CONSTRAINT overlays_check1 CHECK (((dataset = 'accounts'::text) OR (icp_tier IS NULL))),
    CONSTRAINT overlays_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text]))),
    CONSTRAINT overlays_icp_tier_check CHECK ((icp_tier = ANY (ARRAY['tier_1'::text, 'tier_2'::text, 'tier_3'::text, 'disqualified'::text]))),
    CONSTRAINT overlays_notes_check CHECK ((char_length(notes) <= 10000)),
    CONSTRAINT overlays_tags_check CHECK ((cardinality(tags) <= 50)),
    CONSTRAINT overlays_workspace_status_check CHECK (((char_length(workspace_status) >= 1) AND (char_length(workspace_status) <= 100)))
);

ALTER TABLE ONLY public.overlays FORCE ROW LEVEL SECURITY;

ALTER TABLE public.overlays OWNER TO atlas_system;

CREATE TABLE public.projectors (
    workspace_id uuid NOT NULL,
    holder text,
    deadline timestamp with time zone,
    projected_at timestamp with time zone
);

ALTER TABLE ONLY public.projectors FORCE ROW LEVEL SECURITY;

ALTER TABLE public.projectors OWNER TO atlas_system;

CREATE TABLE public.signal_digests (
    workspace_id uuid NOT NULL,
    frequency text NOT NULL,
    through timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT signal_digests_frequency_check CHECK ((frequency = ANY (ARRAY['instant'::text, 'daily'::text, 'weekly'::text])))
);

ALTER TABLE ONLY public.signal_digests FORCE ROW LEVEL SECURITY;

ALTER TABLE public.signal_digests OWNER TO atlas_system;

CREATE TABLE public.signal_subscriptions (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    signal_type text NOT NULL,
    channels text[] NOT NULL,
    frequency text NOT NULL,
    queue_started_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    arrived_after timestamp with time zone,
    CONSTRAINT signal_subscriptions_channels_check CHECK (((cardinality(channels) > 0) AND (channels <@ ARRAY['in_app'::text, 'email'::text]))),
    CONSTRAINT signal_subscriptions_frequency_check CHECK ((frequency = ANY (ARRAY['instant'::text, 'daily'::text, 'weekly'::text])))
);

ALTER TABLE ONLY public.signal_subscriptions FORCE ROW LEVEL SECURITY;

ALTER TABLE public.signal_subscriptions OWNER TO atlas_system;

CREATE TABLE public.skills (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    scope text NOT NULL,
    owner_id uuid,
    slug text NOT NULL,
    status text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    content text NOT NULL,
    name_folded text NOT NULL,
    description_folded text NOT NULL,
    created_by uuid,
    revision integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT skills_check CHECK (((scope = 'personal'::text) = (owner_id IS NOT NULL))),
    CONSTRAINT skills_content_check CHECK (((char_length(content) >= 1) AND (char_length(content) <= 100000))),
    CONSTRAINT skills_description_check CHECK (((char_length(description) >= 1) AND (char_length(description) <= 500))),
    CONSTRAINT skills_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
    CONSTRAINT skills_revision_check CHECK ((revision >= 1)),
    CONSTRAINT skills_scope_check CHECK ((scope = ANY (ARRAY['personal'::text, 'workspace'::text]))),
    CONSTRAINT skills_slug_check CHECK (((char_length(slug) >= 1) AND (char_length(slug) <= 120))),
    CONSTRAINT skills_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text])))
);

ALTER TABLE ONLY public.skills FORCE ROW LEVEL SECURITY;

ALTER TABLE public.skills OWNER TO atlas_system;

CREATE TABLE public.unsubscribed_users (
    workspace_id uuid NOT NULL,
    user_id uuid NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.unsubscribed_users FORCE ROW LEVEL SECURITY;

ALTER TABLE public.unsubscribed_users OWNER TO atlas_system;

CREATE TABLE public.users (
    id uuid NOT NULL,
    email text NOT NULL,
    email_folded text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    claimable boolean DEFAULT false NOT NULL,
    CONSTRAINT users_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120)))
);

ALTER TABLE ONLY public.users FORCE ROW LEVEL SECURITY;

ALTER TABLE public.users OWNER TO atlas_system;

CREATE TABLE public.view_records (
    workspace_id uuid NOT NULL,
    view_id uuid NOT NULL,
    dataset text NOT NULL,
    record_id uuid NOT NULL,
    added_at timestamp with time zone NOT NULL,
    CONSTRAINT view_records_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text])))
);

ALTER TABLE ONLY public.view_records FORCE ROW LEVEL SECURITY;

ALTER TABLE public.view_records OWNER TO atlas_system;

CREATE TABLE public.views (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    dataset text NOT NULL,
    view_type text NOT NULL,
    name text NOT NULL,
    name_folded text NOT NULL COLLATE pg_catalog."C",
    definition jsonb NOT NULL,
    presentation jsonb NOT NULL,
    revision integer NOT NULL,
    members integer DEFAULT 0 NOT NULL,
    created_by uuid,
    updated_by uuid,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT views_check CHECK (((view_type = 'static'::text) OR (members = 0))),
    CONSTRAINT views_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text]))),
    CONSTRAINT views_members_check CHECK (((members >= 0) AND (members <= 100000))),
    CONSTRAINT views_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
    CONSTRAINT views_revision_check CHECK ((revision >= 1)),
    CONSTRAINT views_view_type_check CHECK ((view_type = ANY (ARRAY['dynamic'::text, 'static'::text])))
);

ALTER TABLE ONLY public.views FORCE ROW LEVEL SECURITY;

ALTER TABLE public.views OWNER TO atlas_system;

CREATE TABLE public.webhook_positions (
    source text NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    generation text DEFAULT ''::text NOT NULL,
    at timestamp with time zone
);

ALTER TABLE ONLY public.webhook_positions FORCE ROW LEVEL SECURITY;

ALTER TABLE public.webhook_positions OWNER TO atlas_system;

CREATE TABLE public.webhooks (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    enabled boolean NOT NULL,
    secret bytea NOT NULL,
    old_secret bytea,
    old_until timestamp with time zone,
    failing_since timestamp with time zone,
    signals_after timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT webhooks_check CHECK (((old_secret IS NULL) = (old_until IS NULL))),
    CONSTRAINT webhooks_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 20))),
    CONSTRAINT webhooks_url_check CHECK (((char_length(url) >= 1) AND (char_length(url) <= 2000)))
);

ALTER TABLE ONLY public.webhooks FORCE ROW LEVEL SECURITY;

ALTER TABLE public.webhooks OWNER TO atlas_system;

CREATE SEQUENCE public.workspace_changes_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE public.workspace_changes_seq OWNER TO atlas_system;

CREATE TABLE public.workspace_changes (
    workspace_id uuid NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    seq bigint DEFAULT nextval('public.workspace_changes_seq'::regclass) NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    op text NOT NULL,
    id uuid NOT NULL,
    dataset text,
    view_id uuid,
    by_user uuid,
    by_key uuid,
    changed text[] NOT NULL,
    CONSTRAINT workspace_changes_check CHECK (((by_user IS NULL) OR (by_key IS NULL))),
    CONSTRAINT workspace_changes_dataset_check CHECK ((dataset = ANY (ARRAY['accounts'::text, 'contacts'::text, 'projects'::text]))),
    CONSTRAINT workspace_changes_op_check CHECK ((op = ANY (ARRAY['upsert'::text, 'delete'::text])))
);

ALTER TABLE ONLY public.workspace_changes FORCE ROW LEVEL SECURITY;

ALTER TABLE public.workspace_changes OWNER TO atlas_system;

CREATE TABLE public.workspaces (
    id uuid NOT NULL,
    name text NOT NULL,
    plan text NOT NULL,
    credit_ceiling bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    CONSTRAINT workspaces_credit_ceiling_check CHECK ((credit_ceiling >= 1)),
    CONSTRAINT workspaces_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
    CONSTRAINT workspaces_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'pro'::text]))),
    CONSTRAINT workspaces_time_zone_check CHECK (((char_length(time_zone) >= 1) AND (char_length(time_zone) <= 100)))
);

ALTER TABLE ONLY public.workspaces FORCE ROW LEVEL SECURITY;

ALTER TABLE public.workspaces OWNER TO atlas_system;

ALTER TABLE ONLY public.api_key_workspaces
    ADD CONSTRAINT api_key_workspaces_key_id_position_key UNIQUE (key_id, "position");

ALTER TABLE ONLY public.api_key_workspaces
    ADD CONSTRAINT api_key_workspaces_pkey PRIMARY KEY (workspace_id, key_id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.book_additions
    ADD CONSTRAINT book_additions_pkey PRIMARY KEY (workspace_id, span);

ALTER TABLE ONLY public.credit_notices
    ADD CONSTRAINT credit_notices_pkey PRIMARY KEY (workspace_id, percent);

ALTER TABLE ONLY public.data_changes
    ADD CONSTRAINT data_changes_pkey PRIMARY KEY (dataset, seq);

ALTER TABLE ONLY public.data_feed
    ADD CONSTRAINT data_feed_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.data_generation_merges
    ADD CONSTRAINT data_generation_merges_pkey PRIMARY KEY (generation, dataset, record_id);

ALTER TABLE ONLY public.data_merge_moves
    ADD CONSTRAINT data_merge_moves_pkey PRIMARY KEY (dataset, record_id);

ALTER TABLE ONLY public.data_merges
    ADD CONSTRAINT data_merges_pkey PRIMARY KEY (dataset, record_id);

ALTER TABLE ONLY public.data_publications
    ADD CONSTRAINT data_publications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.deleted_records
    ADD CONSTRAINT deleted_records_pkey PRIMARY KEY (dataset, record_id);

ALTER TABLE ONLY public.dismissed_signals
    ADD CONSTRAINT dismissed_signals_pkey PRIMARY KEY (workspace_id, signal_id);

ALTER TABLE ONLY public.favorites
    ADD CONSTRAINT favorites_pkey PRIMARY KEY (workspace_id, user_id, view_id);

ALTER TABLE ONLY public.goose_db_version
    ADD CONSTRAINT goose_db_version_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.held_generations
    ADD CONSTRAINT held_generations_pkey PRIMARY KEY (dataset, generation);

ALTER TABLE ONLY public.held_records
    ADD CONSTRAINT held_records_pkey PRIMARY KEY (workspace_id, dataset, record_id);

ALTER TABLE ONLY public.held_sources
    ADD CONSTRAINT held_sources_pkey PRIMARY KEY (dataset);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (workspace_id, id);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (workspace_id, id);

ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_pkey PRIMARY KEY (workspace_id, key, part);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (workspace_id, user_id);

ALTER TABLE ONLY public.merged_overlays
    ADD CONSTRAINT merged_overlays_pkey PRIMARY KEY (workspace_id, dataset, record_id, merged_at);

ALTER TABLE ONLY public.overlays
    ADD CONSTRAINT overlays_pkey PRIMARY KEY (workspace_id, dataset, record_id);

ALTER TABLE ONLY public.projectors
    ADD CONSTRAINT projectors_pkey PRIMARY KEY (workspace_id);

ALTER TABLE ONLY public.signal_digests
    ADD CONSTRAINT signal_digests_pkey PRIMARY KEY (workspace_id, frequency);

ALTER TABLE ONLY public.signal_subscriptions
    ADD CONSTRAINT signal_subscriptions_pkey PRIMARY KEY (workspace_id, id);

ALTER TABLE ONLY public.signal_subscriptions
    ADD CONSTRAINT signal_subscriptions_type UNIQUE (workspace_id, signal_type);

ALTER TABLE ONLY public.skills
    ADD CONSTRAINT skills_pkey PRIMARY KEY (workspace_id, id);

ALTER TABLE ONLY public.unsubscribed_users
    ADD CONSTRAINT unsubscribed_users_pkey PRIMARY KEY (workspace_id, user_id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.view_records
    ADD CONSTRAINT view_records_pkey PRIMARY KEY (workspace_id, view_id, record_id);

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_name UNIQUE (workspace_id, dataset, name_folded);

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_pkey PRIMARY KEY (workspace_id, id);

ALTER TABLE ONLY public.webhook_positions
    ADD CONSTRAINT webhook_positions_pkey PRIMARY KEY (source);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (workspace_id, id);

ALTER TABLE ONLY public.workspace_changes
    ADD CONSTRAINT workspace_changes_pkey PRIMARY KEY (workspace_id, xid, seq) INCLUDE (at);

ALTER TABLE ONLY public.workspaces
    ADD CONSTRAINT workspaces_pkey PRIMARY KEY (id);

CREATE INDEX data_changes_ended ON public.data_changes USING btree (dataset, record_id, seq) WHERE (op <> 'upsert'::text);

CREATE INDEX data_changes_merges ON public.data_changes USING btree (dataset, seq) WHERE (op = 'merge'::text);

CREATE INDEX data_changes_record ON public.data_changes USING btree (dataset, record_id, seq) INCLUDE (op);

CREATE INDEX data_merge_moves_due ON public.data_merge_moves USING btree (due_at);

CREATE INDEX data_publications_head ON public.data_publications USING btree (head);

CREATE INDEX deleted_records_noted ON public.deleted_records USING btree (noted_at);

CREATE INDEX dismissed_signals_signal ON public.dismissed_signals USING btree (signal_id);

CREATE INDEX favorites_of_view ON public.favorites USING btree (workspace_id, view_id);

CREATE UNIQUE INDEX held_generations_serving ON public.held_generations USING btree (dataset) WHERE serving;

CREATE INDEX held_records_absent ON public.held_records USING btree (workspace_id, dataset, record_id) WHERE (NOT present);

CREATE INDEX held_records_lost ON public.held_records USING btree (dataset, workspace_id) WHERE (lost_version IS NOT NULL);

CREATE INDEX held_records_own ON public.held_records USING btree (workspace_id, dataset) WHERE (own_change AND (version > projected_version));

CREATE INDEX held_records_pending ON public.held_records USING btree (workspace_id, version) WHERE (version > projected_version);

CREATE INDEX held_records_record ON public.held_records USING btree (dataset, record_id);

CREATE INDEX held_records_refused ON public.held_records USING btree (workspace_id) WHERE (refusal IS NOT NULL);

CREATE INDEX held_records_stubs ON public.held_records USING btree (stub_since) WHERE (stub_since IS NOT NULL);

CREATE INDEX held_records_view_deleted ON public.held_records USING btree (workspace_id, dataset) WHERE (view_deleted_version IS NOT NULL);

CREATE INDEX invitations_accepted_by ON public.invitations USING btree (accepted_by) WHERE (accepted_by IS NOT NULL);

CREATE UNIQUE INDEX invitations_id ON public.invitations USING btree (id);

CREATE INDEX invitations_invited_by ON public.invitations USING btree (invited_by) WHERE (invited_by IS NOT NULL);

CREATE INDEX invitations_letters ON public.invitations USING btree (workspace_id, letter_at) WHERE (letter_at IS NOT NULL);

CREATE INDEX invitations_letters_to ON public.invitations USING btree (email_folded, workspace_id, letter_at) WHERE (letter_at IS NOT NULL);

CREATE UNIQUE INDEX invitations_open ON public.invitations USING btree (workspace_id, email_folded) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL));

CREATE INDEX jobs_due ON public.jobs USING btree (kind, lane, run_at, seq) WHERE (state = 'pending'::text);

CREATE INDEX jobs_ended ON public.jobs USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX jobs_lane ON public.jobs USING btree (kind, lane, created_at, seq);

CREATE INDEX jobs_order ON public.jobs USING btree (lane, order_key, seq) WHERE ((state = 'pending'::text) AND (order_key <> ''::text));

CREATE INDEX kept_answers_size ON public.kept_answers USING btree (workspace_id, kept_at) INCLUDE (bytes);

CREATE INDEX members_user_id ON public.members USING btree (user_id);

CREATE INDEX overlays_scored ON public.overlays USING btree (scored_at) WHERE (scored_at IS NOT NULL);

CREATE INDEX skills_created_by ON public.skills USING btree (created_by) WHERE (created_by IS NOT NULL);

CREATE INDEX skills_owner_id ON public.skills USING btree (owner_id) WHERE (owner_id IS NOT NULL);

CREATE UNIQUE INDEX skills_personal_slug ON public.skills USING btree (workspace_id, owner_id, slug) WHERE (scope = 'personal'::text);

CREATE UNIQUE INDEX skills_workspace_slug ON public.skills USING btree (workspace_id, slug) WHERE (scope = 'workspace'::text);

CREATE INDEX unsubscribed_users_user_id ON public.unsubscribed_users USING btree (user_id);

CREATE INDEX users_email_folded ON public.users USING btree (email_folded);

CREATE INDEX view_records_record ON public.view_records USING btree (workspace_id, dataset, record_id) INCLUDE (view_id);

CREATE INDEX views_created_by ON public.views USING btree (created_by) WHERE (created_by IS NOT NULL);

CREATE INDEX views_updated_by ON public.views USING btree (updated_by) WHERE (updated_by IS NOT NULL);

CREATE INDEX workspace_changes_id ON public.workspace_changes USING btree (workspace_id, id, xid, seq);

CREATE TRIGGER queue_invitation BEFORE INSERT OR UPDATE OF next_attempt_at ON public.invitations FOR EACH ROW WHEN ((new.next_attempt_at IS NOT NULL)) EXECUTE FUNCTION public.queue_invitation();

CREATE TRIGGER tell_delete AFTER DELETE ON public.invitations REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_invitations();

CREATE TRIGGER tell_delete AFTER DELETE ON public.members REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_members();

CREATE TRIGGER tell_delete AFTER DELETE ON public.overlays REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_overlays();

CREATE TRIGGER tell_delete AFTER DELETE ON public.signal_subscriptions REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_signal_subscriptions();

CREATE TRIGGER tell_delete AFTER DELETE ON public.view_records REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_view_records();

CREATE TRIGGER tell_delete AFTER DELETE ON public.views REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_views();

CREATE TRIGGER tell_delete AFTER DELETE ON public.workspaces REFERENCING OLD TABLE AS told_old FOR EACH STATEMENT EXECUTE FUNCTION public.tell_workspaces();

CREATE TRIGGER tell_insert AFTER INSERT ON public.invitations REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_invitations();

CREATE TRIGGER tell_insert AFTER INSERT ON public.members REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_members();

CREATE TRIGGER tell_insert AFTER INSERT ON public.overlays REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_overlays();

CREATE TRIGGER tell_insert AFTER INSERT ON public.signal_subscriptions REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_signal_subscriptions();

CREATE TRIGGER tell_insert AFTER INSERT ON public.view_records REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_view_records();

CREATE TRIGGER tell_insert AFTER INSERT ON public.views REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_views();

CREATE TRIGGER tell_insert AFTER INSERT ON public.workspaces REFERENCING NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_workspaces();

CREATE TRIGGER tell_update AFTER UPDATE ON public.invitations REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_invitations();

CREATE TRIGGER tell_update AFTER UPDATE ON public.members REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_members();

CREATE TRIGGER tell_update AFTER UPDATE ON public.overlays REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_overlays();

CREATE TRIGGER tell_update AFTER UPDATE ON public.signal_subscriptions REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_signal_subscriptions();

CREATE TRIGGER tell_update AFTER UPDATE ON public.users REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_users();

CREATE TRIGGER tell_update AFTER UPDATE ON public.view_records REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_view_records();

CREATE TRIGGER tell_update AFTER UPDATE ON public.views REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_views();

CREATE TRIGGER tell_update AFTER UPDATE ON public.workspaces REFERENCING OLD TABLE AS told_old NEW TABLE AS told_new FOR EACH STATEMENT EXECUTE FUNCTION public.tell_workspaces();

ALTER TABLE ONLY public.api_key_workspaces
    ADD CONSTRAINT api_key_workspaces_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.api_key_workspaces
    ADD CONSTRAINT api_key_workspaces_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.book_additions
    ADD CONSTRAINT book_additions_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.credit_notices
    ADD CONSTRAINT credit_notices_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.dismissed_signals
    ADD CONSTRAINT dismissed_signals_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.favorites
    ADD CONSTRAINT favorites_member FOREIGN KEY (workspace_id, user_id) REFERENCES public.members(workspace_id, user_id) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY public.favorites
    ADD CONSTRAINT favorites_view FOREIGN KEY (workspace_id, view_id) REFERENCES public.views(workspace_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.held_records
    ADD CONSTRAINT held_records_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_accepted_by_fkey FOREIGN KEY (accepted_by) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE SET NULL;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE SET NULL;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user FOREIGN KEY (user_id) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.merged_overlays
    ADD CONSTRAINT merged_overlays_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.overlays
    ADD CONSTRAINT overlays_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.projectors
    ADD CONSTRAINT projectors_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.signal_digests
    ADD CONSTRAINT signal_digests_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.signal_subscriptions
    ADD CONSTRAINT signal_subscriptions_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.skills
    ADD CONSTRAINT skills_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE SET NULL;

ALTER TABLE ONLY public.skills
    ADD CONSTRAINT skills_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY public.skills
    ADD CONSTRAINT skills_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unsubscribed_users
    ADD CONSTRAINT unsubscribed_users_user FOREIGN KEY (user_id) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY public.unsubscribed_users
    ADD CONSTRAINT unsubscribed_users_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.view_records
    ADD CONSTRAINT view_records_view FOREIGN KEY (workspace_id, view_id) REFERENCES public.views(workspace_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE SET NULL;

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_updated_by_fkey FOREIGN KEY (updated_by) REFERENCES public.users(id) ON UPDATE CASCADE ON DELETE SET NULL;

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_workspace FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id) ON DELETE CASCADE;

ALTER TABLE public.api_key_workspaces ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.api_keys ENABLE ROW LEVEL SECURITY;

CREATE POLICY app_members ON public.users FOR SELECT TO atlas_app USING ((EXISTS ( SELECT
   FROM public.members m
  WHERE (m.user_id = users.id))));

CREATE POLICY app_own ON public.book_additions TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.credit_notices TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.dismissed_signals TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.favorites TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.held_records TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.invitations TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.jobs TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.kept_answers TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.members TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.merged_overlays TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.overlays TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.projectors TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.signal_subscriptions TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.skills TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.view_records TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.views TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.webhooks TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid)) WITH CHECK ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_own ON public.workspaces FOR SELECT TO atlas_app USING ((id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

CREATE POLICY app_read ON public.held_generations FOR SELECT TO atlas_app USING (true);

CREATE POLICY app_reads ON public.data_changes FOR SELECT TO atlas_app USING (true);

CREATE POLICY app_reads ON public.data_feed FOR SELECT TO atlas_app USING (true);

CREATE POLICY app_reads ON public.data_merges FOR SELECT TO atlas_app USING (true);

CREATE POLICY app_reads ON public.data_publications FOR SELECT TO atlas_app USING (true);

CREATE POLICY app_reads ON public.workspace_changes FOR SELECT TO atlas_app USING ((workspace_id = (NULLIF(current_setting('atlas.workspace_id'::text, true), ''::text))::uuid));

ALTER TABLE public.book_additions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.credit_notices ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_changes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_feed ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_generation_merges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_merge_moves ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_merges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.data_publications ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.deleted_records ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.dismissed_signals ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.favorites ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.held_generations ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.held_records ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.held_sources ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.invitations ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.jobs ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.kept_answers ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.leases ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.merged_overlays ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.overlays ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.projectors ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.signal_digests ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.signal_subscriptions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.skills ENABLE ROW LEVEL SECURITY;

CREATE POLICY system_all ON public.api_key_workspaces TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.api_keys TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.book_additions TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.credit_notices TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.data_changes TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.data_feed TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.data_generation_merges TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.data_merge_moves TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.data_merges TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.data_publications TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.deleted_records TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.dismissed_signals TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.favorites TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.held_generations TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.held_records TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.held_sources TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.invitations TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.jobs TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.kept_answers TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.leases TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.members TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.merged_overlays TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.overlays TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.projectors TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.signal_digests TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.signal_subscriptions TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.skills TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.unsubscribed_users TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.users TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.view_records TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.views TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.webhook_positions TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.webhooks TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.workspace_changes TO atlas_system USING (true) WITH CHECK (true);

CREATE POLICY system_all ON public.workspaces TO atlas_system USING (true) WITH CHECK (true);

ALTER TABLE public.unsubscribed_users ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.view_records ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.views ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.webhook_positions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.webhooks ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.workspace_changes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.workspaces ENABLE ROW LEVEL SECURITY;

GRANT ALL ON SCHEMA public TO atlas_system;
GRANT USAGE ON SCHEMA public TO atlas_app;

REVOKE ALL ON FUNCTION public.follow_changes_of(source text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_invitations() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_members() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_overlays() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_signal_subscriptions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_users() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_view_records() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_views() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tell_workspaces() FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.book_additions TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.credit_notices TO atlas_app;

GRANT SELECT ON TABLE public.data_changes TO atlas_app;

GRANT SELECT ON TABLE public.data_feed TO atlas_app;

GRANT SELECT ON TABLE public.data_merges TO atlas_app;

GRANT SELECT ON TABLE public.data_publications TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.dismissed_signals TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.favorites TO atlas_app;

GRANT SELECT ON TABLE public.goose_db_version TO atlas_app;

GRANT SELECT ON TABLE public.held_generations TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.held_records TO atlas_app;

GRANT USAGE ON SEQUENCE public.held_version TO atlas_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.invitations TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.jobs TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.kept_answers TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.members TO atlas_app;

GRANT SELECT,INSERT ON TABLE public.merged_overlays TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.overlays TO atlas_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.projectors TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.signal_subscriptions TO atlas_app;

GRANT SELECT,INSERT ON TABLE public.skills TO atlas_app;

GRANT SELECT ON TABLE public.users TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.view_records TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.views TO atlas_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.webhooks TO atlas_app;

GRANT SELECT ON TABLE public.workspace_changes TO atlas_app;

GRANT SELECT ON TABLE public.workspaces TO atlas_app;

INSERT INTO public.goose_db_version (version_id, is_applied)
    SELECT n, true FROM generate_series(0, 22) n WHERE n <> 16;

-- The audit log: a workspace can be deleted, the role that serves requests makes up no event,
-- and Views of webhooks, invitations, boards and policies of keys are watched.
--
-- Without a transaction, so that the tables are locked for a moment only. Every statement can
-- be run again where one before was interrupted.

-- +goose NO TRANSACTION
-- +goose Up
-- The digest that stands for a value in an event; null for none, and of a workspace that is
-- being deleted.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_value(of_workspace uuid, v text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    salt   bytea := uuid_send(gen_random_uuid());
    digest bytea := sha256(salt || convert_to(v, 'UTF8'));
BEGIN
    IF v IS NULL OR of_workspace IS NOT NULL AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = of_workspace) THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit_values (digest, workspace_id, salt, value) VALUES (digest, of_workspace, salt, v);
    RETURN 'sha256:' || encode(digest, 'hex');
END
$$;
-- +goose StatementEnd

-- Writes an event. The settings say who acts: atlas.actor as in triggers of changes;
-- atlas.command the command of an operator, atlas.account who ran it; atlas.origin the network
-- of the client and the id of the request. A workspace that is being deleted has no log. The
-- role that serves requests is no operator, and the id that a client gave its request may say
-- who somebody is.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_add(of_workspace uuid, action text, object_kind text, object_id uuid, fields text[], details jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    actor   text := current_setting('atlas.actor', true);
    command text := NULLIF(current_setting('atlas.command', true), '');
    origin  text := current_setting('atlas.origin', true);
    kind    text := CASE WHEN actor LIKE 'user:%' THEN 'user' WHEN actor LIKE 'key:%' THEN 'key'
                         WHEN command IS NOT NULL AND pg_has_role(session_user, 'atlas_system', 'MEMBER') THEN 'operator' ELSE 'service' END;
    request text := NULLIF(left(substr(origin, strpos(origin, ' ') + 1), 200), '');
BEGIN
    IF of_workspace IS NOT NULL AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = of_workspace) THEN
        RETURN;
    END IF;
    IF kind = 'operator' THEN
        details := details || jsonb_strip_nulls(jsonb_build_object('command', command, 'account',
            audit_value(of_workspace, NULLIF(current_setting('atlas.account', true), ''))));
    END IF;
    IF request !~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' THEN
        details := details || jsonb_build_object('request', audit_value(of_workspace, request));
        request := NULL;
    END IF;
    INSERT INTO audit_events (workspace_id, action, principal_kind, principal_id, network, request_id, object_kind, object_id, fields, details)
    VALUES (of_workspace, action, kind,
            CASE kind WHEN 'user' THEN substr(actor, 6)::uuid WHEN 'key' THEN substr(actor, 5)::uuid END,
            NULLIF(NULLIF(split_part(origin, ' ', 1), ''), '-')::cidr, request,
            object_kind, object_id, coalesce(fields, '{}'), jsonb_strip_nulls(details));
END
$$;
-- +goose StatementEnd

-- audit_add for the workspace of the transaction, of what changes no row that a trigger looks
-- at. The role that serves requests may call it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_own(action text, object_kind text, object_id uuid, details jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    here uuid := NULLIF(current_setting('atlas.workspace_id', true), '')::uuid;
BEGIN
    IF (action IN ('webhook.tested', 'webhook.replayed') AND object_kind = 'webhook') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = format('the event %s of %s is written by its change alone', action, object_kind);
    END IF;
    IF here IS NOT NULL THEN
        PERFORM audit_add(here, action, object_kind, object_id, '{}', details);
    END IF;
END
$$;
-- +goose StatementEnd

-- Writes the event of a changed row, in its transaction, whatever program changes it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION audit_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    o       jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    n       jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    r       jsonb := coalesce(n, o);
    here    uuid  := CASE WHEN TG_TABLE_NAME <> 'users' THEN coalesce(r->>'workspace_id', r->>'id')::uuid END;
    object  uuid  := r->>'id';
    kind    text  := TG_ARGV[0];
    verb    text  := CASE TG_OP WHEN 'INSERT' THEN 'created' WHEN 'UPDATE' THEN 'changed' ELSE 'deleted' END;
    -- Columns that are no fields of the object.
    hidden  text[] := ARRAY['workspace_id', 'id', 'created_at', 'updated_at', 'created_by', 'updated_by', 'name_folded', 'email_folded', 'description_folded',
                            'revision', 'members', 'failing_since', 'failures', 'signals_after', 'old_secret', 'old_hash', 'form'];
    renamed jsonb := '{"secret_hash": "secret", "old_until": "secret", "credit_ceiling": "ceiling"}';
    fields  text[] := '{}';
    details jsonb := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        SELECT coalesce(array_agg(DISTINCT coalesce(renamed->>k, k) ORDER BY coalesce(renamed->>k, k)), '{}') INTO fields
        FROM jsonb_object_keys(n) k WHERE k <> ALL (hidden) AND n->k IS DISTINCT FROM o->k;
    END IF;
    CASE TG_TABLE_NAME
    WHEN 'members' THEN
        object := r->>'user_id';
        verb := CASE TG_OP WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE CASE WHEN n->>'user_id' <> o->>'user_id' THEN 'claimed' ELSE 'role_changed' END END;
        details := jsonb_build_object('role', r->>'role', 'role_before', CASE WHEN TG_OP = 'UPDATE' THEN o->>'role' END,
                                      'user_before', CASE WHEN verb = 'claimed' THEN o->>'user_id' END);
        IF verb = 'added' THEN
            details := details || jsonb_build_object('email', audit_value(here, (SELECT u.email FROM users u WHERE u.id = object)));
        END IF;
    WHEN 'invitations' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (o->>'accepted_at') IS NULL AND (n->>'accepted_at') IS NOT NULL THEN 'accepted'
                         WHEN (o->>'revoked_at') IS NULL AND (n->>'revoked_at') IS NOT NULL THEN 'revoked' ELSE 'changed' END;
            fields := ARRAY(SELECT f FROM unnest(fields) f WHERE f IN ('email', 'role', 'secret', 'expires_at')
                            OR verb = 'changed' AND f IN ('accepted_at', 'revoked_at'));
            IF verb = 'changed' AND fields = '{}' THEN
                RETURN NULL;
            END IF;
        END IF;
        details := jsonb_build_object('role', r->>'role', 'expires_at', CASE WHEN 'expires_at' = ANY (fields) THEN n->'expires_at' END,
            'email', CASE WHEN TG_OP = 'INSERT' OR 'email' = ANY (fields) THEN audit_value(here, r->>'email') END);
    WHEN 'api_key_workspaces' THEN
        object := r->>'key_id';
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN (n->>'revoked_at') IS NULL THEN CASE WHEN (o->>'revoked_at') IS NOT NULL THEN 'changed' END
                         WHEN (o->>'revoked_at') IS NULL THEN 'revoked' END;
            fields := CASE verb WHEN 'changed' THEN fields ELSE '{}' END;
        END IF;
        IF TG_OP = 'INSERT' THEN
            SELECT jsonb_build_object('name', audit_value(here, k.name), 'scopes', to_jsonb(k.scopes), 'expires_at', k.expires_at,
                                      'networks', to_jsonb(k.networks), 'daily_credits', NULLIF(k.daily_credits, 0))
            INTO details FROM api_keys k WHERE k.id = object;
        END IF;
    WHEN 'api_keys' THEN
        verb := CASE WHEN (o->>'revoked_at') IS NULL AND (n->>'revoked_at') IS NOT NULL THEN 'revoked'
                     WHEN o->>'secret_hash' <> n->>'secret_hash' THEN 'rotated' WHEN fields <> '{}' THEN 'changed' END;
        IF verb <> 'revoked' THEN
            details := jsonb_build_object('scopes', n->'scopes', 'expires_at', n->'expires_at', 'networks', n->'networks',
                                          'restricted', n->'restricted', 'old_secret_until', n->'old_until');
        END IF;
        IF verb IS NOT NULL THEN
            PERFORM audit_add(g.workspace_id, kind || '.' || verb, kind, object, fields, details) FROM api_key_workspaces g WHERE g.key_id = object;
        END IF;
        RETURN NULL;
    WHEN 'webhooks' THEN
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN o->>'secret' <> n->>'secret' AND (n->>'old_until') IS DISTINCT FROM (o->>'old_until') THEN 'secret_rotated'
                         WHEN o->>'enabled' = 'true' AND n->>'enabled' = 'false' THEN 'disabled'
                         WHEN fields && ARRAY['url', 'events', 'enabled', 'view_ids'] THEN 'changed' END;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            -- Of the address the host alone: many receivers take the rest for a password.
            details := jsonb_build_object('events', r->'events', 'view_ids', NULLIF(r->'view_ids', '[]'), 'host', substring(r->>'url' FROM '^[a-z]+://(?:[^/@]*@)?([^/?#]+)'));
        END IF;
    WHEN 'skills' THEN
        IF r->>'scope' <> 'workspace' THEN
            RETURN NULL; -- a personal Skill is its owner's alone
        END IF;
        IF TG_OP = 'UPDATE' THEN
            verb := CASE WHEN o->>'status' <> n->>'status' THEN CASE n->>'status' WHEN 'published' THEN 'published' ELSE 'unpublished' END
                         WHEN fields <> '{}' THEN 'changed' END;
        END IF;
        IF verb IS NOT NULL THEN
            details := jsonb_build_object('name', audit_value(here, r->>'name'));
        END IF;
    WHEN 'boards' THEN
        IF TG_OP = 'UPDATE' AND fields = '{}' THEN
            RETURN NULL;
        END IF;
        details := jsonb_build_object('name', audit_value(here, r->>'name'));
    WHEN 'key_policies' THEN
        IF TG_OP = 'UPDATE' AND fields = '{}' THEN
            RETURN NULL;
        END IF;
        object := here;
        verb := 'changed';
        details := jsonb_build_object('scopes', r->'scopes', 'max_days', r->'max_days', 'networks', r->'networks',
                                      'max_daily_credits', r->'max_daily_credits');
    WHEN 'views' THEN
        IF TG_OP = 'UPDATE' AND fields = '{}' THEN
            verb := NULL;
        END IF;
        IF verb IS NOT NULL THEN
            details := jsonb_build_object('dataset', r->>'dataset', 'name', audit_value(here, r->>'name'));
        END IF;
    WHEN 'workspaces' THEN
        IF TG_OP = 'UPDATE' AND fields = '{}' THEN
            RETURN NULL;
        END IF;
        details := jsonb_build_object('plan', r->'plan', 'ceiling', r->'credit_ceiling', 'time_zone', r->'time_zone');
        -- The installation's log has workspaces too: one that is deleted has none of its own.
        PERFORM audit_add(NULL, kind || '.' || verb, kind, object, fields, details);
        here := object;
    WHEN 'users' THEN
        verb := CASE WHEN TG_OP = 'DELETE' THEN 'deleted' WHEN (n->>'signed_out_at') IS DISTINCT FROM (o->>'signed_out_at') THEN 'signed_out'
                     WHEN n->>'id' <> o->>'id' THEN NULL -- the memberships tell it
                     WHEN o->>'claimable' = 'false' AND n->>'claimable' = 'true' THEN 'released'
                     WHEN fields && ARRAY['email', 'name'] THEN 'changed' END;
        IF verb IS NULL THEN
            RETURN NULL;
        END IF;
        IF NOT EXISTS (SELECT FROM members m WHERE m.user_id = object) THEN
            PERFORM audit_add(NULL, kind || '.' || verb, kind, object, fields, details);
            RETURN NULL;
        END IF;
        PERFORM audit_add(m.workspace_id, kind || '.' || verb, kind, object, fields, CASE WHEN 'email' = ANY (fields)
            THEN jsonb_build_object('email', audit_value(m.workspace_id, n->>'email')) ELSE details END)
        FROM members m WHERE m.user_id = object;
        RETURN NULL;
    END CASE;
    IF verb IS NOT NULL THEN
        PERFORM audit_add(here, kind || '.' || verb, kind, object, fields, details);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    f      text;
    change text;
BEGIN
    FOREACH f IN ARRAY ARRAY['audit_value(uuid, text)', 'audit_add(uuid, text, text, uuid, text[], jsonb)',
                             'audit_own(text, text, uuid, jsonb)', 'audit_row()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
    COMMIT;
    FOREACH change IN ARRAY ARRAY[
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OF email, role, secret_hash, expires_at, accepted_at, revoked_at ON invitations
            FOR EACH ROW EXECUTE FUNCTION audit_row('invitation')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF url, events, enabled, secret, view_ids ON webhooks
            FOR EACH ROW EXECUTE FUNCTION audit_row('webhook')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF name, tiles ON boards
            FOR EACH ROW EXECUTE FUNCTION audit_row('board')$c$,
        $c$CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE ON key_policies
            FOR EACH ROW EXECUTE FUNCTION audit_row('api_key_policy')$c$
    ] LOOP
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

-- How texts are folded, as names of Views are compared and documents are searched, has
-- versions. A generation of held records keeps the one that it was made with: 1 ignores
-- case and accents, 2 also how marks are typed. A server of the version before makes and
-- writes generations of version 1.

-- +goose Up
ALTER TABLE held_generations ADD COLUMN IF NOT EXISTS folding smallint NOT NULL DEFAULT 1;

-- What is kept folded is folded again, once more an hour later: a server of the version
-- before may still write.
INSERT INTO jobs (workspace_id, id, kind, lane, payload, run_at, created_at)
SELECT w.id, md5('folding 2 ' || w.id || ' ' || again)::uuid, 'folding', w.id, '{}', now() + again * interval '1 hour', now()
FROM workspaces w, generate_series(0, 1) again
ON CONFLICT ON CONSTRAINT jobs_pkey DO NOTHING;

-- +goose Up
-- abandoned are the ids of publications that were prepared and given up since the last
-- publication: Elasticsearch may have one of them.
ALTER TABLE data_feed ADD COLUMN IF NOT EXISTS abandoned uuid[] NOT NULL DEFAULT '{}';

-- marked is the generation whose search aliases the feed has marked. An alias that was
-- moved away and back by somebody else has no mark.
ALTER TABLE data_feed ADD COLUMN IF NOT EXISTS marked text NOT NULL DEFAULT '';

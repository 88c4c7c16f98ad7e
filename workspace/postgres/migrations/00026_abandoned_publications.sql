-- +goose Up
-- abandoned are the ids of publications that were prepared and given up since the last
-- publication: Elasticsearch may have one of them.
ALTER TABLE data_feed ADD COLUMN IF NOT EXISTS abandoned uuid[] NOT NULL DEFAULT '{}';

-- marked are the generations, joined by commas, whose search aliases have a mark while
-- they are served. An alias that somebody else has moved away and back has none.
ALTER TABLE data_feed ADD COLUMN IF NOT EXISTS marked text NOT NULL DEFAULT '';

-- What deltas need: which global records were deleted.

-- +goose Up
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

ALTER TABLE deleted_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_records FORCE ROW LEVEL SECURITY;
CREATE POLICY system_all ON deleted_records TO atlas_system USING (true) WITH CHECK (true);

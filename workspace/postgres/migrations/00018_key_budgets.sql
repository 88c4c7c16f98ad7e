-- Budgets of API keys.

-- +goose Up
-- Credits of each workspace of a key in 24 hours, and its requests a second; 0: no limit.
ALTER TABLE api_keys
    ADD COLUMN IF NOT EXISTS daily_credits bigint NOT NULL DEFAULT 0 CHECK (daily_credits BETWEEN 0 AND 1000000000000),
    ADD COLUMN IF NOT EXISTS requests_per_second integer NOT NULL DEFAULT 0 CHECK (requests_per_second BETWEEN 0 AND 1000000);

-- +goose Up
-- Alerts by e-mail.

-- mail: how often the user is mailed what an alert tells; null: not at all. mailed: the last
-- entry that is in an e-mail or was there before. mail_at: when the next e-mail is due.
ALTER TABLE view_alerts
    ADD COLUMN IF NOT EXISTS mail    text CHECK (mail IN ('instant', 'daily', 'weekly')),
    ADD COLUMN IF NOT EXISTS mailed  bigint NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS mail_at timestamptz CHECK (mail IS NULL OR mail_at IS NOT NULL);

/**
 * Numbered schema steps, forward only: a database at version n gets steps n+1, n+2, ... in one transaction.
 * Times are epoch ms; values of records are canonical JSON (keys sorted), so equal content is equal text.
 */
export const SCHEMA_STEPS: readonly string[] = [
  `
CREATE TABLE accounts (id TEXT PRIMARY KEY, name TEXT NOT NULL, customer_type TEXT, primary_industry TEXT, created_at INTEGER NOT NULL);
CREATE TABLE regions (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), name TEXT NOT NULL, is_default INTEGER NOT NULL);
CREATE TABLE facilities (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), region_id TEXT NOT NULL REFERENCES regions(id), name TEXT NOT NULL,
  tz TEXT NOT NULL, working_hours TEXT NOT NULL, address_line_1 TEXT, address_line_2 TEXT, city TEXT, state TEXT, zipcode TEXT,
  climate_control TEXT, square_ft TEXT, store_number TEXT, type TEXT, latitude REAL, longitude REAL, distributor_name TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE booths (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), facility_id TEXT NOT NULL REFERENCES facilities(id),
  serial_number TEXT NOT NULL UNIQUE, name TEXT NOT NULL, external_id TEXT,
  bay_count TEXT, brand_name TEXT, burner_size TEXT, height TEXT, length TEXT, model_number TEXT, motor_size TEXT, width TEXT,
  certificate_id TEXT, hw_configuration TEXT, old_password TEXT, new_password TEXT, s3_certs_path TEXT,
  config TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), name TEXT NOT NULL, prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, scope TEXT NOT NULL CHECK (scope IN ('admin', 'user', 'provision', 'gateway')), gateway_id TEXT,
  created_at INTEGER NOT NULL, last_used_at INTEGER, expires_at INTEGER, revoked_at INTEGER);
CREATE TABLE sessions (hash TEXT PRIMARY KEY, key_id TEXT NOT NULL REFERENCES api_keys(id), expires_at INTEGER NOT NULL);
CREATE TABLE gateways (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), hardware_id TEXT, agent_version TEXT,
  last_seen_at INTEGER, heartbeat_at INTEGER, online INTEGER NOT NULL DEFAULT 0, state TEXT, created_at INTEGER NOT NULL);
CREATE TABLE provisionings (
  booth_id TEXT NOT NULL REFERENCES booths(id), generation INTEGER NOT NULL, gateway_id TEXT REFERENCES gateways(id),
  status TEXT NOT NULL CHECK (status IN ('provisioned', 'superseded', 'released', 'decommissioned')),
  completion_status TEXT NOT NULL, reported TEXT, reported_seq INTEGER, revision INTEGER NOT NULL,
  provisioned_at INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY (booth_id, generation));
CREATE UNIQUE INDEX one_provisioned_gateway_per_booth ON provisionings (booth_id) WHERE status = 'provisioned';
CREATE INDEX provisionings_of_a_gateway ON provisionings (gateway_id, status);
CREATE TABLE provisioning_audit (
  id INTEGER PRIMARY KEY, booth_id TEXT NOT NULL, generation INTEGER NOT NULL, gateway_id TEXT, action TEXT NOT NULL,
  key_id TEXT NOT NULL, detail TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE idempotency (
  account_id TEXT NOT NULL, idem_key TEXT NOT NULL, request_hash TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY (account_id, idem_key)) WITHOUT ROWID;
CREATE TABLE streams (
  id INTEGER PRIMARY KEY, stream_id TEXT NOT NULL UNIQUE, gateway_id TEXT NOT NULL REFERENCES gateways(id),
  booth_id TEXT NOT NULL REFERENCES booths(id), generation INTEGER NOT NULL, first_seq INTEGER, predecessor_stream_id TEXT,
  predecessor_last_seq INTEGER, acked_seq INTEGER NOT NULL DEFAULT 0, duplicates_offered INTEGER NOT NULL DEFAULT 0,
  conflicts_offered INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0, last_received_at INTEGER, bound_at INTEGER NOT NULL,
  superseded_at INTEGER, withdrawn_at INTEGER);
CREATE INDEX streams_of_a_booth ON streams (booth_id);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE records (
  gateway_id TEXT NOT NULL, stream_no INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, tag INTEGER NOT NULL,
  boot INTEGER NOT NULL, mono REAL NOT NULL, time REAL NOT NULL, value TEXT NOT NULL, quality TEXT NOT NULL, received_at INTEGER NOT NULL,
  PRIMARY KEY (gateway_id, stream_no, seq)) WITHOUT ROWID;
CREATE TABLE seq_gaps (
  stream_no INTEGER NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, reason TEXT NOT NULL, rejected INTEGER NOT NULL,
  PRIMARY KEY (stream_no, from_seq, to_seq)) WITHOUT ROWID;
CREATE TABLE uplink_messages (id INTEGER PRIMARY KEY, gateway_id TEXT NOT NULL, topic TEXT NOT NULL, payload TEXT NOT NULL, received_at INTEGER NOT NULL);
CREATE TABLE commands (
  id TEXT PRIMARY KEY, gateway_id TEXT NOT NULL, type TEXT NOT NULL, args TEXT NOT NULL, created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, state TEXT NOT NULL, result TEXT);
`,
  `
CREATE TABLE users (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), user_name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL CHECK (role IN ('admin', 'user')), password TEXT, invitation_sent_at INTEGER, created_at INTEGER NOT NULL);
CREATE TABLE user_tokens (
  hash TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users(id), expires_at INTEGER NOT NULL, used_at INTEGER);
CREATE TABLE user_sessions (hash TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users(id), expires_at INTEGER NOT NULL);
CREATE TABLE alert_types (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('time', 'tag', 'tag_threshold', 'value_threshold')), base_tag TEXT NOT NULL, extra_tag TEXT,
  threshold REAL, condition_over REAL, category TEXT, severity TEXT, enabled INTEGER NOT NULL);
CREATE TABLE alerts (
  id TEXT PRIMARY KEY, booth_id TEXT NOT NULL REFERENCES booths(id), alert_type_id TEXT NOT NULL, name TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER, value REAL, UNIQUE (booth_id, alert_type_id, started_at));
CREATE TABLE event_definitions (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts(id), name TEXT NOT NULL, description TEXT, category TEXT NOT NULL,
  event_type TEXT NOT NULL, evaluation_period TEXT, min_duration REAL NOT NULL, rules TEXT NOT NULL, enabled INTEGER NOT NULL,
  send_email INTEGER NOT NULL, send_notification_at TEXT, created_by TEXT, last_edited_by TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE event_definition_booths (
  definition_id TEXT NOT NULL REFERENCES event_definitions(id) ON DELETE CASCADE, booth_id TEXT NOT NULL REFERENCES booths(id),
  PRIMARY KEY (definition_id, booth_id)) WITHOUT ROWID;
CREATE TABLE event_definition_users (
  definition_id TEXT NOT NULL REFERENCES event_definitions(id) ON DELETE CASCADE, user_id TEXT NOT NULL REFERENCES users(id),
  PRIMARY KEY (definition_id, user_id)) WITHOUT ROWID;
CREATE TABLE events (
  id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, booth_id TEXT NOT NULL REFERENCES booths(id), started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL, UNIQUE (definition_id, booth_id, started_at));
CREATE TABLE notifications (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users(id), definition_id TEXT NOT NULL, definition_name TEXT NOT NULL,
  definition_description TEXT, period_start INTEGER NOT NULL, period_end INTEGER NOT NULL, seen_in_app INTEGER NOT NULL DEFAULT 0,
  email_sent_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (user_id, definition_id, period_start));
CREATE TABLE notification_events (
  notification_id TEXT NOT NULL REFERENCES notifications(id) ON DELETE CASCADE, event_id TEXT NOT NULL REFERENCES events(id),
  PRIMARY KEY (notification_id, event_id)) WITHOUT ROWID;
CREATE TABLE help_requests (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL, caller_id TEXT NOT NULL, subject TEXT NOT NULL, message TEXT NOT NULL, created_at INTEGER NOT NULL);
`,
  `
DROP TABLE notification_events;
DROP TABLE notifications;
DROP TABLE events;
CREATE TABLE events (
  id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, booth_id TEXT NOT NULL REFERENCES booths(id), started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL, period_start INTEGER NOT NULL, period_end INTEGER NOT NULL, UNIQUE (definition_id, booth_id, started_at));
CREATE INDEX events_of_a_period ON events (definition_id, period_start);
CREATE TABLE notifications (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users(id), definition_id TEXT NOT NULL, definition_name TEXT NOT NULL,
  definition_description TEXT, period_start INTEGER NOT NULL, period_end INTEGER NOT NULL, seen_in_app INTEGER NOT NULL DEFAULT 0,
  email_due_at INTEGER, email_sent_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  UNIQUE (user_id, definition_id, period_start));
ALTER TABLE event_definitions ADD COLUMN rules_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event_definition_users ADD COLUMN added_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alert_types ADD COLUMN rules_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN user_id TEXT REFERENCES users(id);
CREATE INDEX alerts_of_a_booth ON alerts (booth_id, alert_type_id);
`,
  `
CREATE TABLE facility_hours_before (
  facility_id TEXT NOT NULL REFERENCES facilities(id), until INTEGER NOT NULL, tz TEXT NOT NULL, working_hours TEXT NOT NULL,
  PRIMARY KEY (facility_id, until)) WITHOUT ROWID;
`,
  `
CREATE TABLE backfills (
  command_id TEXT NOT NULL REFERENCES commands(id), stream_no INTEGER NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
  PRIMARY KEY (command_id, stream_no, from_seq)) WITHOUT ROWID;
CREATE INDEX backfills_of_a_stream ON backfills (stream_no, from_seq);
CREATE TABLE replaced_records (
  id INTEGER PRIMARY KEY, command_id TEXT NOT NULL, stream_no INTEGER NOT NULL, seq INTEGER NOT NULL, line TEXT NOT NULL, replaced_at INTEGER NOT NULL);
CREATE TABLE digests (
  gateway_id TEXT NOT NULL, digest_id TEXT NOT NULL, stream_id TEXT NOT NULL, compared INTEGER NOT NULL, differing INTEGER NOT NULL,
  command_id TEXT NOT NULL, received_at INTEGER NOT NULL, PRIMARY KEY (gateway_id, digest_id)) WITHOUT ROWID;
CREATE INDEX commands_of_a_gateway ON commands (gateway_id, state);
`,
  `
ALTER TABLE accounts ADD COLUMN parent_id TEXT REFERENCES accounts(id);
`,
  `
CREATE TABLE clock_words (
  stream_no INTEGER NOT NULL, seq INTEGER NOT NULL, boot INTEGER NOT NULL, mono REAL NOT NULL, wall REAL NOT NULL,
  PRIMARY KEY (stream_no, seq)) WITHOUT ROWID;
INSERT INTO clock_words SELECT stream_no, seq, boot, mono, value ->> 'wall' FROM records WHERE kind = 't'
  AND (value ->> 'state' = 'synced' OR (value ->> 'state' = 'stepped' AND value ->> 'witness' IS NOT NULL));
`,
  `
CREATE TABLE segments (
  id INTEGER PRIMARY KEY, stream_no INTEGER NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, boot INTEGER NOT NULL,
  first_mono REAL NOT NULL, last_mono REAL NOT NULL, end_mono REAL NOT NULL, offset_ms REAL NOT NULL, received_at INTEGER NOT NULL,
  message BLOB NOT NULL);
CREATE UNIQUE INDEX segments_of_a_stream ON segments (stream_no, from_seq, to_seq);
`,
  `
ALTER TABLE api_keys ADD COLUMN pbkdf2 TEXT;
ALTER TABLE api_keys ADD COLUMN bcrypt TEXT;
CREATE VIEW broker_users AS SELECT gateway_id, created_at, expires_at, revoked_at, pbkdf2, bcrypt FROM api_keys
  WHERE scope = 'gateway' AND pbkdf2 IS NOT NULL;
`,
  `
ALTER TABLE api_keys ADD COLUMN created_by TEXT REFERENCES users(id);
ALTER TABLE api_keys ADD COLUMN created_by_key TEXT;
ALTER TABLE api_keys ADD COLUMN created_in TEXT;
UPDATE api_keys SET created_by = user_id, created_in = coalesce(
  CASE WHEN user_id IS NULL AND gateway_id IS NULL THEN (SELECT parent_id FROM accounts WHERE id = account_id) END, account_id);
CREATE TABLE guesses (guesser TEXT PRIMARY KEY, since INTEGER NOT NULL, wrong INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX guesses_by_age ON guesses (since);
CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE link_mails (
  user_id TEXT PRIMARY KEY REFERENCES users(id), kind TEXT NOT NULL, asked_at INTEGER NOT NULL, due_at INTEGER NOT NULL) WITHOUT ROWID;
`,
  `
ALTER TABLE streams ADD COLUMN lacks_below INTEGER NOT NULL DEFAULT 0;
ALTER TABLE streams ADD COLUMN asked_by TEXT;
`,
];

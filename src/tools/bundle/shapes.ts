import type { Shape } from "./pick.ts";

/** What of each source a bundle may hold. A field that is new somewhere is left out until it is named here. */

const LINK: Shape = { kind: true, since: true, reason: true, advice: true, attempt: true, next_try_at: true };

export const STATUS_SHAPE: Shape = {
  agent_version: true,
  gateway_id: true,
  at: true,
  started_at: true,
  boot: true,
  clock: { synced: true, offset_ms: true },
  service: { ...LINK, url: true, broker_url: true },
  loss_window_ms: true,
  certificates: { link: true, server: true, expires: true, state: true, advice: true },
  disabled: { booth: true, serial: true, since: true, file: true, line: true, reason: true, advice: true },
  booths: {
    booth: true,
    serial: true,
    stream: true,
    time: true,
    // Not account and facility: customers' names are nothing that helps.
    provisioning: {
      state: true,
      since: true,
      entered_at: { "*": true },
      generation: true,
      delivery: true,
      choices: { name: true },
      refused_revision: true,
      reason: true,
      advice: true,
    },
    reports: {
      refused: { at: true, reason: true },
      read_back: { at: true, differences: { field: true, reported: true, shown: true } },
    },
    plc: { ...LINK, address: true, shows_serial: true },
    now: {
      mode: true,
      since: true,
      raw: true,
      cycles_today: true,
      cycles_total: true,
      run_open: true,
      open_incidents: true,
      firmware_version: true,
      plc_program: true,
      plc_program_revision: true,
      in_gap: true,
      filters: { "*": { minutes: true, limit_minutes: true, percent: true, overuse_since: true, assumed: true } },
    },
    log: {
      taken: true,
      newest_seq: true,
      acked_seq: true,
      pending: true,
      last_commit_at: true,
      commit_ms: true,
      trouble: true,
      refused: { count: true, newest: { seq: true, reason: true } },
      forked: { reason: true, advice: true },
      missing: true,
      storage: {
        used_bytes: true,
        max_bytes: true,
        hours_to_full: true,
        quarantined: true,
        health: { low: true, damaged_files: true },
      },
    },
  },
};

export const COUNTS_SHAPE: Shape = {
  booth: true,
  polls_answered: true,
  polls_failed: true,
  requests: { asked: true, missed: true },
  late: { within_ms: true, polls: true },
  late_sum_ms: true,
  commits: true,
  open_incidents: true,
};

export const READINGS_SHAPE: Shape = {
  "*": { tag: true, unit: true, group: true, value: true, quality: true, reason: true, age_ms: true },
};

/** The agent's own newest lines. */
export const LOG_SHAPE: Shape = { at: true, level: true, text: true };

/** A line of the journal: what every line has, and what tells why. */
export const JOURNAL_SHAPE: Shape = {
  time: true,
  level: true,
  event: true,
  booth: true,
  msg: true,
  reason: true,
  advice: true,
};

/** Files with secrets appear by name alone. */
export const CONFIG_SHAPE: Shape = {
  data_dir: true,
  runtime_dir: true,
  profile_dirs: true,
  log_level: true,
  commit_interval_ms: true,
  heartbeat_interval_ms: true,
  clock_file: true,
  store: { max_bytes: true, max_age_days: true },
  page: { port: true, lan_port: true, pin_file: true },
  service: {
    url: true,
    ca_file: true,
    api_key_file: true,
    api_key_credential: true,
    authorization: true,
    client_certificate_file: true,
    client_key_file: true,
    mqtt_url: true,
    proxy_url: true,
    backlog_records_per_s: true,
  },
  booths: {
    id: true,
    serial: true,
    profile: true,
    bay_count: true,
    burner_size_btu_h: true,
    motor_size_hp: true,
    min_stage_ms: true,
    tz: true,
    poll: { "*": { poll_interval_ms: true } },
    mode_sets: { "*": true },
    filters: { "*": { limits: { "*": true } } },
    working_hours: { day: true, enabled: true, start: true, stop: true },
    modbus: {
      host: true,
      port: true,
      framing: true,
      unit_id: true,
      answer_timeout_ms: true,
      serial: { path: true, baud_rate: true, data_bits: true, parity: true, stop_bits: true },
    },
    opcua: {
      endpoint: true,
      security_policy: true,
      allow_insecure: true,
      mode: true,
      password_file: true,
      user_certificate_file: true,
      user_key_file: true,
      server_certificate_fingerprint: true,
      server_certificate_file: true,
    },
  },
};

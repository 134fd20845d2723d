import { describe, expect, it } from "vitest";
import { examinationText } from "../../src/cli/doctor.ts";
import { isMessage, message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { agentFindings } from "../../src/tools/doctor/agent.ts";
import {
  examineVersions,
  runtimeFinding,
  spaceFinding,
  storeFinding,
  unitFindings,
} from "../../src/tools/doctor/box.ts";
import { bad, examinationOf, ok, skipped, warn } from "../../src/tools/doctor/finding.ts";
import { type Reached, serverFindings, type Step, type Target, targetOf } from "../../src/tools/doctor/network.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const NOW = Date.UTC(2026, 2, 2, 15);

describe("examinationOf", () => {
  const findings = [
    ok("a", "well"),
    warn("b", "doubtful", "look at b"),
    bad("c", "broken", "mend c"),
    bad("d", "broken by c", "mend c"),
    skipped("e", "not here"),
    bad("f", "broken", "mend f"),
  ];

  it("lists advice on faults before advice on warnings, and each advice once", () => {
    const { ok: isWell, todo } = examinationOf(findings);
    expect({ isWell, todo }).toEqual({ isWell: false, todo: ["mend c", "mend f", "look at b"] });
    expect(examinationOf(findings.slice(0, 2)).ok).toBe(true);
  });

  it("lists faults that stop readings first, and gives a single advice for a cause that several checks report", () => {
    const { findings: ordered, todo } = examinationOf([
      bad("first key", "mode 644", "chmod 600 key"),
      bad("service", "DNS fails", "check the name servers"),
      bad("store", "damaged", "mend the store"),
      bad("agent", "isn't running", "start the agent"),
      bad("systemd unit", "failed", "see why it failed"),
      bad("service link", "DOWN", "wait for the service"),
      bad("PLC of booth-2", "refused", "switch booth-2's PLC on"),
      bad("PLC of booth-1", "refused", "switch booth-1's PLC on"),
      bad("configuration", "a mistake", "correct the file"),
    ]);
    expect(ordered.map(({ what }) => what)).toEqual([
      ...["configuration", "agent", "systemd unit", "PLC of booth-2", "PLC of booth-1", "store", "first key"],
      ...["service", "service link"],
    ]);
    expect(todo).toEqual([
      ...["correct the file", "see why it failed", "switch booth-2's PLC on", "switch booth-1's PLC on"],
      ...["mend the store", "chmod 600 key", "wait for the service"],
    ]);
  });

  it("lists an advice once if two findings have the same advice with the same values", () => {
    const todo = (unit: string) => message("doctor.enable", { unit });
    const twice = [bad("a", "x", todo("u")), bad("b", "x", todo("u")), bad("c", "x", todo("v"))];
    expect(examinationOf(twice).todo).toEqual([todo("u"), todo("v")]);
  });

  it("returns an examination that is printed as a list of checks and then a list of what to do", () => {
    expect(examinationText(examinationOf(findings)).split("\n")).toEqual([
      "ok    a  well",
      "look  b  doubtful",
      "BAD   c  broken",
      "BAD   d  broken by c",
      "-     e  not here",
      "BAD   f  broken",
      "",
      "What to do, in this order:",
      "  1. mend c",
      "  2. mend f",
      "  3. look at b",
      "",
    ]);
    expect(examinationText(examinationOf([ok("a", "well")]))).toContain("Nothing to do.");
  });
});

describe("the doctor's check of the gateway machine", () => {
  it.each([
    [{ free: 19_999_999, files: 1, wanted: 64_000_000 }, "bad"],
    [{ free: 20_000_000, files: 1, wanted: 64_000_000 }, "warn"],
    [{ free: 31_999_999, files: 1, wanted: 64_000_000 }, "warn"],
    [{ free: 32_000_000, files: 1, wanted: 64_000_000 }, "ok"],
    [{ free: 32_000_000, files: 0, wanted: 64_000_000 }, "bad"],
    [{ free: 32_000_000, files: null, wanted: 64_000_000 }, "ok"],
  ])("reports the disk space %j as %s", (disk, state) => {
    expect(spaceFinding("/data", disk).state).toBe(state);
  });

  it("warns if the runtime folder is not in memory (tmpfs), because writes wear the flash storage", () => {
    expect(runtimeFinding("/run/x", 0x01021994).state).toBe("ok");
    expect(runtimeFinding("/var/x", 0xef53)).toMatchObject({
      state: "warn",
      todo: expect.stringContaining("tmpfs") as string,
    });
  });

  it.each([
    ["LoadState=not-found\nActiveState=inactive\n", ["systemd unit skipped"]],
    [
      "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nNRestarts=0\nWatchdogUSec=30s\nResult=success\n",
      ["systemd unit ok", "watchdog ok"],
    ],
    [
      "LoadState=loaded\nActiveState=failed\nUnitFileState=disabled\nNRestarts=3\nWatchdogUSec=infinity\nResult=exit-code\n",
      ["systemd unit bad", "restarts warn", "start at boot warn", "watchdog warn"],
    ],
  ])("turns the systemctl output %j into the findings %j", (shown, expected) => {
    const findings = unitFindings(shown);
    expect(findings.map(({ what, state }) => `${what} ${state}`)).toEqual(expected);
    // Words of systemd, such as an interval, are no messages.
    const sentences = findings.map(({ text }) => text).filter((text) => isMessage(text) || text.includes(" "));
    expect(sentences.filter((text) => !isMessage(text))).toEqual([]);
  });

  it("advises a restart if the running agent's version differs from the installed version", () => {
    expect(examineVersions({ installed: "2.0.0", running: null }).state).toBe("ok");
    expect(examineVersions({ installed: "2.0.0", running: "2.0.0" }).state).toBe("ok");
    expect(examineVersions({ installed: "2.0.0", running: "1.0.0" })).toMatchObject({
      state: "warn",
      todo: "systemctl restart booth-gateway.service: it still runs version 1.0.0",
    });
  });

  it("reports whether the store is sound, or how many records are damaged or missing", () => {
    const stream = { stream: "s", booth: "b", oldest_seq: 1, newest_seq: 9, acked_seq: 0, quarantined: 0 };
    const counts = { damaged_rows: 2, damaged_facts: 1, damaged_states: 1, missing: 4 };
    const check = {
      file: "/d/store.db",
      bytes: 1_000_000,
      sound: false,
      problems: ["page 3"],
      streams: [{ ...stream, ...counts }],
    };
    const { state, text } = storeFinding(check);
    expect([state, render(text)]).toEqual(["bad", "/d/store.db, 1.0 MB: page 3; 8 damaged or missing"]);
    expect(storeFinding({ ...check, sound: true })).toEqual(ok("store", "/d/store.db, 1.0 MB: sound"));
  });
});

describe("the doctor's check of the connection to a server", () => {
  const target: Target = { host: "service.example", port: 443, tls: true, http: true };
  const clock = { now: NOW, checks_clock: true };
  const reached: Reached = {
    kind: "reached",
    address: "192.0.2.1",
    certificate_ends: NOW + 90 * DAY_MS,
    server_time: NOW,
  };
  const failed = (step: Step, code: string): Reached => ({
    kind: "failed",
    step,
    code,
    reason: code,
  });

  it.each([
    ["https://service.example", { host: "service.example", port: 443, tls: true, http: true }],
    ["http://127.0.0.1:8080", { host: "127.0.0.1", port: 8080, tls: false, http: true }],
    ["mqtts://broker.example", { host: "broker.example", port: 8883, tls: true, http: false }],
    ["wss://[2001:db8::1]:444/mqtt", { host: "2001:db8::1", port: 444, tls: true, http: false }],
  ])("derives host, port, TLS and HTTP from the URL %s", (url, expected) => {
    expect(targetOf(url, undefined)).toEqual(expected);
    expect(targetOf(url, "PEM")).toEqual({ ...expected, ca: "PEM" });
  });

  it.each([
    [failed("DNS", "ENOTFOUND"), /check the name service\.example/],
    [failed("DNS", "EAI_AGAIN"), /network connection .* and DNS servers/],
    [failed("TCP", "ECONNREFUSED"), /check the port .* no server listens at service\.example:443/],
    [failed("TCP", "ETIMEDOUT"), /allow outgoing TCP connections to service\.example:443 in the firewall/],
    [failed("proxy", ""), /service\.proxy_url/],
    [failed("TLS", "CERT_HAS_EXPIRED"), /clock .*; if it is right, the certificate/],
    [failed("TLS", "CERT_NOT_YET_VALID"), /clock/],
    [failed("TLS", "ERR_TLS_CERT_ALTNAME_INVALID"), /check the name/],
    [failed("TLS", "DEPTH_ZERO_SELF_SIGNED_CERT"), /service\.ca_file/],
    [failed("TLS", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"), /service\.ca_file/],
    [failed("TLS", "EPROTO"), /TLS 1\.2/],
    [failed("HTTP", "ECONNRESET"), /check the proxies and load balancers on the path/],
  ])("gives, for the failure %j, advice that matches %s", (outcome, todo) => {
    const found = serverFindings("service", { target, reached: outcome }, clock);
    expect(found.map(({ state }) => state)).toEqual(["bad"]);
    expect(found.map((one) => render(one.todo ?? ""))).toEqual([expect.stringMatching(todo) as string]);
    expect(found.every((one) => isMessage(one.text) && isMessage(one.todo))).toBe(true);
  });

  it("gives advice about the proxy if the gateway can't connect to the proxy", () => {
    const through = { ...target, proxy: { host: "proxy.example", port: 3128 } };
    const todoOf = (outcome: Reached): string =>
      render(serverFindings("service", { target: through, reached: outcome }, clock)[0]?.todo ?? "");
    expect(todoOf(failed("DNS", "ENOTFOUND"))).toContain("the name proxy.example");
    expect(todoOf(failed("TCP", "ECONNREFUSED"))).toContain("no server listens at proxy.example:3128");
    expect(todoOf(failed("TLS", "EPROTO"))).toContain("service.example:443");
  });

  it.each([
    [NOW + 30 * DAY_MS + 1, "ok"],
    [NOW + 30 * DAY_MS, "warn"],
  ])("reports a certificate that expires at %d as %s", (certificate_ends, state) => {
    const findings = serverFindings("service", { target, reached: { ...reached, certificate_ends } }, clock);
    expect(findings.map((one) => one.state)).toEqual(["ok", state]);
  });

  it.each([
    [120_000, true, 2],
    [120_001, true, 3],
    [-120_001, true, 3],
    [120_001, false, 2],
  ])(
    "adds a finding about the clock if the clock is too far off: %d ms, clock checked: %s, findings: %d",
    (off, checks_clock, count) => {
      const outcome = { target, reached: { ...reached, server_time: NOW + off } };
      expect(serverFindings("service", outcome, { now: NOW, checks_clock })).toHaveLength(count);
    },
  );
});

describe("the doctor's check of the agent's status", () => {
  const status: AgentStatus = {
    agent_version: "1",
    gateway_id: "g",
    config_refused: null,
    needs_restart: [],
    at: NOW,
    started_at: NOW - DAY_MS,
    boot: "b",
    clock: { synced: false, offset_ms: null },
    lacks: [],
    service: {
      kind: "degraded",
      since: NOW,
      reason: "half",
      advice: "look",
      url: "https://s",
      broker_url: null,
    },
    booths: [],
    disabled: [
      { booth: "booth-2", serial: null, since: NOW, file: "f", line: 1, reason: "wrong", advice: "correct it" },
    ],
    outputs: [],
    notices: [],
    shared: [],
    certificates: [
      { link: "opcua", server: null, expires: NOW + DAY_MS, state: "ends_soon", advice: "renew" },
      { link: "opcua", server: "plc", expires: NOW - DAY_MS, state: "expired", advice: "renew that" },
      { link: "service", server: "other", expires: NOW + 900 * DAY_MS, state: "valid", advice: "" },
    ],
    loss_window_ms: 10_000,
  };

  it("gives a finding for each part of the status and for each certificate", () => {
    expect(agentFindings(status).map(({ what, state }) => `${what}: ${state}`)).toEqual([
      "agent: ok",
      "booth-2 is left out: bad",
      "clock: bad",
      "service link: warn",
      "own OPC UA certificate: warn",
      "certificate of plc: bad",
      "certificate of other: ok",
    ]);
    expect(agentFindings({ ...status, clock: { synced: true, offset_ms: -1_500 } })[2]?.text).toBe(
      "synchronized, the box's own clock is 1500 ms off",
    );
  });
});

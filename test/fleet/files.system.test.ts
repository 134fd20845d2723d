// Needs Debian packages: haproxy, mosquitto, openssl, systemd.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

it("HAProxy accepts the shipped configuration file with a certificate, although none of its servers has an address yet", () => {
  const folder = temporaryFolder();
  const [key, cert, both] = ["key.pem", "cert.pem", "both.pem"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"];
  execFileSync("openssl", [...made, "-keyout", key, "-out", cert], { stdio: "ignore" });
  writeFileSync(both, readFileSync(key, "utf8") + readFileSync(cert, "utf8"));
  const text = readFileSync(pathOf("config/fleet/haproxy.cfg"), "utf8");
  const here = text.replaceAll(/\/etc\/haproxy\/\w+\.pem/g, both);
  expect(here).not.toBe(text);
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, here);
  execFileSync("/usr/sbin/haproxy", ["-c", "-q", "-f", file]);
});

it("systemd-analyze reports no problem in the systemd units of the service for a fleet", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "units"));
  const names = readdirSync(pathOf("systemd/fleet")).filter((name) => name.endsWith(".service"));
  expect(names).toHaveLength(5);
  for (const name of names) {
    // The program isn't installed here.
    const text = readFileSync(join(pathOf("systemd/fleet"), name), "utf8").replace(
      /^ExecStart=\/usr\/lib\/booth-service\S+/m,
      "ExecStart=/bin/true",
    );
    const unit = join(folder, "units", name.replace("@", "@1"));
    writeFileSync(unit, text);
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8" });
    const warnings = stderr.split("\n").filter((line) => line.includes("booth-"));
    expect({ status, warnings }).toEqual({ status: 0, warnings: [] });
  }
});

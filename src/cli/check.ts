import { loadConfig } from "../config/config.ts";
import { findProfile } from "../config/profile.ts";
import { plcAddress } from "../core/plc-address.ts";
import { AGENT_OPTIONS, configPath } from "./agent-client.ts";
import { EXIT, type Command } from "./command.ts";

export const checkCommand: Command = {
  name: "check",
  operands: "",
  summary: "read configuration and profiles and say what is wrong with them; needs no agent",
  options: AGENT_OPTIONS,
  notes: ["A mistake is shown with file, line and column. Exit code 78: the agent would refuse this configuration."],
  run({ values, io }) {
    const path = configPath(values);
    const config = loadConfig(path);
    const booths = config.booths.map((booth) => {
      const profile = findProfile(booth.profile, config.profile_dirs);
      return {
        booth: booth.id,
        serial: booth.serial ?? null,
        profile: `${profile.name} ${profile.version}`,
        tags: profile.tags.length,
        plc: plcAddress(booth),
      };
    });
    if (values["json"] === true)
      io.out(`${JSON.stringify({ ok: true, file: path, service: config.service.url, booths }, null, 2)}\n`);
    else {
      const lines = booths.map(
        (one) =>
          `  ${one.booth}: ${one.profile}, ${one.tags.toString()} tags, PLC at ${one.plc}, serial ${one.serial ?? "to be entered on site"}`,
      );
      io.out([`${path} is in order: service ${config.service.url}`, ...lines, ""].join("\n"));
    }
    return Promise.resolve(EXIT.ok);
  },
};

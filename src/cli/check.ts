import type { ConfigError } from "../config/config-error.ts";
import { inspectConfig, type UsableConfig } from "../config/usable.ts";
import { plcAddress } from "../domain/plc-address.ts";
import { addressTable } from "./address-table.ts";
import { configPath } from "../tools/agent-client.ts";
import { EXIT, type Run } from "./command.ts";

export const checkCommand: Run = ({ values, io }) => {
  const path = configPath(values);
  const usable = inspectConfig(path);
  const errors = [...(usable.fatal === null ? [] : [usable.fatal]), ...usable.refused.map(({ error }) => error)];
  if (values["json"] === true) io.out(`${JSON.stringify(jsonOf(path, usable), null, 2)}\n`);
  else if (errors.length === 0) io.out(textOf(path, usable));
  if (values["addresses"] === true && values["json"] !== true) io.out(addressesText(usable));
  for (const error of errors) io.err(`${error.full()}\n`);
  return Promise.resolve(errors.length === 0 ? EXIT.ok : EXIT.config);
};

function textOf(path: string, usable: UsableConfig): string {
  const lines = boothsOf(usable).map(
    (one) =>
      `  ${one.booth}: ${one.profile}, ${one.tags.toString()} tags, PLC at ${one.plc}, serial ${one.serial ?? "to be entered on site"}`,
  );
  return [`${path} is in order: service ${usable.config.service.url}`, ...lines, ""].join("\n");
}

function addressesText({ booths }: UsableConfig): string {
  return booths
    .map(({ config: { id }, profile }) => {
      const head = `\n${id}: ${profile.name} ${profile.version}`;
      if (profile.protocol !== "modbus") return `${head}: variables of an OPC UA server have no such addresses\n`;
      return `${head}\n${addressTable(profile.tags)}`;
    })
    .join("");
}

function jsonOf(path: string, usable: UsableConfig): unknown {
  const { config, refused, fatal } = usable;
  const disabled = refused.map(({ id, serial, error }) => ({ booth: id, serial, problems: problemsIn(error) }));
  return {
    ok: fatal === null && refused.length === 0,
    file: path,
    service: config.service.url,
    booths: boothsOf(usable),
    ...(disabled.length === 0 ? {} : { disabled }),
    ...(fatal === null ? {} : { problems: problemsIn(fatal) }),
  };
}

function problemsIn({ file, problems }: ConfigError): readonly object[] {
  return problems.map(({ line, column, path, message, hint }) => ({ file, line, column, path, message, hint }));
}

function boothsOf({ booths }: UsableConfig) {
  return booths.map(({ config, profile }) => ({
    booth: config.id,
    serial: config.serial ?? null,
    profile: `${profile.name} ${profile.version}`,
    tags: profile.tags.length,
    plc: plcAddress(config),
  }));
}

import { runCommand } from "./run-command.ts";
import { serviceCommand } from "./cli.ts";

/** Runs the service's command line alone, as in the package booth-service. */
export async function main(argv: readonly string[]): Promise<void> {
  await runCommand((io) => serviceCommand(argv, io));
}

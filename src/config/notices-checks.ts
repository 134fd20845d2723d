import type { BoothId } from "../domain/units.ts";
import { say } from "../domain/sentences.ts";
import { isKnownZone } from "../domain/time-zone.ts";
import type { Problem } from "./config-error.ts";
import { didYouMean } from "./nearest.ts";
import type { NoticeInput } from "./notices-schema.ts";
import { brokerUrlFault, isLoopback, webhookUrlFault } from "./urls.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

type Fault = readonly [key: readonly (string | number)[], message: string, hint?: string | undefined];

/** What concerns more than one value of a notice, or the booths. */
export function checkNotices(
  {
    notices,
    booths,
  }: { readonly notices: readonly NoticeInput[]; readonly booths: readonly { readonly id: BoothId }[] },
  source: YamlSource,
): readonly Problem[] {
  const ids = booths.map(({ id }) => id);
  const at = (index: number): DataPath => ["notices", index];
  return notices.flatMap((notice, index) => {
    const isTaken = notices.findIndex(({ name }) => name === notice.name) < index;
    const unknown = (notice.booths ?? []).flatMap((id, position): Fault[] =>
      ids.includes(id) ? [] : [[["booths", position], say("config.no_booth", { booth: id }), didYouMean(id, ids)]],
    );
    const taken: Fault[] = isTaken ? [[["name"], say("config.name_taken", { name: notice.name })]] : [];
    return [...taken, ...unknown, ...faultsOf(notice)].map(([key, message, hint]) =>
      source.problemAt([...at(index), ...key], message, hint === undefined ? {} : { hint }),
    );
  });
}

function faultsOf({ mail, webhook, mqtt, quiet }: NoticeInput): readonly Fault[] {
  const ways = [mail, webhook, mqtt].filter((way) => way !== undefined).length;
  const tz = quiet?.tz;
  return [
    ...(ways === 1 ? [] : [[[], say("notice.one_way")] as const]),
    ...(quiet !== undefined && quiet.from === quiet.to ? [[["quiet", "to"], say("notice.quiet_length")] as const] : []),
    ...(tz === undefined || isKnownZone(tz) ? [] : [[["quiet", "tz"], say("notice.zone", { tz })] as const]),
    ...(mail === undefined ? [] : mailFaults(mail)),
    ...urlFaults("webhook", webhook && webhookUrlFault(webhook.url)),
    ...urlFaults("mqtt", mqtt && brokerUrlFault(mqtt.url)),
    ...(mqtt === undefined ? [] : loginFaults("mqtt", mqtt)),
  ];
}

function urlFaults(way: string, fault: string | null | undefined): readonly Fault[] {
  return fault === null || fault === undefined ? [] : [[[way, "url"], fault]];
}

function mailFaults(mail: NonNullable<NoticeInput["mail"]>): readonly Fault[] {
  const isOpen = mail.tls === "none" && !isLoopback(mail.host);
  const plain: Fault = [["mail", "tls"], say("notice.tls_none")];
  return [...(isOpen ? [plain] : []), ...loginFaults("mail", mail)];
}

function loginFaults(
  way: string,
  { user, password_file }: { readonly user?: string | undefined; readonly password_file?: string | undefined },
): readonly Fault[] {
  if ((user === undefined) === (password_file === undefined)) return [];
  const key = user === undefined ? "password_file" : "user";
  return [[[way, key], say("notice.login_pair")]];
}

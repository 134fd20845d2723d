import type { BoothId } from "../domain/units.ts";
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
      ids.includes(id) ? [] : [[["booths", position], `there is no booth "${id}"`, didYouMean(id, ids)]],
    );
    const taken: Fault[] = isTaken ? [[["name"], `the name "${notice.name}" is taken`]] : [];
    return [...taken, ...unknown, ...faultsOf(notice)].map(([key, message, hint]) =>
      source.problemAt([...at(index), ...key], message, hint === undefined ? {} : { hint }),
    );
  });
}

function faultsOf({ mail, webhook, mqtt, quiet }: NoticeInput): readonly Fault[] {
  const ways = [mail, webhook, mqtt].filter((way) => way !== undefined).length;
  const tz = quiet?.tz;
  return [
    ...(ways === 1 ? [] : [[[], "a notice needs one of mail, webhook and mqtt, and no more"] as const]),
    ...(quiet !== undefined && quiet.from === quiet.to
      ? [[["quiet", "to"], "quiet hours of no length, or of the whole day: give another end"] as const]
      : []),
    ...(tz === undefined || isKnownZone(tz)
      ? []
      : [[["quiet", "tz"], `the time zone "${tz}" isn't known: an IANA name like America/Denver`] as const]),
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
  const plain: Fault = [["mail", "tls"], "none is unprotected and good for this machine alone: take starttls or tls"];
  return [...(isOpen ? [plain] : []), ...loginFaults("mail", mail)];
}

function loginFaults(
  way: string,
  { user, password_file }: { readonly user?: string | undefined; readonly password_file?: string | undefined },
): readonly Fault[] {
  if ((user === undefined) === (password_file === undefined)) return [];
  const key = user === undefined ? "password_file" : "user";
  return [[[way, key], "user and password_file go together"]];
}

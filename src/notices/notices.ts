import type { NoticeConfig } from "../config/port.ts";
import { openLedger } from "./kept.ts";
import { newNoticeState, type Notice, noticeLoop, statusOf, testNotice } from "./notice.ts";
import type { Channel, NoticeBooth, NoticeMachine, Notices } from "./port.ts";
import { ofBooths } from "./rules/ledger.ts";

/** Opens the configured notices. The module that sends messages is loaded for the first message. */
export async function openNotices(
  machine: NoticeMachine,
  configs: readonly NoticeConfig[],
  booths: readonly NoticeBooth[],
): Promise<Notices> {
  const notices = await Promise.all(
    configs.map(async (config): Promise<Notice> => {
      const about = booths.filter(({ state }) => config.booths?.includes(state.booth) ?? true);
      const kept = await openLedger(machine, config.name);
      const names = about.map(({ state }) => state.booth);
      const state = newNoticeState(ofBooths(kept.first, names), machine);
      return { machine, config, booths: about, kept, state, channel: () => channelOf(machine, config) };
    }),
  );
  return {
    status: () => notices.map(statusOf),
    test(name, signal) {
      const asked = notices.filter(({ config }) => name === undefined || config.name === name);
      return Promise.all(asked.map((notice) => testNotice(notice, signal)));
    },
    run: (signal) => notices.map((notice) => noticeLoop(notice, signal)),
  };
}

async function channelOf(machine: NoticeMachine, config: NoticeConfig): Promise<Channel> {
  if (config.mail !== undefined) return (await import("./mail.ts")).openMail(machine, config);
  if (config.webhook !== undefined) return (await import("./webhook.ts")).openWebhook(machine, config);
  return (await import("./mqtt.ts")).openMqtt(machine, config);
}

import type { NoticeConfig } from "../config/port.ts";
import { openLedger } from "./kept.ts";
import { newNoticeState, type Notice, noticeLoop, statusOf, testNotice } from "./notice.ts";
import type { Channel, NoticeBooth, NoticeMachine, Notices } from "./port.ts";
import { only } from "./rules/ledger.ts";

/** Opens the notices that are configured. What sends them is loaded when there is something to tell. */
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
      const state = newNoticeState(only(kept.first, names), machine);
      let channel: Promise<Channel> | null = null;
      const open = (): Promise<Channel> => {
        if (channel !== null) return channel;
        const opening = channelOf(machine, config);
        channel = opening;
        // What failed once may work at the next try: a rejected promise isn't kept.
        opening.catch(() => (channel = null));
        return opening;
      };
      return { machine, config, booths: about, kept, state, channel: open };
    }),
  );
  return {
    status: () => notices.map(statusOf),
    test: (name, signal) =>
      Promise.all(
        notices
          .filter(({ config }) => name === undefined || config.name === name)
          .map((notice) => testNotice(notice, signal)),
      ),
    run: (signal) => notices.map((notice) => noticeLoop(notice, signal)),
  };
}

async function channelOf(machine: NoticeMachine, config: NoticeConfig): Promise<Channel> {
  if (config.mail !== undefined) return (await import("./mail.ts")).openMail(machine, config);
  if (config.webhook !== undefined) return (await import("./webhook.ts")).openWebhook(machine, config);
  return (await import("./mqtt.ts")).openMqtt(machine, config);
}

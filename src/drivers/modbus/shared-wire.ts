import { LinkError } from "../../core/link-error.ts";
import type { OpenWire, Wire, WireEvents } from "./wire.ts";

/**
 * One physical connection for several drivers of which one at a time is at work: many gateways and PLCs allow no second
 * one, and a serial line is one by nature. It is made when the first driver opens and ended when the last one closes.
 * Whoever leaves a request unanswered ends it for all, so that a late answer finds nobody; the others learn it as
 * `closed` and open anew.
 */
export function sharedWire(openWire: OpenWire): OpenWire {
  const users = new Set<WireEvents>();
  let wire: Wire | null = null;
  let connected = false;
  let active: WireEvents | null = null;

  const end = (error: LinkError): void => {
    const gone = [...users];
    users.clear();
    wire?.destroy(true);
    wire = null;
    active = null;
    connected = false;
    for (const user of gone) user.down(error);
  };
  const events: WireEvents = {
    connected: () => {
      connected = true;
      for (const user of [...users]) user.connected();
    },
    data: (bytes, size) => {
      if (active === null) end(new LinkError("malformed", `${size} bytes that nobody asked for`));
      else active.data(bytes, size);
    },
    down: end,
  };
  return (user) => {
    users.add(user);
    if (wire === null) wire = openWire(events);
    else if (connected) queueMicrotask(() => (users.has(user) ? user.connected() : undefined));
    return {
      write: (bytes) => {
        if (!users.has(user)) return;
        active = user;
        wire?.write(bytes);
      },
      destroy: (unanswered) => {
        if (!users.delete(user)) return;
        if (active === user) active = null;
        if (unanswered || users.size === 0)
          end(new LinkError("closed", "the connection that booths share was made anew"));
      },
    };
  };
}

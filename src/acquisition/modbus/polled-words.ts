import type { ModbusTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { PolledWords, WireTap } from "../port.ts";
import { tappedRead } from "./tool-line.ts";

interface Word {
  readonly word: number;
  readonly at: Milliseconds;
}

/** Remembers what goes over a tapped line, by unit, table and address; as many words as the booth's profile polls. */
export function polledWords(mono: () => Milliseconds): PolledWords & { readonly tap: WireTap } {
  const tables = new Map<string, Map<number, Word>>();
  const tableOf = (unit: number, table: ModbusTable): Map<number, Word> => {
    const key = `${unit} ${table}`;
    const known = tables.get(key) ?? new Map<number, Word>();
    tables.set(key, known);
    return known;
  };
  return {
    tap: {
      asked: () => undefined,
      answered(request, answer) {
        const read = tappedRead(request, answer);
        if (read === null || read.words === null) return;
        const table = tableOf(read.unit, read.table);
        const at = mono();
        for (const [index, word] of read.words.entries()) table.set(read.address + index, { word, at });
      },
    },
    words({ unit, table, address, count }, max_age_ms) {
      const known = tables.get(`${unit} ${table}`);
      const words: number[] = [];
      let oldest = mono();
      for (let at = address; at < address + count; at += 1) {
        const found = known?.get(at);
        if (found === undefined) return null;
        words.push(found.word);
        oldest = Math.min(oldest, found.at);
      }
      const age_ms = mono() - oldest;
      return age_ms <= max_age_ms ? { words, age_ms } : null;
    },
  };
}

/** A profile as V8 writes it: nodes of the tree of calls, and which of them was seen at each sample. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** From the sample before to each. */
  readonly timeDeltas: readonly number[];
}

const MOST = 10;
/** Not a function, and not work. */
const NO_WORK = new Set(["(root)", "(idle)"]);

interface Ask {
  /** So much before the end is looked at; what was before that isn't. */
  readonly last_ms: number;
  /** How a file is named. */
  readonly placeOf: (url: string) => string;
}

function namesOf(nodes: CpuProfile["nodes"], placeOf: Ask["placeOf"]): ReadonlyMap<number, string> {
  return new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const place = url === "" ? "" : ` ${placeOf(url)}:${lineNumber + 1}`;
      return [id, `${functionName === "" ? "(anonymous)" : functionName}${place}`];
    }),
  );
}

/** Share of the CPU that the ten most expensive functions took themselves, and with what they called. */
export function mostExpensive(
  { nodes, samples, timeDeltas }: CpuProfile,
  { last_ms, placeOf }: Ask,
): { readonly cpu_s: number; readonly length_s: number; readonly rows: readonly (readonly string[])[] } {
  const nameOf = namesOf(nodes, placeOf);
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  let left = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  let cpu = 0;
  let length = 0;
  for (const [index, sample] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    left -= delta;
    if (left >= last_ms * 1_000) continue;
    length += delta;
    const own = nameOf.get(sample) ?? "";
    if (NO_WORK.has(own)) continue;
    cpu += delta;
    self.set(own, (self.get(own) ?? 0) + delta);
    // Once each, however deep a function calls itself.
    const callers = new Set<string>();
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) callers.add(nameOf.get(id) ?? "");
    for (const name of callers) if (!NO_WORK.has(name)) total.set(name, (total.get(name) ?? 0) + delta);
  }
  const cells = (times: ReadonlyMap<string, number>): [share: string, name: string][] =>
    [...times]
      .sort(([, one], [, other]) => other - one)
      .slice(0, MOST)
      .map(([name, time]) => [`${((100 * time) / cpu).toFixed(1)} %`, name]);
  const totals = cells(total);
  const rows = cells(self).map((row, index) => [...row, ...(totals[index] ?? [])]);
  return { cpu_s: cpu / 1e6, length_s: length / 1e6, rows };
}

const COLLECTOR = "(garbage collector)";
const SECTIONS = 5;

interface Section {
  entry: string;
  us: number;
  /** Time by function. */
  readonly own: Map<string, number>;
}

/**
 * The longest stretches in which the thread did one thing: samples in a row below one entry from the event loop, collections in their midst
 * among them. Each with its length in ms, its entry, and what took most of it. A thread that waits for a core counts as busy.
 */
export function longestSections({ nodes, samples, timeDeltas }: CpuProfile, { last_ms, placeOf }: Ask) {
  const nameOf = namesOf(nodes, placeOf);
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const root = nodes[0]?.id;
  const entryOf = (id: number): string => {
    let at = id;
    for (let up = parents.get(at); up !== undefined && up !== root; up = parents.get(at)) at = up;
    return nameOf.get(at) ?? "";
  };
  const sections: Section[] = [];
  let open: Section | undefined;
  let left = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  for (const [index, sample] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    left -= delta;
    const entry = entryOf(sample);
    const own = nameOf.get(sample) ?? "";
    if (left >= last_ms * 1_000 || NO_WORK.has(own)) {
      open = undefined;
      continue;
    }
    if (open?.entry === COLLECTOR) open.entry = entry;
    if (open === undefined || (entry !== open.entry && entry !== COLLECTOR)) {
      open = { entry, us: 0, own: new Map() };
      sections.push(open);
    }
    open.us += delta;
    open.own.set(own, (open.own.get(own) ?? 0) + delta);
  }
  return sections
    .sort((one, other) => other.us - one.us)
    .slice(0, SECTIONS)
    .map(({ entry, us, own }) => {
      const [[most, time] = ["", 0]] = [...own].sort(([, one], [, other]) => other - one);
      return [`${(us / 1_000).toFixed(1)} ms`, entry, `${((100 * time) / us).toFixed(0)} %`, most];
    });
}

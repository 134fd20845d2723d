import type { Exchange, Level, Outcome } from "./requirement.ts";

export interface Report {
  readonly url: string;
  readonly level: Level;
  readonly outcomes: readonly Outcome[];
}

const RESULTS = ["pass", "fail", "not supported"] as const;

export function countOf(outcomes: readonly Outcome[], result: Outcome["result"]): number {
  return outcomes.filter((one) => one.result === result).length;
}

export function summaryOf({ outcomes, level }: Report): string {
  const counts = RESULTS.map(
    (result) => `${countOf(outcomes, result)} ${result === "pass" ? "passed" : result === "fail" ? "failed" : result}`,
  );
  return `level ${level}: ${counts.join(", ")}`;
}

/** Writes an outcome as text. A failure has its exchanges, what was expected, and the place in the contract. */
export function lineOf(outcome: Outcome, isVerbose: boolean): string {
  const { id, result, title, reason, expected, place, exchanges } = outcome;
  const head = `${result.padEnd(13)} ${id}  ${title}`;
  if (result === "not supported") return `${head}: ${reason}`;
  if (result === "pass" && !isVerbose) return head;
  const told = exchanges.flatMap(exchangeLines).map((line) => `                     ${line}`);
  const wanted =
    result === "fail" ? [`                received: ${reason}`, `                expected: ${expected}`] : [];
  return [head, ...wanted, `                contract: ${place}`, ...told].join("\n");
}

function exchangeLines({ sent, received }: Exchange): string[] {
  return [
    ...(sent === "" ? [] : sent.split("\n").map((line) => `> ${line}`)),
    ...(received === "" ? [] : received.split("\n").map((line) => `< ${line}`)),
  ];
}

const escaped = (text: string): string =>
  text
    // XML 1.0 allows no control characters except these three.
    .replaceAll(/[^\P{Cc}\t\n\r]/gu, "?")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

/** Writes the report as JUnit XML, which CI servers read. */
export function junitOf({ outcomes, level }: Report): string {
  const cases = outcomes.map((one) => {
    const name = `name="${escaped(`${one.id} ${one.title}`)}" classname="conform.${one.level}" time="${(one.took_ms / 1000).toFixed(3)}"`;
    if (one.result === "pass") return `    <testcase ${name}/>`;
    const inner =
      one.result === "fail"
        ? `<failure message="${escaped(one.reason)}">${escaped(lineOf(one, true))}</failure>`
        : `<skipped message="not supported: ${escaped(one.reason)}"/>`;
    return `    <testcase ${name}>${inner}</testcase>`;
  });
  const counts = `tests="${outcomes.length}" failures="${countOf(outcomes, "fail")}" skipped="${countOf(outcomes, "not supported")}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="booth-sim conform --level ${level}" ${counts}>`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

const STYLE = `body{font:15px/1.4 system-ui,sans-serif;margin:2rem;max-width:70rem}table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}pre{white-space:pre-wrap;overflow-wrap:anywhere}
.pass{color:#176117}.fail{color:#a00;font-weight:600}.not{color:#555}`;

/** Writes the report as one HTML page. */
export function htmlOf(report: Report): string {
  const rows = report.outcomes.map((one) => {
    const details =
      one.exchanges.length === 0 && one.reason === ""
        ? ""
        : `<details${one.result === "fail" ? " open" : ""}><summary>details</summary><pre>${escaped(lineOf(one, true))}</pre></details>`;
    return `<tr><td>${one.id}</td><td class="${one.result.split(" ")[0] ?? ""}">${one.result}</td><td>${escaped(one.title)}${details}</td><td>${escaped(one.place)}</td></tr>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Conformance of ${escaped(report.url)}</title><style>${STYLE}</style></head>
<body><h1>Conformance of ${escaped(report.url)}</h1><p>${escaped(summaryOf(report))}</p>
<table><thead><tr><th>Id</th><th>Result</th><th>Requirement</th><th>Contract</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></body></html>
`;
}

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

/** The site of the documents: `npm run docs` builds it without network access into `site/.vitepress/dist`. */

const DOCS = fileURLToPath(new URL("../../docs", import.meta.url));
const SECTIONS = {
  start: "Get started",
  operate: "Operate",
  plc: "Connect a PLC",
  service: "Services",
  reference: "Reference",
  explain: "Explanation",
  decisions: "Decisions",
} as const;

/** Returns the pages of a folder, each with its first heading as its name. */
function pagesOf(folder: string): { text: string; link: string }[] {
  return readdirSync(`${DOCS}/${folder}`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => {
      const title = /^# (.*)$/m.exec(readFileSync(`${DOCS}/${folder}/${name}`, "utf8"))?.[1] ?? name;
      return { text: title, link: `/${folder}/${name.replace(/\.md$/, "")}` };
    });
}

export default defineConfig({
  title: "booth-gateway",
  // A copy of docs: the modules of the site are found from its own folder.
  srcDir: "pages",
  description: "Edge gateway agent for paint and spray booths",
  cleanUrls: true,
  lastUpdated: false,
  // Files of the repository that are no pages: sources, examples, the files at its root.
  ignoreDeadLinks: [
    /\.\.\/(src|test|config|simulators|systemd|README|CONTRIBUTING|CHANGELOG|SUPPORT|CODE_OF_CONDUCT|package|LICENSE)/,
    /\.\/\.\.\/\.\.\//,
  ],
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Get started", link: "/start/first-site" },
      { text: "Operate", link: "/operate/install" },
      { text: "Reference", link: "/reference/glossary" },
    ],
    sidebar: Object.entries(SECTIONS).map(([folder, text]) => ({ text, items: pagesOf(folder) })),
    outline: [2, 3],
  },
});

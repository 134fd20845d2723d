/** An import. A test checks the form that this relies on: an import starts its line and doesn't rename; a comment starts its line. */
const IMPORT = /^import \{([^}]*)\} from "\.(\/[\w-]+\.js)";\n/gm;
/** An import of a module in the same or another folder; `import(` loads it later. */
const PLACED = /((?:\bfrom |\bimport\()")\.{1,2}\/(?:(?:\w+|\.\.)\/)*([\w-]+\.js")/g;

/** Rewrites imports for serving: the box sends the modules of all folders as one folder. */
export function flattened(text: string): string {
  return text.replaceAll(PLACED, "$1./$2");
}

/** Returns the paths of a module's imports. */
export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(([, , path = ""]) => path);
}

/** Joins modules into one, in their order, with their imports of other modules. Their top-level names must differ. */
export function joined(modules: ReadonlyMap<string, string>): string {
  const others = new Map<string, Set<string>>();
  const bodies = [...modules.values()].map((text) =>
    text.replaceAll(IMPORT, (_, names: string, path: string) => {
      if (modules.has(path)) return "";
      const imported = others.get(path) ?? new Set<string>();
      for (const name of names.split(/[\s,]+/)) if (name !== "") imported.add(name);
      others.set(path, imported);
      return "";
    }),
  );
  const heads = [...others].map(([path, names]) => `import { ${[...names].join(", ")} } from ".${path}";\n`);
  return bare([...heads, ...bodies].join(""));
}

/** Replaces a module's imports of the joined modules by imports of the one that contains them. */
export function pointed(
  text: string,
  { to, instead_of }: { readonly to: string; readonly instead_of: readonly string[] },
): string {
  return text.replaceAll(IMPORT, (whole, _, path: string) =>
    instead_of.includes(path) ? whole.replace(path, to) : whole,
  );
}

/** Removes the comments. */
export function bare(text: string): string {
  return text
    .replaceAll(/^[ \t]*\/\*\*[\s\S]*?\*\/[ \t]*\n?/gm, "")
    .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, "")
    .replaceAll(/^[ \t]*\/\/.*\n/gm, "");
}

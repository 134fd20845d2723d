/**
 * Turns the page's modules into the files that the box sends. It relies on one way of writing, which a test checks: an import
 * starts its line and doesn't rename; a comment starts its line.
 */

const IMPORT = /^import \{([^}]*)\} from "\.(\/[\w-]+\.js)";\n/gm;
/** An import of a module in the same folder or in another one; `import(` is the form that loads later. */
const PLACED = /((?:\bfrom |\bimport\()")\.{1,2}\/(?:\w+\/)?([\w-]+\.js")/g;

/** Rewrites imports for serving: the box sends the modules of all folders as one folder. */
export function flattened(text: string): string {
  return text.replaceAll(PLACED, "$1./$2");
}

/** Paths of what a module imports. */
export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(([, , path = ""]) => path);
}

/** Modules in one, in their order; what they import of others it imports. Their names at the top must differ. */
export function joined(modules: ReadonlyMap<string, string>): string {
  const others = new Map<string, Set<string>>();
  const bodies = [...modules.values()].map((text) =>
    text.replaceAll(IMPORT, (_, names: string, path: string) => {
      if (modules.has(path)) return "";
      const taken = others.get(path) ?? new Set<string>();
      for (const name of names.split(/[\s,]+/)) if (name !== "") taken.add(name);
      others.set(path, taken);
      return "";
    }),
  );
  const heads = [...others].map(([path, names]) => `import { ${[...names].join(", ")} } from ".${path}";\n`);
  return bare([...heads, ...bodies].join(""));
}

/** The module with its imports of those taken from the one that holds them. */
export function pointed(
  text: string,
  { to, instead_of }: { readonly to: string; readonly instead_of: readonly string[] },
): string {
  return text.replaceAll(IMPORT, (whole, _, path: string) =>
    instead_of.includes(path) ? whole.replace(path, to) : whole,
  );
}

/** Without comments: people read them in the files. */
export function bare(text: string): string {
  return text
    .replaceAll(/^[ \t]*\/\*\*[\s\S]*?\*\/[ \t]*\n?/gm, "")
    .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, "")
    .replaceAll(/^[ \t]*\/\/.*\n/gm, "");
}

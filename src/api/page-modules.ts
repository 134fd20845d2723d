/** An import statement. A test checks that imports and comments start a line, and that imports rename nothing. */
const IMPORT = /^import \{([^}]*)\} from "\.(\/[\w-]+\.js)";\n/gm;
/** The path of an import from another module, in any folder; `import(` loads the module later. */
const PLACED = /((?:\bfrom |\bimport\()")\.{1,2}\/(?:(?:\w+|\.\.)\/)*([\w-]+\.js")/g;

/** Rewrites the paths of imports, because the box serves the modules of all folders as a single folder. */
export function flattened(text: string): string {
  return text.replaceAll(PLACED, "$1./$2");
}

/** Returns the paths that a module imports. */
export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(([, , path = ""]) => path);
}

/** Joins modules into one, in their order. Imports of any other modules remain. The modules' top-level names must differ. */
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

/** Redirects a module's imports of joined modules to the file that contains these modules. */
export function pointed(
  text: string,
  { to, instead_of }: { readonly to: string; readonly instead_of: readonly string[] },
): string {
  return text.replaceAll(IMPORT, (whole, _, path: string) =>
    instead_of.includes(path) ? whole.replace(path, to) : whole,
  );
}

/** Removes comments from a module. */
export function bare(text: string): string {
  return text
    .replaceAll(/^[ \t]*\/\*\*[\s\S]*?\*\/[ \t]*\n?/gm, "")
    .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, "")
    .replaceAll(/^[ \t]*\/\/.*\n/gm, "");
}

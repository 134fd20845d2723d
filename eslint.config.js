import tseslint from "typescript-eslint";

/** Globals that pure code must not use, so that it runs under virtual time. */
const IMPURE = [
  "Date",
  "process",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "fetch",
  "performance",
  "crypto",
  "Buffer",
];

const NO_ENUM = { selector: "TSEnumDeclaration", message: "Use a union of literals." };
/** What changes the whole process: test files of the kinds unit and long share theirs with others, which would meet it. */
const WHOLE_PROCESS = [
  "CallExpression[callee.object.name='vi'][callee.property.name=/^(useFakeTimers|setSystemTime|stubEnv|stubGlobal)$/]",
  "CallExpression[callee.object.name='process'][callee.property.name=/^(chdir|umask)$/]",
  "AssignmentExpression[left.object.object.name='process'][left.object.property.name='env']",
  "UnaryExpression[operator='delete'][argument.object.object.name='process']",
  "CallExpression[callee.property.name='defineProperty'] > MemberExpression[property.name='prototype']",
  "ImportSpecifier[imported.name='setFlagsFromString']",
];

export default tseslint.config(
  // The two main.ts are links to main.cjs, which is plain CommonJS: an old Node must be able to read it.
  { ignores: ["node_modules", "dist", "test/results", "src/main.ts", "simulators/main.ts", "src/domain/pure.d.ts"] },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: ["./tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines-per-function": ["error", { max: 70, skipComments: true, skipBlankLines: true }],
      "max-params": ["error", 3],
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-unnecessary-condition": [
        "error",
        { allowConstantLoopConditions: "only-allowed-literals" },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "no-restricted-syntax": [
        "error",
        { selector: "ExportDefaultDeclaration", message: "Named exports only." },
        NO_ENUM,
      ],
    },
  },
  {
    files: ["src/**/*.ts"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          paths: ["node:http", "node:https", "http", "https"].map((name) => ({
            name,
            allowTypeImports: true,
            message: "It would load undici, for WebSocket: take it from process.getBuiltinModule.",
          })),
        },
      ],
    },
  },
  {
    files: ["src/**/*.ts"],
    ignores: ["src/cli/terminal.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        ...["stdout", "stderr"].map((property) => ({
          object: "process",
          property,
          message: "Write through the command's io: src/cli/terminal.ts escapes control characters.",
        })),
      ],
    },
  },
  {
    files: ["src/{domain,derivation,reports}/**/*.ts", "src/*/rules/**/*.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...IMPURE.map((name) => ({ name, message: "rules are pure: take it as an argument." })),
      ],
      "no-restricted-properties": [
        "error",
        { object: "Math", property: "random", message: "rules are pure: take it as an argument." },
      ],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "max-lines-per-function": "off",
      "no-restricted-syntax": ["error", NO_ENUM],
    },
  },
  {
    files: ["test/**/*.ts"],
    // A benchmark is a process of its own.
    ignores: ["test/bench/**", ...["isolated", "system", "nightly"].map((kind) => `test/**/*.${kind}.test.ts`)],
    rules: {
      "no-restricted-syntax": [
        "error",
        NO_ENUM,
        ...WHOLE_PROCESS.map((selector) => ({ selector, message: "It shares a process: name it *.isolated.test.ts." })),
      ],
    },
  },
  {
    // What browsers load as it stands; its types are checked by a tsconfig of its own.
    files: ["src/api/page/**/*.js", "simulators/service/owner/page/*.js"],
    rules: {
      "max-lines-per-function": ["error", { max: 70, skipComments: true, skipBlankLines: true }],
      "max-params": ["error", 3],
      eqeqeq: "error",
      "no-console": "error",
      "no-eval": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({
          property,
          message: "Text is text: make elements with el().",
        })),
      ],
    },
  },
  { files: ["*.config.ts"], rules: { "no-restricted-syntax": "off" } },
);

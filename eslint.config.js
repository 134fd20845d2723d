import tseslint from "typescript-eslint";

/** Size limits keep a file readable in one sitting; core is pure, so that it runs under virtual time. */
const CORE_BANS = [
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

export default tseslint.config(
  // The two main.ts are links to main.cjs, which is plain CommonJS: an old Node must be able to read it.
  { ignores: ["node_modules", "dist", "test/results", "src/main.ts", "simulators/main.ts"] },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: ["./tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", 300],
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
        { selector: "TSEnumDeclaration", message: "Use a union of literals." },
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
    files: ["src/core/**/*.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...CORE_BANS.map((name) => ({ name, message: "core is pure: take it as an argument." })),
      ],
      "no-restricted-properties": [
        "error",
        { object: "Math", property: "random", message: "core is pure: take it as an argument." },
      ],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "max-lines-per-function": "off",
      "no-restricted-syntax": ["error", { selector: "TSEnumDeclaration", message: "Use a union of literals." }],
    },
  },
  {
    // What browsers load as it stands; its types are checked by a tsconfig of its own.
    files: ["src/api/page/*.js"],
    rules: {
      "max-lines": ["error", 300],
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

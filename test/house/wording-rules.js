/**
 * Lint rules for the wording of comments and test titles. They find only the plainest faults; CONTRIBUTING.md says how to write.
 */

/** Words that hide the subject of a sentence. */
const RIDDLES = /^(What|Who|Whose|Whom|Of|Where|One|None|That|Nobody|Somebody)\b/;
/** Starts of a title that says nothing about the subject, and verbs that say nothing about the result. */
const EMPTY_TITLE = /^(that|what|who|whose|of|where|one|none|it)\b|\b(works|helps|behaves)$/i;
const TITLED = new Set(["it", "test"]);

const firstWord = {
  meta: { type: "suggestion", docs: { description: "A doc comment starts with a verb or a noun." } },
  create(context) {
    return {
      Program() {
        for (const { type, value, loc } of context.sourceCode.getAllComments()) {
          if (type !== "Block" || !value.startsWith("*")) continue;
          const [word] = RIDDLES.exec(value.replace(/^\*[\s*]*/, "")) ?? [];
          if (word !== undefined)
            context.report({
              loc,
              message: `The comment starts with "${word}": start with a verb ("Returns") or a noun.`,
            });
        }
      },
    };
  },
};

const testTitle = {
  meta: { type: "suggestion", docs: { description: "A test title is a sentence that stands alone." } },
  create(context) {
    return {
      CallExpression({ callee, arguments: [title] }) {
        const name = callee.type === "MemberExpression" ? callee.object.name : callee.name;
        if (!TITLED.has(name) || title?.type !== "Literal" || typeof title.value !== "string") return;
        if (EMPTY_TITLE.test(title.value))
          context.report({ node: title, message: "Name the subject and what it does, in the present tense." });
      },
    };
  },
};

export default { meta: { name: "wording" }, rules: { "first-word": firstWord, "test-title": testTitle } };

/** Longest text of a table's cell: a cell holds a fact, not a paragraph. Link targets do not count, because readers don't see them. */
const MOST_CHARACTERS = 120;

export default {
  names: ["cell-length"],
  description: `A table cell has at most ${MOST_CHARACTERS} characters`,
  tags: ["table"],
  parser: "none",
  function: ({ lines }, onError) => {
    let isCode = false;
    lines.forEach((line, index) => {
      if (/^\s*```/.test(line)) isCode = !isCode;
      if (isCode || !line.startsWith("|")) return;
      for (const cell of line.split(/(?<!\\)\|/)) {
        const text = cell.trim().replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
        if (text.length > MOST_CHARACTERS)
          onError({ lineNumber: index + 1, detail: `${text.length} characters: ${text.slice(0, 40)}...` });
      }
    });
  },
};

// Adds up the test runner's reports and the static checks into the closing line; exits 1 where anything failed.
import { readFileSync } from "node:fs";

const [steps = "0", ...files] = process.argv.slice(2);
let [passed, failed, skipped] = [0, 0, 0];
for (const file of files) {
  try {
    const report = JSON.parse(readFileSync(file, "utf8"));
    passed += report.numPassedTests;
    failed += report.numFailedTests;
    skipped += report.numPendingTests + report.numTodoTests;
    for (const suite of report.testResults) {
      if (suite.status === "failed" && suite.assertionResults.every(({ status }) => status !== "failed")) failed += 1;
      for (const one of suite.assertionResults) if (one.status === "failed") console.log(`FAILED ${one.fullName}`);
    }
  } catch (error) {
    console.log(`no report in ${file}: ${error.message}`);
    failed += 1;
  }
}
try {
  // Each seed of the simulation counts as a test; which law it broke, its own step has said.
  const { seeds, broken } = JSON.parse(readFileSync("test/results/simulation.json", "utf8"));
  const bad = new Set(broken.map(({ seed }) => seed)).size;
  passed += seeds - bad;
  failed += bad;
} catch (error) {
  console.log(`no report of the simulation: ${error.message}`);
  failed += 1;
}
const failedSteps = Number(steps);
if (failedSteps > 0 && failed === 0) failed = failedSteps;
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failed > 0 || failedSteps > 0 ? 1 : 0;

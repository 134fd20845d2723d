// Adds up the test runner's reports and the static checks into the closing line, names before it what failed and why, and
// exits 1 where anything did.
import { readFileSync } from "node:fs";

const [results, ...failedSteps] = process.argv.slice(2);
const WHY_LINES = 12;
let [passed, failed, skipped] = [0, 0, 0];
const tell = (name, why) => console.log(`FAILED ${name}\n${why.split("\n").slice(0, WHY_LINES).join("\n")}`);
for (const file of ["tests.json", "long.json", "system.json"]) {
  try {
    const report = JSON.parse(readFileSync(`${results}/${file}`, "utf8"));
    passed += report.numPassedTests;
    failed += report.numFailedTests;
    skipped += report.numPendingTests + report.numTodoTests;
    for (const suite of report.testResults) {
      const broken = suite.assertionResults.filter(({ status }) => status === "failed");
      for (const one of broken) tell(one.fullName, one.failureMessages.join("\n"));
      if (suite.status !== "failed" || broken.length > 0) continue;
      failed += 1;
      tell(suite.name, suite.message);
    }
  } catch (error) {
    console.log(`no report in ${file}: ${error.message}`);
    failed += 1;
  }
}
try {
  // Each seed of the simulation counts as a test; which law it broke, its own step has said.
  const { seeds, broken } = JSON.parse(readFileSync(`${results}/simulation.json`, "utf8"));
  const bad = new Set(broken.map(({ seed }) => seed)).size;
  passed += seeds - bad;
  failed += bad;
} catch (error) {
  console.log(`no report of the simulation: ${error.message}`);
  failed += 1;
}
for (const step of failedSteps) {
  const output = readFileSync(`${results}/${step}.log`, "utf8").trimEnd();
  tell(`step: ${step}`, output.split("\n").slice(-WHY_LINES).join("\n"));
}
if (failedSteps.length > 0 && failed === 0) failed = failedSteps.length;
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failed > 0 ? 1 : 0;

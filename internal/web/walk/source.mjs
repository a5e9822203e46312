// Looks at the pages of a server that follows a source, in a headless Chromium.
//
//   node source.mjs PLAN      PLAN is JSON: {url, chromium, name, row, skill, says, shots}
//
// The row of the source on the health page must have the texts of row, and the facts of the skill
// those of says. It prints a JSON object {faults: […], done: […]}.
import { createRequire } from "node:module";
import { readFileSync, mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const faults = [], done = [];
const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

// look opens a page. The parts that a selector finds must be one, with all texts.
async function look(page, name, path, selector, texts) {
  const fault = (what) => faults.push(`${name}: ${what}`);
  const status = (await page.goto(plan.url + path)).status();
  if (status !== 200) fault(`the page has the status ${status}`);
  const found = await page.locator(selector).all();
  if (found.length !== 1) return fault(`there are ${found.length} of ${selector}`);
  if (!(await found[0].isVisible())) fault(`${selector} is not visible`);
  const said = await found[0].innerText();
  for (const text of texts) if (!said.includes(text)) fault(`${JSON.stringify(said)} does not have ${JSON.stringify(text)}`);
  await page.evaluate(axe);
  const report = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const v of report.violations) fault(`axe ${v.id} (${v.impact}): ${v.nodes.map((n) => n.target.join(" ")).join("; ")}`);
  if (await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) fault("wider than the window");
  if (plan.shots) {
    mkdirSync(plan.shots, { recursive: true });
    await page.screenshot({ path: `${plan.shots}/${name}.png`, fullPage: true });
  }
  done.push(name);
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
    await context.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
    const page = await context.newPage();
    const view = `${plan.name}-${colorScheme}-${width}`;
    page.on("console", (m) => { if (m.text().startsWith("policy:")) faults.push(`${view}: ${m.text()}`); });
    page.on("pageerror", (e) => faults.push(`${view}: ${e.message}`));
    await look(page, `health-${view}`, "/health", "[aria-label=Sources] tbody tr", plan.row);
    await look(page, `skill-${view}`, plan.skill, "aside dl.facts:has(dt:text-is('Source'))", plan.says);
    await context.close();
  }
}

await browser.close();
console.log(JSON.stringify({ faults, done }));

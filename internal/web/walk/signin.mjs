// Signs in at a provider in a headless Chromium, and out again.
//
//   node signin.mjs PLAN      PLAN is JSON: {url, issuer, chromium, open, closed, shots}
//
// It prints a JSON object {faults: […], done: […]}.
import { createRequire } from "node:module";
import { readFileSync, mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const faults = [], done = [];
const provider = new URL(plan.issuer).host;

const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

async function step(name, options, walk) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  const page = await context.newPage();
  page.on("console", (m) => { if (m.text().startsWith("policy:")) faults.push(`${name}: ${m.text()}`); });
  page.on("pageerror", (e) => { if (page.url().startsWith(plan.url)) faults.push(`${name}: ${e.message}`); });
  try {
    await walk(page, (ok, what) => { if (!ok) faults.push(`${name}: ${what}`); }, context);
    done.push(name);
  } catch (e) {
    faults.push(`${name}: ${e.message}\n${await page.content()}`);
  }
  await context.close();
}

async function inspect(page, name) {
  await page.evaluate(axe);
  const report = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const v of report.violations) faults.push(`${name}: axe ${v.id} (${v.impact}): ${v.nodes.map((n) => n.target.join(" ")).join("; ")}`);
  if (await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) faults.push(`${name}: wider than the window`);
  if (plan.shots) {
    mkdirSync(plan.shots, { recursive: true });
    await page.screenshot({ path: `${plan.shots}/${name}.png`, fullPage: true });
  }
}

// enter signs in at the provider, beginning at an address.
async function enter(page, path, person) {
  await page.goto(plan.url + path);
  await page.getByRole("link", { name: `Sign in with ${provider}` }).click();
  await page.waitForURL((url) => url.host === provider);
  await page.fill("#login", `${person}@example.com`);
  await page.fill("#password", "password");
  await page.click("#submit-login");
  await page.waitForURL((url) => url.origin === plan.url);
}

const mine = async (context) => (await context.cookies()).filter((c) => c.name.startsWith("knack"));

await step("the way in leads to the page that was asked for", {}, async (page, must, context) => {
  const refused = await page.goto(plan.url + plan.closed);
  must(refused.status() === 401, `the page has the status ${refused.status()}`);
  await enter(page, plan.closed, "anna");
  must(page.url() === plan.url + plan.closed, `it leads to ${page.url()}`);
  must(await page.getByText("anna@example.com").isVisible(), "the page does not say who looks at it");
  must(await page.getByRole("heading", { name: "invoice" }).first().isVisible(), "the group does not see its skill");
  const [cookie, ...more] = await mine(context);
  must(more.length === 0 && cookie.httpOnly && cookie.sameSite === "Lax" && cookie.path === "/", `the cookies are ${JSON.stringify([cookie, ...more])}`);
  const hours = (cookie.expires - Date.now() / 1000) / 3600;
  must(hours > 11 && hours <= 12, `it is for ${hours} hours`);
  must(!/code=|state=/.test(await page.evaluate(() => document.referrer + location.href)), "the code stays in the address");
});

await step("a person in no group sees less", {}, async (page, must) => {
  await enter(page, "/", "bert");
  must(!(await page.content()).includes("invoice"), "the list has a skill of the group");
  must((await page.goto(plan.url + plan.closed)).status() === 404, "a skill of the group is shown");
  must((await page.goto(plan.url + plan.open)).status() === 200, "a skill for all is not shown");
});

await step("signing out ends it", {}, async (page, must, context) => {
  await enter(page, plan.closed, "anna");
  const held = await mine(context);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(plan.url + "/signin?out");
  await inspect(page, "signed-out");
  must((await mine(context)).length === 0, "the cookie stays");
  await page.getByRole("link", { name: "Sign out there too" }).click();
  await page.waitForURL((url) => url.host === provider);
  await page.locator("form button[type=submit]").click(); // the provider asks first
  await page.waitForLoadState();
  await context.addCookies(held);
  must((await page.goto(plan.url + plan.closed)).status() === 401, "the session goes on");
  await page.getByRole("link", { name: `Sign in with ${provider}` }).click();
  await page.waitForURL((url) => url.host === provider);
  must(await page.locator("#password").isVisible(), "the provider still knows the person");
});

await step("going back after a refusal at the provider", {}, async (page, must) => {
  await page.goto(plan.url + "/signin/callback?error=access_denied&state=x");
  must(await page.getByRole("alert").isVisible(), "the page does not say what happened");
  await inspect(page, "signin-failed");
  await enter(page, plan.open, "bert");
  must(page.url() === plan.url + plan.open, `it leads to ${page.url()}`);
});

await step("without scripts", { javaScriptEnabled: false }, async (page, must) => {
  await enter(page, plan.open, "anna");
  must(page.url() === plan.url + plan.open, `it leads to ${page.url()}`);
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    await step(`signin-both-${colorScheme}-${width}`, { colorScheme, viewport: { width, height: 800 } }, async (page) => {
      await page.goto(plan.url + "/");
      await inspect(page, `signin-both-${colorScheme}-${width}`);
    });
  }
}

await browser.close();
console.log(JSON.stringify({ faults, done }));

// Walks a served catalogue in a headless Chromium: every page in each of the plan's
// themes and widths, the way in and out, the search, a link inside a skill, the theme
// button, and hostile skills.
// What a console, a policy, a failed request or axe complains of is a fault.
//
//   node walk.mjs PLAN      PLAN is JSON: {url, token, chromium, looks: [[theme, width]…], pages: [[name, path]…], shots}
//
// It prints a JSON object {faults: […], done: […]}.
import { createRequire } from "node:module";
import { readFileSync, mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { Validator } from "@seriousme/openapi-schema-validator";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const faults = [], done = [];
const widths = { phone: { width: 360, height: 800 }, tablet: { width: 768, height: 1024 }, wide: { width: 1280, height: 900 } };

const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

let state; // of a browser that has signed in

// open makes a page whose every complaint is a fault.
async function open(options, where) {
  const context = await browser.newContext({ storageState: state, ...options });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
  });
  const page = await context.newPage();
  const fault = (what) => faults.push(`${where.now}: ${what}`);
  page.on("console", (m) => { if (["error", "warning"].includes(m.type()) && !where.expected) fault(`console ${m.type()}: ${m.text()}`); });
  page.on("pageerror", (e) => fault(`exception: ${e.message}`));
  page.on("dialog", (d) => { fault(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("requestfailed", (r) => { const why = r.failure()?.errorText; if (why !== "net::ERR_ABORTED") fault(`request failed: ${r.url()} ${why}`); });
  page.on("request", (r) => { if (!r.url().startsWith(plan.url) && !r.url().startsWith("data:")) fault(`asks elsewhere: ${r.url()}`); });
  page.on("response", (r) => { if (r.status() >= 400 && !where.expected) fault(`${r.status()} ${r.url()}`); });
  return { context, page };
}

// inspect is what must hold of any page.
async function inspect(page, where) {
  await page.evaluate(axe);
  const report = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const v of report.violations) {
    faults.push(`${where}: axe ${v.id} (${v.impact}): ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join("; ")}`);
  }
  if (await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) faults.push(`${where}: wider than the window`);
  if (await page.evaluate(() => globalThis.ran !== undefined)) faults.push(`${where}: a skill's script ran`);
}

const step = async (name, options, walk) => {
  const where = { now: name };
  const { context, page } = await open({ viewport: widths.wide, ...options }, where);
  try {
    await walk(page, (ok, what) => { if (!ok) faults.push(`${name}: ${what}`); }, where, context);
    done.push(name);
  } catch (e) {
    faults.push(`${name}: ${e.message}`);
  }
  await context.close();
};

// signIn fills in the form that is shown.
async function signIn(page, token) {
  await page.fill("#token", token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

// focused waits until what is typed goes to an element: a page is shown before that.
const focused = (page, id) => page.waitForFunction((id) => document.activeElement.id === id, id);

await step("the way in", { storageState: undefined }, async (page, must, where, context) => {
  where.expected = true; // it is refused at first
  const there = plan.url + plan.skill + "?view=files";
  const refused = await page.goto(there);
  must(refused.status() === 401, `a page without a token has the status ${refused.status()}`);
  await focused(page, "token"); // or the token is not where one types
  must(!(await page.content()).includes("Compute and read"), "the form tells what is behind it");
  await signIn(page, plan.token + "x");
  await page.getByText("This token is not known here.").waitFor();
  must((await context.cookies()).length === 0, "a wrong token gets a cookie");
  await page.fill("#token", plan.token);
  await page.keyboard.press("Enter");
  await page.waitForURL(there);
  where.expected = false;
  must(await page.getByText("anna").isVisible(), "the page does not say who looks at it");
  const [cookie, ...more] = await context.cookies();
  must(more.length === 0 && cookie.httpOnly && cookie.sameSite === "Lax" && cookie.path === "/" && !plan.token.includes(cookie.value), `the cookie is ${JSON.stringify(cookie)}`);
  must((await page.evaluate(() => document.cookie)) === "", "scripts can read the cookie");
  await page.goto(plan.url + "/");
  must((await page.locator(".skills > li").count()) > 3, "the next page asks again");
  state = await context.storageState();
});

await step("the way in without scripts", { storageState: undefined, javaScriptEnabled: false }, async (page, must, where) => {
  where.expected = true;
  await page.goto(plan.url + "/health");
  await signIn(page, plan.token);
  await page.getByText("anna").waitFor();
  must(page.url() === plan.url + "/health" && await page.getByRole("heading", { name: "Health" }).isVisible(), "it leads elsewhere");
});

await step("the way out", { storageState: undefined }, async (page, must, where, context) => {
  where.expected = true;
  await page.goto(plan.url + plan.skill);
  await signIn(page, plan.token);
  await page.waitForURL(plan.url + plan.skill);
  const held = await context.cookies();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(plan.url + "/signin");
  must((await context.cookies()).length === 0, "the cookie stays");
  await page.goBack();
  must(!(await page.content()).includes("Compute and read"), "the way back leads in again");
  await context.addCookies(held);
  must((await page.goto(plan.url + "/")).status() === 401, "the session goes on after signing out");
});

await step("the way in leads nowhere else", { storageState: undefined }, async (page, must, where, context) => {
  where.expected = true;
  for (const to of ["//evil.example/", "///evil.example/", "/\\evil.example/", "https://evil.example/", "https:evil.example", "/\t/evil.example/", "javascript:ran=1", "/.//evil.example/", "//evil.example\\@x/"]) {
    await context.clearCookies();
    await page.goto(plan.url + "/health");
    await page.locator("input[name=to]").evaluate((field, to) => { field.value = to; }, to);
    await Promise.all([page.waitForResponse((r) => r.request().method() === "POST"), signIn(page, plan.token)]);
    await page.waitForLoadState();
    must(new URL(page.url()).origin === plan.url, `${JSON.stringify(to)} leads to ${page.url()}`);
  }
});

await step("pages of others", {}, async (page, must, where, context) => {
  where.expected = true;
  const form = `<form method="post" action="${plan.url}/signin"><input name="token" value="${plan.token}"><button>go</button></form>`;
  const other = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(`<!doctype html><title>other</title>${form}`));
  await new Promise((ready) => other.listen(0, ready));
  other.unref();
  page.removeAllListeners("request");
  page.removeAllListeners("requestfailed");
  const port = other.address().port;
  for (const [host, site] of [["127.0.0.1", "same-site"], ["localhost", "cross-site"]]) {
    await page.goto(`http://${host}:${port}/`);
    const blocked = page.waitForEvent("requestfailed", (r) => r.url() === plan.url + "/api/v1/skills");
    await page.evaluate((url) => { fetch(url, { mode: "no-cors", credentials: "include" }).catch(() => {}); }, plan.url + "/api/v1/skills");
    const why = (await blocked).failure().errorText;
    must(/NotSameOrigin/.test(why), `another server's page (${site}): ${why}`);
    const before = JSON.stringify(await context.cookies(plan.url));
    const [posted] = await Promise.all([page.waitForResponse((r) => r.request().method() === "POST"), page.getByRole("button", { name: "go" }).click()]);
    must(posted.status() === 403 && JSON.stringify(await context.cookies(plan.url)) === before, `another server's form (${site}) signs in: ${posted.status()}`);
    // A link is followed as one who has signed in.
    await page.goto(`http://${host}:${port}/`);
    await page.evaluate((url) => { location.href = url; }, plan.url + "/health");
    await page.getByRole("heading", { name: "Health" }).waitFor();
  }
});

for (const [colorScheme, width] of plan.looks) {
  const viewport = widths[width];
  const where = { now: "" };
  const shot = async (name, page, fullPage) => {
    if (!plan.shots) return;
    mkdirSync(plan.shots, { recursive: true });
    await page.screenshot({ path: `${plan.shots}/${name}-${colorScheme}-${width}.png`, fullPage });
  };
  const stranger = await open({ colorScheme, viewport, storageState: undefined }, where);
  where.expected = true; // it is refused
  for (const [name, wrong] of [["signin", false], ["signin-wrong", true]]) {
    where.now = `${name} ${colorScheme} ${width}`;
    await stranger.page.goto(plan.url + plan.skill);
    if (wrong) {
      await stranger.page.fill("#token", "knack_nobody");
      await stranger.page.getByRole("button", { name: "Sign in" }).click();
      await stranger.page.getByText("This token is not known here.").waitFor();
    }
    await inspect(stranger.page, where.now);
    await shot(name, stranger.page, true);
    done.push(where.now);
  }
  await stranger.context.close();
  where.expected = false;
  const { context, page } = await open({ colorScheme, viewport }, where);
  for (const [name, path] of plan.pages) {
    where.now = `${name} ${colorScheme} ${width}`;
    where.expected = name.startsWith("missing");
    const response = await page.goto(plan.url + path, { waitUntil: "load" });
    const policy = response.headers()["content-security-policy"] ?? "";
    if (!policy.includes("default-src 'none'") || /unsafe|\*|https?:/.test(policy)) faults.push(`${where.now}: policy ${policy}`);
    await inspect(page, where.now);
    await shot(name, page, name !== "connect");
    done.push(where.now);
  }
  await context.close();
}

await step("search as one types", {}, async (page, must) => {
  await page.goto(plan.url + "/");
  await focused(page, "q");
  await page.keyboard.type("tidal window");
  // Who types slowly is shown what the first letters find.
  await page.waitForURL((url) => url.searchParams.get("q") === "tidal window");
  must((await page.locator(".skills a").first().textContent()) === "tide-tables", "the first is another skill");
  must((await page.locator(".skills > li").count()) === 1, "more than one skill is found");
  await page.locator(".facets a", { hasText: "fine" }).click();
  await page.waitForURL(/state=fine/);
  must((await page.locator("#q").inputValue()) === "tidal window", "a filter forgets the search");
});

await step("the live region", {}, async (page, must) => {
  await page.goto(plan.url + "/");
  must((await page.locator("[role=status], [aria-live]").count()) === 1, "there is not one live region");
  await page.evaluate(() => {
    globalThis.said = [];
    new MutationObserver(() => said.push(document.getElementById("said").textContent)).observe(document.getElementById("said"), { childList: true, characterData: true, subtree: true });
  });
  await focused(page, "q");
  await page.keyboard.type("tidal window");
  await page.waitForFunction(() => said.at(-1)?.includes("tidal window"));
  const said = await page.evaluate(() => said.filter((text) => text.includes("tidal window")));
  must(said.length === 1 && said[0] === "1 match for tidal window", `it says ${JSON.stringify(said)}`);
});

// A reader without a mouse finds a skill, reads it, its source and a file, and returns.
await step("the whole path by keyboard", {}, async (page, must) => {
  const at = () => page.evaluate(() => document.activeElement.textContent.trim());
  const tabTo = async (text) => {
    for (let n = 0; n < 80; n++) {
      if ((await at()) === text) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`no way to ${text} with the tab key`);
  };
  await page.goto(plan.url + "/health");
  await page.keyboard.press("/");
  await page.waitForURL(plan.url + "/");
  await focused(page, "q");
  await page.keyboard.type("tide tables");
  await page.waitForURL(/q=tide/);
  await page.waitForFunction(() => document.getElementById("said").textContent.includes("tide tables"));
  const found = await page.locator("#results .skills h2 a").allTextContents();
  must(found.length > 1, `too few are found: ${found}`);
  await page.keyboard.press("ArrowDown");
  must((await at()) === found[0], "the arrow does not lead to the first skill");
  await page.keyboard.press("ArrowDown");
  must((await at()) === found[1], "the arrow does not lead to the next skill");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await focused(page, "q"); // or the arrow does not lead back to the search
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(plan.url + plan.skill);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter"); // past the frame
  await focused(page, "main");
  await tabTo("Files");
  await page.keyboard.press("Enter");
  await page.waitForURL(/view=files/);
  await tabTo("height.py");
  await page.keyboard.press("Enter");
  await page.waitForURL(/height\.py$/);
  await tabTo("tide-tables");
  await page.keyboard.press("Enter");
  await page.waitForURL(plan.url + plan.skill);
  await page.goto(plan.url + "/");
  await tabTo("most tokens");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sort=tokens/);
});

// A reader with a keyboard reaches the first skill with six presses of Tab, from the top of the page
// and from the search, where the page begins.
await step("the first result by keyboard", {}, async (page, must) => {
  const first = () => page.evaluate(() => document.activeElement === document.querySelector(".skills h2 a"));
  for (const top of [false, true]) {
    await page.goto(plan.url + "/");
    if (top) await page.evaluate(() => document.activeElement.blur());
    let presses = 0;
    while (!(await first()) && presses < 20) {
      presses++;
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.className === "skip")) await page.keyboard.press("Enter");
    }
    must(presses <= 6, `the first skill is ${presses} presses away`);
  }
});

await step("the roots on a phone", { viewport: { width: 390, height: 800 } }, async (page, must) => {
  await page.goto(plan.url + "/health");
  const [inner, outer] = await page.evaluate(() => {
    const e = document.querySelector("#roots .scroll");
    return [e.scrollWidth, e.clientWidth];
  });
  must(inner <= outer, `the table is ${inner} pixels wide, and its place ${outer}`);
});

await step("search without scripts", { javaScriptEnabled: false }, async (page, must) => {
  await page.goto(plan.url + "/");
  await page.fill("#q", "tidal window");
  await page.press("#q", "Enter");
  await page.waitForURL(/q=tidal/);
  must((await page.locator(".skills > li").count()) === 1, "one skill is to be found");
  must(!(await page.locator("#theme").isVisible()), "a button that does nothing is shown");
});

await step("links inside a skill", {}, async (page, must) => {
  await page.goto(plan.url + plan.skill);
  await page.getByRole("link", { name: "the reference" }).click();
  await page.waitForURL(/references\/method\.md#md-units$/);
  must(await page.getByRole("heading", { name: "Units" }).isVisible(), "the heading of the link is not there");
  await page.getByRole("link", { name: "back" }).click();
  await page.waitForURL(plan.url + plan.skill);
  must((await page.locator(".prose img").evaluate((i) => i.naturalWidth)) > 0, "the picture is not shown");
  must((await page.locator(".prose a.out").getAttribute("rel")).includes("noopener"), "a link that leads elsewhere is not marked");
});

await step("by keyboard", {}, async (page, must) => {
  await page.goto(plan.url + plan.skill);
  await page.keyboard.press("Tab");
  must(await page.evaluate(() => document.activeElement.className === "skip"), "the first stop is not the way to the content");
  await page.keyboard.press("Enter");
  await focused(page, "main"); // or the way to the content does not lead there
  await page.keyboard.press("/");
  await page.waitForURL(plan.url + "/");
  await focused(page, "q"); // or the search is not where one types
});

await step("the theme", { colorScheme: "light" }, async (page, must) => {
  await page.goto(plan.url + "/");
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await paper();
  await page.locator("#theme").click();
  const dark = await paper();
  must(light !== dark, "the button changes nothing");
  await page.goto(plan.url + "/health");
  must((await paper()) === dark, "the next page forgets the theme");
});

await step("copying", { permissions: ["clipboard-read", "clipboard-write"] }, async (page, must) => {
  await page.goto(plan.url + plan.skill);
  await Promise.all([page.getByText("Copied").waitFor(), page.locator(".copier").first().click()]); // which says so for a moment
  must((await page.evaluate(() => navigator.clipboard.readText())).startsWith("skill://"), "the URI is not what was copied");
});

await step("copying and downloading a skill", { permissions: ["clipboard-read", "clipboard-write"], acceptDownloads: true }, async (page, must) => {
  await page.goto(plan.url + plan.skill);
  await Promise.all([page.getByText("Copied").waitFor(), page.getByRole("button", { name: "Copy SKILL.md" }).click()]);
  must((await page.evaluate(() => navigator.clipboard.readText())).startsWith("---\nname: tide-tables\n"), "SKILL.md is not what was copied");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download .zip" }).click()]);
  must(file.suggestedFilename() === "tide-tables.zip" && (await file.failure()) === null, `the download is ${file.suggestedFilename()}`);
});

await step("a line of a source", {}, async (page, must) => {
  await page.goto(plan.url + plan.skill + "?view=source#L12");
  const shown = () => page.evaluate(() => document.querySelector(":target")?.id);
  must((await shown()) === "L12", "the line is not marked");
  await page.locator("#L3 a").click();
  must((await shown()) === "L3" && page.url().endsWith("#L3"), "a line's number does not lead to it");
});

await step("the list of contents", {}, async (page, must) => {
  await page.goto(plan.url + plan.contents);
  await page.locator(".contents").getByRole("link", { name: "Storm" }).click();
  must(page.url().endsWith("#md-storm") && await page.locator("#md-storm").isVisible(), "it leads elsewhere");
});

await step("from health to each figure of usage", {}, async (page, must) => {
  await page.goto(plan.url + "/health");
  await page.locator("#usage").getByRole("link", { name: /skills? never used$/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/used=never/);
  const never = await page.locator(".skills h2 a").allTextContents();
  must(never.includes("watch-bill") && !never.includes("invoice"), `never used: ${never}`);
  await page.goto(plan.url + "/health");
  await page.locator("#usage").getByRole("link", { name: "2 names not found" }).click();
  await page.waitForURL(/usage#missing$/);
  const names = await page.locator("#missing tbody th").allTextContents();
  must(names.join() === "<script>ran=1</script>,dredging", `the names are ${names}`);
  must(await page.locator("#weeks tbody tr").count() === 1, "there is not one week");
  must(await page.locator("#weeks rect").evaluateAll((all) => all.filter((bar) => bar.getBoundingClientRect().width > 1).length) === 2, "the week is not drawn");
  await page.goto(plan.url + plan.skill);
  must(/loaded once, read once since/.test(await page.locator(".about").textContent()), "the skill's page has no figure");
});

await step("what is drawn on a phone", { viewport: widths.phone }, async (page, must) => {
  await page.goto(plan.url + plan.skill);
  const tops = await page.locator(".tabs a").evaluateAll((all) => all.map((a) => a.getBoundingClientRect().top));
  must(tops.length === 5 && tops.every((top) => top === tops[0]), `the tabs are not in one row: ${tops}`);
  await page.goto(plan.url + "/usage");
  const sizes = await page.locator(".chart text").evaluateAll((all) => all.map((t) => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().d));
  must(sizes.length > 4 && sizes.every((size) => size > 10), `the chart's words are ${sizes} pixels high`);
  // A bar is there to be seen: it has a height and a colour of its own.
  for (const kind of ["loaded", "read"]) {
    const seen = await page.locator(`.chart rect.${kind}`).evaluateAll((all) => all.filter((bar) =>
      bar.getBoundingClientRect().height > 1 && !/^none$|^rgba.*, 0\)$/.test(getComputedStyle(bar).fill)).length);
    must(seen > 0, `the chart shows nothing that was ${kind}`);
  }
  await page.goto(plan.url + "/connect");
  const [boxes, covered] = await page.locator(".box").evaluateAll((all) => {
    const over = (box) => box.querySelector(".copier").getBoundingClientRect().left < box.querySelector("pre").getBoundingClientRect().right;
    return [all.length, all.filter(over).length];
  });
  must(boxes > 10 && covered === 0, `${covered} of ${boxes} buttons cover what they copy`);
});

await step("raw bytes do nothing", {}, async (page, must) => {
  for (const path of plan.raw) {
    const response = await page.goto(plan.url + path);
    must(/^text\/plain/.test(response.headers()["content-type"]), `${path} is ${response.headers()["content-type"]}`);
    must(/sandbox/.test(response.headers()["content-security-policy"]), `${path} is not in a sandbox`);
    must(await page.evaluate(() => globalThis.ran === undefined), `${path} ran`);
  }
});

await browser.close();

// The document of the API is one.
const document = await (await fetch(plan.url + "/api/v1/openapi.json", { headers: { Authorization: `Bearer ${plan.token}` } })).json();
// The validator takes a property that is called $schema for the keyword.
delete document.components.schemas.DiscoveryIndex.properties.$schema;
const verdict = await new Validator().validate(document);
if (!verdict.valid) faults.push("openapi.json: " + JSON.stringify(verdict.errors));
done.push("openapi.json");

console.log(JSON.stringify({ faults, done }));

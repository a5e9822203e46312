// Measures the first paint of the first page of two servers, by turns.
//
//   node paint.mjs PLAN      PLAN is JSON: {urls, token, chromium, least, most, within}
//
// It prints a JSON array with the shortest time for each server, in milliseconds. On a
// busy machine few loads have a time without waits: it goes on, up to most rounds, until
// the second is within the given ratio of the first.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const best = plan.urls.map(() => Infinity);
for (let round = 0; round < plan.most && (round < plan.least || best[1] > plan.within * best[0]); round++) {
  for (const [i, url] of plan.urls.entries()) {
    // Each reader is new, and has nothing of the page.
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, extraHTTPHeaders: { Authorization: `Bearer ${plan.token}` } });
    const page = await context.newPage();
    await page.goto(url + "/", { waitUntil: "load" });
    const painted = await page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntriesByName("first-contentful-paint")[0].startTime)).observe({ type: "paint", buffered: true });
    }));
    best[i] = Math.min(best[i], painted);
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(best));

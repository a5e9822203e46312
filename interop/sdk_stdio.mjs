// Drives a built knack over stdio with the TypeScript SDK, which is the client inside most of
// today's agents. It prints its results as one JSON object.
//
//   node sdk_stdio.mjs KNACK SKILLS_DIR
//
// SKILLS_DIR must contain at least one skill. One of the skills' files must have a NUL byte, and
// one must be empty. The script adds a skill to the folder, so give it a copy. It does not judge
// the results: a Go test compares the object with the expected one. The exit status is 0 if an
// object was printed, 1 if the server could not be driven, and 2 for wrong usage.

import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const CHANGE_MS = 25_000; // enough on a slow machine, and less than the 30 s until the periodic refresh
const WHOLE_MS = 120_000; // the time limit of the whole script

const ADDED = 'interop-added';
const ADDED_TEXT = `---
name: ${ADDED}
description: Appears while the server runs.
---

# Added
`;

class Usage extends Error {}

/** The regular files below dir, sorted, dot-entries left out as knack leaves them out. */
async function walk(dir) {
  const found = [];
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory()) found.push(...(await walk(path)));
    else if (entry.isFile()) found.push(path);
  }
  return found.sort();
}

/** Picks from the folder what the script is going to ask for. */
async function pick(dir) {
  const picked = {};
  for (const path of await walk(dir)) {
    const bytes = await readFile(path);
    if (path.endsWith(`${sep}SKILL.md`)) picked.skill ??= path;
    else if (bytes.length === 0) picked.empty ??= path;
    else if (bytes.includes(0)) picked.binary ??= path;
  }
  for (const kind of ['skill', 'binary', 'empty']) {
    if (!picked[kind]) throw new Usage(`no ${kind} file in ${dir}`);
  }
  return picked;
}

/** The URI of a file when the folder is the only root. */
function uriOf(dir, path) {
  return 'skill://' + relative(dir, path).split(sep).map(encodeURIComponent).join('/');
}

async function listAll(ask, key) {
  const all = [];
  let cursor;
  do {
    const page = await ask(cursor ? { cursor } : undefined);
    all.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor);
  return all;
}

/** What resources/read answered, and whether the bytes are those on disk. */
async function read(client, uri, path) {
  const { contents } = await client.readResource({ uri });
  const disk = await readFile(path);
  return {
    uri,
    contents: contents.map((c) => {
      const bytes = 'blob' in c ? Buffer.from(c.blob, 'base64') : Buffer.from(c.text, 'utf8');
      return {
        uri: c.uri,
        mimeType: c.mimeType ?? null,
        form: 'blob' in c ? 'blob' : 'text',
        size: bytes.length,
        same: bytes.equals(disk),
      };
    }),
  };
}

/** Adds a skill and tells after how many milliseconds each sign of it was seen; null is never. */
async function change(client, dir) {
  const seen = { toolsChangedMs: null, resourcesChangedMs: null, toolListedMs: null, resourceListedMs: null };
  let begin = Infinity; // so that a notification about an earlier change does not count
  const mark = (key) => {
    const ms = Math.round(performance.now() - begin);
    if (ms >= 0) seen[key] ??= ms;
  };
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => mark('toolsChangedMs'));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => mark('resourcesChangedMs'));

  begin = performance.now();
  const folder = join(dir, ADDED);
  await mkdir(folder);
  await writeFile(join(folder, 'SKILL.md'), ADDED_TEXT);

  const uri = uriOf(dir, join(folder, 'SKILL.md'));
  while (performance.now() - begin < CHANGE_MS && Object.values(seen).includes(null)) {
    const tools = await listAll((p) => client.listTools(p), 'tools');
    if (tools.some((t) => t.description?.includes(ADDED))) mark('toolListedMs');
    const resources = await listAll((p) => client.listResources(p), 'resources');
    if (resources.some((r) => r.uri === uri)) mark('resourceListedMs');
    await new Promise((done) => setTimeout(done, 20));
  }
  return { uri, ...seen };
}

async function main(args) {
  if (args.length !== 2) throw new Usage('usage: node sdk_stdio.mjs KNACK SKILLS_DIR');
  const [knack, dir] = args.map((arg) => resolve(arg));
  if (!(await stat(knack).catch(() => null))?.isFile()) throw new Usage(`no such file: ${knack}`);
  if (!(await stat(dir).catch(() => null))?.isDirectory()) throw new Usage(`no such folder: ${dir}`);
  const files = await pick(dir);

  const transport = new StdioClientTransport({
    command: knack,
    args: ['serve', '--dir', dir, '--no-builtin'],
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr.on('data', (chunk) => (stderr += chunk));
  const client = new Client({ name: 'knack-interop', version: '1.0.0' });
  const errors = [];
  client.onerror = (err) => errors.push(String(err?.message ?? err));
  try {
    await client.connect(transport);
    const skillURI = uriOf(dir, files.skill);
    const name = files.skill.split(sep).at(-2);
    const out = {
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions() ?? null,
      tools: await listAll((p) => client.listTools(p), 'tools'),
      resources: await listAll((p) => client.listResources(p), 'resources'),
      call: { name, result: await client.callTool({ name: 'skill', arguments: { name } }) },
      skill: await read(client, skillURI, files.skill),
      binary: await read(client, uriOf(dir, files.binary), files.binary),
      empty: await read(client, uriOf(dir, files.empty), files.empty),
      change: await change(client, dir),
      call2: { name: ADDED, result: await client.callTool({ name: 'skill', arguments: { name: ADDED } }) },
    };
    await client.close();
    return { ...out, errors, stderr };
  } catch (err) {
    if (stderr) err.message += `\nknack said: ${stderr.trim()}`;
    throw err;
  } finally {
    await client.close().catch(() => {});
  }
}

setTimeout(() => {
  console.error(`sdk_stdio: not done after ${WHOLE_MS} ms`);
  process.exit(1);
}, WHOLE_MS).unref();

try {
  console.log(JSON.stringify(await main(process.argv.slice(2)), null, 2));
} catch (err) {
  console.error(`sdk_stdio: ${err.message}`);
  process.exitCode = err instanceof Usage ? 2 : 1;
}

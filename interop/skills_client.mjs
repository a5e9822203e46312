// Reads every skill of a server with the TypeScript SDK's SkillsClient, and prints its results as
// one JSON object.
//
//   node skills_client.mjs legacy|auto|modern|list http URL
//   node skills_client.mjs legacy|auto|modern|list stdio COMMAND [ARG]…
//
// The modes modern and list are pinned to 2026-07-28, and list only lists the skills. In the other
// modes, the script gets every entry again by its URI, reads and hashes every file, and walks every
// folder. "problems" contains each disagreement; a Go test judges them. The exit status is 0 if an
// object was printed, 1 if the server could not be driven, and 2 for wrong usage.

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';

const SKILL_MD = '/SKILL.md';
const pinned = { mode: { pin: '2026-07-28' } };
const modes = { legacy: { mode: 'legacy' }, auto: { mode: 'auto' }, modern: pinned, list: pinned };

const [mode, kind, target, ...args] = process.argv.slice(2);
if (!modes[mode] || !target || !['http', 'stdio'].includes(kind)) {
  console.error('usage: node skills_client.mjs legacy|auto|modern|list http URL | stdio COMMAND [ARG]…');
  process.exit(2);
}

const client = new Client({ name: 'knack-interop', version: '1.0.0' }, { versionNegotiation: modes[mode], listMaxPages: 10_000 });
const transport =
  kind === 'http' ? new StreamableHTTPClientTransport(new URL(target)) : new StdioClientTransport({ command: target, args, stderr: 'ignore' });
await client.connect(transport);
const skills = new SkillsClient(client);

const seen = { protocol: client.getNegotiatedProtocolVersion(), files: 0, bytes: 0, folders: 0, problems: [] };
const problem = (uri, what) => seen.problems.push(`${uri}: ${what}`);

/** The files below a folder, by the server's own directory listings. */
async function walk(uri) {
  seen.folders++;
  const found = [];
  for (const r of (await skills.readDirectory(uri)).resources) {
    if (r.mimeType === 'inode/directory') found.push(...(await walk(r.uri)));
    else found.push(r.uri);
  }
  return found;
}

async function file(entry, listed) {
  const read = await skills.read(entry, listed.uri);
  if (!read.verified) problem(listed.uri, 'not verified');
  if (read.bytes.length !== listed.size) problem(listed.uri, `${read.bytes.length} bytes, not ${listed.size}`);
  const digest = 'sha256:' + createHash('sha256').update(read.bytes).digest('hex');
  if (digest !== listed.digest) problem(listed.uri, `${digest}, not ${listed.digest}`);
  seen.files++;
  seen.bytes += read.bytes.length;
}

const listing = await skills.list();
for (const entry of mode === 'list' ? [] : listing.skills) {
  const { skill } = await skills.get(entry.uri);
  if (!isDeepStrictEqual(skill, entry)) problem(entry.uri, 'skills/get and skills/list differ');
  if (!Array.isArray(entry.resources)) {
    problem(entry.uri, 'no manifest');
    continue;
  }
  for (const listed of entry.resources) await file(entry, listed).catch((err) => problem(listed.uri, String(err?.message ?? err)));
  const walked = await walk(entry.uri.slice(0, -SKILL_MD.length));
  if (!isDeepStrictEqual(walked.sort(), entry.resources.map((r) => r.uri).sort())) problem(entry.uri, 'the folders and the manifest differ');
}
await client.close();
console.log(JSON.stringify({ ...seen, ttlMs: listing.ttlMs ?? null, cacheScope: listing.cacheScope ?? null, skills: listing.skills }));

// Drives a server with the older TypeScript SDK, which has no support for skills. It sends raw
// requests, and prints its results as one JSON object.
//
//   node sdk_raw.mjs http URL
//   node sdk_raw.mjs stdio COMMAND [ARG]…
//
// The exit status is 0 if an object was printed, 1 if the server could not be driven, and 2 for
// wrong usage.

import { createHash } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';

const [kind, target, ...args] = process.argv.slice(2);
if (!target || !['http', 'stdio'].includes(kind)) {
  console.error('usage: node sdk_raw.mjs http URL | stdio COMMAND [ARG]…');
  process.exit(2);
}
const client = new Client({ name: 'knack-interop', version: '1.0.0' });
const transport =
  kind === 'http' ? new StreamableHTTPClientTransport(new URL(target)) : new StdioClientTransport({ command: target, args, stderr: 'ignore' });
await client.connect(transport);

const ask = (method, params) => client.request({ method, params }, ResultSchema.passthrough());
/** What a request is refused with. */
const refusal = (method, params) => ask(method, params).then(() => null, (err) => err.code ?? String(err));

const seen = { protocol: transport.protocolVersion ?? null, skills: 0, pages: 0, files: 0, problems: [], hints: [] };
let cursor;
do {
  const page = await ask('skills/list', cursor ? { cursor } : {});
  for (const key of Object.keys(page)) if (!['skills', 'nextCursor', '_meta'].includes(key)) seen.hints.push(key);
  for (const entry of page.skills) {
    seen.skills++;
    for (const listed of entry.resources) {
      const { contents } = await client.readResource({ uri: listed.uri });
      const bytes = Buffer.concat(contents.map((c) => ('blob' in c ? Buffer.from(c.blob, 'base64') : Buffer.from(c.text, 'utf8'))));
      const digest = 'sha256:' + createHash('sha256').update(bytes).digest('hex');
      if (digest !== listed.digest || bytes.length !== listed.size) seen.problems.push(listed.uri);
      seen.files++;
    }
  }
  seen.pages++;
  cursor = page.nextCursor;
} while (cursor);
seen.tools = (await client.listTools()).tools.length;
seen.refused = {
  skill: await refusal('skills/get', { uri: 'skill://there/is/none/SKILL.md' }),
  folder: await refusal('resources/directory/read', { uri: 'skill://there-is-none' }),
  file: await refusal('resources/read', { uri: 'skill://there/is/none.md' }),
  cursor: await refusal('skills/list', { cursor: 'forged' }),
};
await client.close();
console.log(JSON.stringify(seen));

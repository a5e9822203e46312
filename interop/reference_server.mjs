// Serves a folder of skills over HTTP with the TypeScript SDK's own server, and prints its URL.
//
//   node reference_server.mjs SKILLS_DIR
//
// It ends when its standard input closes.

import { createServer } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';

const [dir] = process.argv.slice(2);
if (!dir) {
  console.error('usage: node reference_server.mjs SKILLS_DIR');
  process.exit(2);
}
const catalog = await loadSkills(dir, { onWarning: () => {} });
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'reference', version: '1' }, { capabilities: { resources: {} } });
  catalog.attach(server);
  return server;
});
const http = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const answer = await handler.fetch(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: Object.entries(request.headers),
      body: chunks.length > 0 ? Buffer.concat(chunks) : undefined,
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
});
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

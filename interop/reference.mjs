// Prints, as one JSON object, the entries that the TypeScript SDK's own server would list for a
// folder of skills, and the warnings about the skills that it leaves out.
//
//   node reference.mjs SKILLS_DIR

import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';

const [dir] = process.argv.slice(2);
if (!dir) {
  console.error('usage: node reference.mjs SKILLS_DIR');
  process.exit(2);
}
const warnings = [];
const catalog = await loadSkills(dir, { onWarning: ({ path, message }) => warnings.push({ path, message }) });
console.log(JSON.stringify({ skills: catalog.entries, warnings }));

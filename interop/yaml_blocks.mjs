// Reads frontmatter with a YAML library that shares no code with knack's. Each line of the input is
// a block as a JSON string, and each line of the output a JSON object. The object contains name and
// description as the library reads them, the reason if it refuses the block, and the value of each
// field when it is read alone.
import { createInterface } from "node:readline";
import { isAlias, isMap, isScalar, parseDocument } from "yaml";

// The failsafe schema leaves every scalar as text. A repeated key is an error.
const options = { schema: "failsafe", version: "1.2", uniqueKeys: true, strict: true, logLevel: "silent" };

const scalar = (node) => {
	if (node == null) return { kind: "null", text: "" };
	if (isAlias(node)) return { kind: "alias", text: "*" + node.source };
	if (!isScalar(node)) return { kind: node.constructor.name, text: "" };
	return { kind: "text", text: String(node.value), style: node.type, odd: Boolean(node.anchor || node.tag) };
};

function whole(block) {
	let doc;
	try {
		doc = parseDocument(block, options);
	} catch (e) {
		return { refused: String(e.message).split("\n")[0] };
	}
	if (doc.errors.length > 0) return { refused: doc.errors[0].code };
	if (doc.contents == null) return { refused: "EMPTY" };
	if (!isMap(doc.contents)) return { refused: "NOT_A_MAP" };
	const out = {};
	for (const key of ["name", "description"]) {
		const pair = doc.contents.items.find((p) => isScalar(p.key) && p.key.value === key);
		if (pair) out[key] = scalar(pair.value);
	}
	return out;
}

// fields implements the rule for a block that cannot be read. It cuts the block at the keys in the
// first column, reads each field alone, and takes a field that still fails as text. Of two fields
// with the same key, the first counts. A quoted text whose lines are not indented is read as if
// they were.
function fields(block) {
	const out = {};
	let key = "", lines = [];
	const close = () => {
		if ((key === "name" || key === "description") && !(key in out)) {
			const read = whole(lines.join("\n") + "\n");
			const bare = [lines[0].slice(lines[0].indexOf(":") + 1), ...lines.slice(1)].join("\n");
			out[key] = read[key] ?? { kind: "raw", text: bare, refused: read.refused ?? "NO_KEY" };
			if (read.refused && /^\s*["']/.test(bare)) {
				const indented = whole(lines.join("\n ") + "\n")[key];
				if (indented) out[key] = { ...indented, kind: "indented" };
			}
		}
	};
	for (const line of block.split(/\r\n|\r|\n/)) {
		const found = /^(?:([A-Za-z_][\w.-]*)|"([^"]+)"|'([^']+)')[ \t]*:([ \t]|$)/.exec(line);
		if (found) {
			close();
			key = found[1] ?? found[2] ?? found[3];
			lines = [];
		}
		lines.push(line);
	}
	close();
	return out;
}

for await (const line of createInterface({ input: process.stdin })) {
	const block = JSON.parse(line);
	console.log(JSON.stringify({ whole: whole(block), fields: fields(block) }));
}

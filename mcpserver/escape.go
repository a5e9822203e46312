package mcpserver

import "bytes"

// unescapeHTML takes back, in place, what the SDK's types for contents escape
// although no browser reads it: \u003c, \u003e and \u0026 for <, > and &. A
// skill's code is full of them, and each would cost six bytes.
func unescapeHTML(line []byte) []byte {
	if !bytes.Contains(line, []byte(`\u00`)) {
		return line
	}
	out := line[:0]
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' || i+1 == len(line) {
			out = append(out, line[i])
			continue
		}
		if i+6 <= len(line) {
			switch string(line[i : i+6]) {
			case `\u003c`:
				out = append(out, '<')
				i += 5
				continue
			case `\u003e`:
				out = append(out, '>')
				i += 5
				continue
			case `\u0026`:
				out = append(out, '&')
				i += 5
				continue
			}
		}
		out = append(out, line[i], line[i+1]) // what follows a backslash belongs to it
		i++
	}
	return out
}

package mcpserver_test

import (
	"fmt"
	"strings"
)

// oddCall is a call with params without _meta, as text.
type oddCall struct{ method, params string }

// oddCalls returns calls in usual and unusual forms.
func oddCalls() (all []oddCall) {
	add := func(method string, params ...string) {
		for _, p := range params {
			all = append(all, oddCall{method, p})
		}
	}
	lists := []string{``, `{}`, `null`, `[]`, `7`, `{"cursor":""}`, `{"cursor":null}`, `{"cursor":7}`, `{"cursor":"x"}`, `{"cursor":"MSBza2lsbDovL2EvU0tJTEwubWQ"}`, `{"Cursor":"x"}`, `{"cursor":"","cursor":"x"}`, `{"other":{"a":[1,null]}}`, `{"cursor":"\ud800"}`}
	for _, method := range []string{"tools/list", "skills/list"} {
		add(method, lists...)
	}
	uris := []string{``, `{}`, `null`, `{"uri":""}`, `{"uri":null}`, `{"uri":7}`, `{"uri":"x"}`, `{"uri":"skill://none/SKILL.md"}`, `{"uri":"skill://a-first/SKILL.md"}`, `{"uri":"skill:\/\/a-first\/SKILL.md"}`, `{"URI":"skill://a-first/SKILL.md"}`, `{"\u0075ri":"skill://a-first/SKILL.md"}`,
		`{"uri":"skill://none/SKILL.md","uri":"skill://a-first/SKILL.md"}`, `{"uri":"skill://a-first"}`, `{"uri":"skill://"}`, `{"uri":"skill://f-bad/SKILL.md"}`, `{"uri":"skill://a-first/data.bin"}`, `{"uri":"skill://a-first/large.txt"}`, `{"uri":"skill://a-first/crlf.txt"}`, `{"uri":"skill://a-first/empty-file.txt"}`, `{"uri":"skill://a-first/.env"}`, `{"uri":"skill://a-first/..%2f..%2fx"}`, `{"uri":"skill://a-first/\ud800"}`, `{"uri":"skill://a-first/scripts","cursor":"x"}`, `{"uri":"skill://a-first/scripts","cursor":""}`, `{"uri":"skill://many"}`}
	for _, method := range []string{"resources/read", "skills/get"} {
		add(method, uris...)
	}
	add("tools/call", ``, `{}`, `null`, `{"name":"none"}`, `{"name":7}`, `{"name":null}`, `{"name":"skill"}`, `{"name":"skill","arguments":null}`, `{"name":"skill","arguments":{}}`, `{"name":"skill","arguments":[]}`, `{"name":"skill","arguments":"x"}`, `{"name":"skill","arguments":{"name":"a-first"}}`, `{"name":"skill","arguments":{"name":"a-first","name":"none"}}`, `{"name":"skill","arguments":{"Name":"a-first"}}`,
		`{"Name":"skill","arguments":{"name":"a-first"}}`, `{"name":"none","name":"skill","arguments":{"name":"a-first"}}`, `{"name":"skill","arguments":{"name":"none"}}`, `{"name":"skill","arguments":{"name":7}}`, `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"large.txt"}}`, `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"none"}}`, `{"name":"find_skills","arguments":{"query":"has"}}`,
		`{"name":"skill","arguments":{"name":"a-first"},"inputResponses":{}}`, `{"name":"skill","arguments":{"name":"a-first"},"requestState":"x"}`, `{"name":"skill","arguments":{"name":"\ud83d\ude00 \ud800"}}`,
		`{"name":"get_skill","arguments":{"skill_name":"a-first"}}`, `{"name":"get_skill","arguments":{"uri":"skill://a-first/SKILL.md"}}`, `{"name":"get_skill","arguments":{"skill_name":"none"}}`, `{"name":"list_skills"}`, `{"name":"list_skills","arguments":{"x":1}}`)
	add("prompts/get", ``, `{}`, `null`, `{"name":"none"}`, `{"name":7}`, `{"name":"a-first"}`, `{"name":"a-first","arguments":{}}`, `{"name":"a-first","arguments":null}`, `{"name":"a-first","arguments":{"request":"do it"}}`, `{"name":"a-first","arguments":{"request":7}}`, `{"name":"a-first","arguments":{"request":null}}`, `{"name":"a-first","arguments":{"other":"x"}}`, `{"name":"a-first","arguments":{"request":"a","request":"b"}}`, `{"name":"a-first","arguments":[]}`)
	add("completion/complete", ``, `{}`, `null`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"a"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":""}}`, `{"ref":{"type":"ref/resource","uri":"x"},"argument":{"name":"path","value":"a"}}`, `{"ref":{"type":"ref/prompt","name":"a-first"},"argument":{"name":"request","value":"b"}}`, `{"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"request","value":"b"}}`,
		`{"ref":{"type":"ref/other"},"argument":{"name":"path","value":"a"}}`, `{"ref":{},"argument":{"name":"x","value":""}}`, `{"ref":null,"argument":null}`, `{"ref":{"type":"ref/prompt","name":"a-first","uri":"x"},"argument":{"name":"request","value":"b"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"a"},"context":{"arguments":{"x":"y"}}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{}}`)
	// Calls with long or deceptive texts. An error may repeat only a short name.
	add("tools/call", `"SECRET"`, `["SECRET"]`, `"`+strings.Repeat("SECRET", 200_000)+`"`, `{"name":5,"arguments":{"x":"SECRET"}}`, `{"name":5,"into Go struct field mcp.SECRET of type string":"SECRET"}`,
		`{"name":"nope","arguments":{"x":"SECRET"}}`, `{"name":"`+strings.Repeat("n", 1_000_000)+`"}`)
	add("prompts/get", `{"name":"git","arguments":["SECRET"]}`, `{"name":"git","arguments":{"a into Go struct field SECRET":5}}`)
	add("completion/complete", `{"ref":{"type":5},"argument":{"name":"a","value":"b"}}`, `{"ref":5,"argument":5}`, `{"ref":{"type":"x into Go struct field SECRET of type y"},"argument":{"name":"a","value":"b"}}`)
	add("skills/get", `{"uri":{"SECRET":1}}`, `{"uri":"skill://g-meta/SKILL.md"}`, `{"uri":"skill://A-FIRST/SKILL.md"}`, `{"uri":"skill://e-folder/SKILL.md"}`, `{"uri":"skill://j-same/SKILL.md"}`, `{"uri":"skill://x/../a-first/SKILL.md"}`, `{"uri":"file:///etc/passwd"}`)
	add("SECRET", `{}`)
	add(strings.Repeat("SECRET", 100_000), `{}`)
	add("ping", ``, `{}`)
	add("server/discover", ``)
	add("logging/setLevel", ``, `null`, `[]`, `{}`, `{"level":7}`, `{"level":"loud"}`, `{"level":"info"}`)
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		add(method, ``, `null`, `{}`, `{"uri":7}`, `{"uri":"x"}`, `{"uri":"skill://none/SKILL.md"}`, `{"uri":"skill://a-first"}`, `{"uri":"skill://a-first/SKILL.md"}`)
	}
	add("subscriptions/listen", ``, `{}`, `{"notifications":7}`, `{"notifications":{"toolsListChanged":7}}`, `{"notifications":{"resourceSubscriptions":7}}`)
	add("initialize", ``, `null`, `{}`, `{"protocolVersion":7}`, `{"clientInfo":7}`, `{"clientInfo":{"name":7}}`, `{"capabilities":7}`, `{"capabilities":{"roots":7}}`)
	add("notifications/initialized", `{}`)
	add("notifications/other", `{}`)
	add("none/such", ``, `{}`)
	return all
}

// oddMetas has values of a call's _meta, by name. The value with the empty name stands for no
// _meta.
var oddMetas = map[string]string{
	"":                    ``,
	"modern":              doorMeta,
	"empty":               `"_meta":{}`,
	"null":                `"_meta":null`,
	"no object":           `"_meta":7`,
	"a client's own":      `"_meta":{"progressToken":1,"callId":"exec-1","claudecode/toolUseId":"toolu_1"}`,
	"another call id":     `"_meta":{"callId":7}`,
	"a progress token":    `"_meta":{"progressToken":{"a":1}}`,
	"without client":      `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
	"without capability":  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`,
	"version alone":       `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
	"a session's version": `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"a later version":     `"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"a long version":      `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + strings.Repeat("9", 2000) + `","io.modelcontextprotocol/clientCapabilities":{}}`,
	"an array":            `"_meta":["SECRET"]`,
	"version of a number": `"_meta":{"io.modelcontextprotocol/protocolVersion":7}`,
	"client of a number":  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":7,"io.modelcontextprotocol/clientCapabilities":{}}`,
	"client without name": `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"client mistyped":     `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":7,"version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"client with icons":   `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1","icons":7},"io.modelcontextprotocol/clientCapabilities":{}}`,
	"many capabilities":   `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{"listChanged":true},"x":1}}`,
	"capabilities null":   `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":null}`,
	"capabilities array":  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":[]}`,
	"twice":               doorMeta + `,"_meta":{}`,
	"in another case":     strings.Replace(doorMeta, "_meta", "_Meta", 1),
	"versions twice":      strings.Replace(doorMeta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25",`, 1),
}

// oddMessages returns messages that decoders may read differently, by name. Some are not calls.
func oddMessages() map[string]string {
	all := map[string]string{
		"no message":             `x`,
		"an empty object":        `{}`,
		"a batch":                `[` + callText("1", "tools/list", `{}`) + `]`,
		"an empty body":          " \n",
		"null":                   `null`,
		"a number":               ` 5`,
		"a text":                 `"x"`,
		"a comma too many":       `{"jsonrpc":"2.0",}`,
		"an error without id":    `{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}`,
		"a result without id":    `{"jsonrpc":"2.0","id":null,"result":{}}`,
		"a space not of JSON":    callText("1", "ping", "") + "\u00a0",
		"initialize of a number": callText("1", "initialize", `{"protocolVersion":5}`),
		"initialize again":       initialize("1", legacy),
		"half in a method":       callText("1", `p\ud800ing`, ""),
		"half in a tool's name":  callText("1", "tools/call", `{"name":"t\udfff","arguments":{}}`),
		"two messages":           callText("1", "tools/list", `{}`) + callText("2", "tools/list", `{}`),
		"blanks around":          " \t" + callText("1", "tools/list", `{}`) + " \t",
		"a byte-order mark":      "\ufeff" + callText("1", "tools/list", `{}`),
		"no UTF-8":               callText("1", "tools/call", `{"name":"skill","arguments":{"name":"`+"\xff"+`"}}`),
		"no UTF-8 in a key":      callText("1", "tools/call", `{"name":"skill","arguments":{"`+"\xc3"+`":1}}`),
		"half a surrogate pair":  callText("1", "resources/read", `{"uri":"skill://a-first/\ud83d"}`),
		"the other half":         callText("1", "resources/read", `{"uri":"skill://a-first/\ude00\ud83d"}`),
		"a surrogate pair":       callText("1", "resources/read", `{"uri":"skill://a-first/\ud83d\ude00"}`),
		"half in an argument":    callText("1", "tools/call", `{"name":"skill","arguments":{"name":"\ud83d"}}`),
		"a control character":    callText("1", "tools/call", "{\"name\":\"skill\",\"arguments\":{\"name\":\"\x01\"}}"),
		"another version":        `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`,
		"no version":             `{"id":1,"method":"tools/list"}`,
		"an unknown member":      `{"jsonrpc":"2.0","id":1,"method":"tools/list","extra":1}`,
		"a result too":           `{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}`,
		"a null error too":       `{"jsonrpc":"2.0","id":1,"method":"tools/list","error":null}`,
		"a method twice":         `{"jsonrpc":"2.0","id":1,"method":"none","method":"tools/list"}`,
		"an id twice":            `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`,
		"params twice":           `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{},"params":{"uri":"skill://a-first/SKILL.md"}}`,
		"a method in capitals":   `{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`,
		"a capital method":       callText("1", "Tools/List", `{}`),
		"an escaped method":      `{"jsonrpc":"2.0","id":1,"method":"tools\/list"}`,
		"an escaped key":         `{"jsonrpc":"2.0","id":1,"\u006dethod":"tools/list"}`,
		"a method of a number":   `{"jsonrpc":"2.0","id":1,"method":7}`,
		"a notification":         `{"jsonrpc":"2.0","method":"tools/list"}`,
	}
	for _, id := range []string{
		`0`, `-0`, `-1`, `1.0`, `1.5`, `1e3`, `1E400`, `01`, `999999999999999`, `9007199254740991`, `9007199254740993`, `123456789012345678901234567890`,
		`""`, `"a"`, `"1"`, `"\u0061"`, `"\ud800"`, `"a\ud800b"`, `"\uDC00"`, `"\ud83d\ud83d"`, `"\ud83d\\ude00"`, `"\uD83D\uDE00"`, `"\\ud800\ufffd"`, `"ä\u20ac"`, `"<&>\u2028"`, `"\u0000"`, `null`, `true`, `[]`, `[1]`, `{}`, `{"a":1}`,
	} {
		all["the id "+id] = callText(id, "resources/templates/list", `{}`)
	}
	for _, depth := range []int{60, 64, 70, 999, 1100, 10_000} {
		nested := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		all[fmt.Sprint("arguments of depth ", depth)] = callText("1", "tools/call", `{"name":"skill","arguments":{"name":"a-first","x":`+nested+`}}`)
		all[fmt.Sprint("params of depth ", depth)] = callText("1", "tools/list", `{"x":`+nested+`}`)
	}
	return all
}

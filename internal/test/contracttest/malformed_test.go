//go:build unix

package contracttest

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
)

// TestMalformed checks that each contract answers bad arguments in its own words and shape, over
// MCP and in function calls. Bad arguments are no object, a missing or surplus key, a wrong type,
// and a huge value.
func TestMalformed(t *testing.T) {
	const noObject = "they must be one JSON object"
	huge := strings.Repeat("x", 1<<17)
	kinds := []string{`5`, `1e400`, `true`, `["x"]`, `{"x":"y"}`, `[[[[]]]]`}
	type contract struct {
		id, set, tool string
		w             *world
		noObject      answer
		empty         answer            // for no arguments, null, or arguments without the required keys
		wrongType     map[string]answer // by the key whose value has the wrong type
		more          answer            // the answer to extra
		extra, null   string            // arguments with a surplus key, and with null for the first key
		huge          map[string]answer // by arguments
		also          map[string]answer
	}
	runner, universal, wave, uri := runnerWorld(t), universalWorld(t), waveWorld(t), uriWorld(t)
	invalidTool := func(why string) answer { return docError("Invalid tool arguments: " + why) }
	invalidFile := func(name, path, why string) answer { return fileError(name, path, "Invalid tool arguments: "+why) }
	special := "Invalid skill name: must not contain special characters"
	for _, c := range []contract{
		{id: "000-schema", set: "runner", tool: "get_skill", w: runner,
			noObject: invalidTool(noObject), empty: badName(""), null: `{"skill_name":null}`,
			wrongType: map[string]answer{"skill_name": invalidTool("'skill_name' must be a string")},
			extra:     `{"skill_name":"calculator","x":1}`, more: doc("calculator", calculatorDoc),
			huge: map[string]answer{`{"skill_name":"` + huge + `"}`: badName(huge), `{"` + huge + `":1}`: badName("")}},
		{id: "001-definition", set: "runner", tool: "read_file_in_skill", w: runner,
			noObject: invalidFile("", "", noObject), empty: fileError("", "", special), null: `{"skill_name":null,"file_path":null}`,
			wrongType: map[string]answer{"skill_name": invalidFile("", "", "'skill_name' must be a string"), "file_path": invalidFile("", "", "'file_path' must be a string")},
			extra:     `{"skill_name":"calculator","file_path":"notes.txt","x":1}`, more: utf8File("calculator", "notes.txt", "notes"),
			huge: map[string]answer{
				`{"skill_name":"` + huge + `","file_path":"x"}`:          fileError(huge, "x", special),
				`{"skill_name":"calculator","file_path":"` + huge + `"}`: fileError("calculator", huge, "File '"+display.Echo(huge)+"' not found in skill 'calculator'"),
			},
			also: map[string]answer{
				`{"skill_name":"calculator"}`:                           fileError("calculator", "", "Invalid file path: must not be empty"),
				`{"file_path":"x"}`:                                     fileError("", "x", special),
				`{"skill_name":"calculator","file_path":["notes.txt"]}`: invalidFile("calculator", "", "'file_path' must be a string"),
			}},
		{id: "002-schema", set: "universal", tool: "skill", w: universal,
			noObject: invalid(noObject), empty: invalid("'name' is missing; give the name of a skill"), null: `{"name":null}`,
			wrongType: map[string]answer{"name": invalid("'name' must be a string"), "command": invalid("'command' must be a string")},
			extra:     `{"name":"git","x":1}`, more: invalid("unrecognized key 'x'; the only one is 'name'"),
			huge: map[string]answer{`{"name":"` + huge + `"}`: skillMissing(huge),
				`{"` + huge + `":1}`: invalid("unrecognized key '" + huge[:40] + "…'; the only one is 'name'")}},
		{id: "003-validation-2", set: "wave", tool: "Skill", w: wave,
			noObject: waveInvalid("", noObject, "Give skill_name alone, as a string: the name of one of the available skills"), empty: waveMissing(""), null: `{"skill_name":null}`,
			wrongType: map[string]answer{"skill_name": waveInvalid("", "'skill_name' must be a string", "Give skill_name alone, as a string: the name of one of the available skills")},
			extra:     `{"skill_name":"skill-1","x":1}`, more: waveInvalid("skill-1", "unrecognized key 'x'; the only one is 'skill_name'", "Give skill_name alone, as a string: the name of one of the available skills"),
			huge: map[string]answer{`{"skill_name":"` + huge + `"}`: waveMissing(huge)}},
		{id: "004-request-1", set: "uri", tool: "get_skill", w: uri,
			noObject: noURI, empty: noURI, null: `{"uri":null}`,
			wrongType: map[string]answer{"uri": noURI},
			extra:     `{"uri":"` + engage + `","x":1}`, more: answer{isError: true, text: "Invalid arguments for tool get_skill: unrecognized key 'x'; the only one is 'uri'"},
			huge: map[string]answer{`{"uri":"` + huge + `"}`: noURI, `{"uri":"skill://` + huge + `"}`: unsupported("skill://" + huge[:display.EchoLimit-len("skill://")])}},
	} {
		t.Run(c.id, func(t *testing.T) {
			ask := func(args string, want answer) {
				t.Helper()
				if c.w.ask(t, c.set, c.tool, args, want); t.Failed() {
					t.Fatalf("%s %s: %.80s", c.set, c.tool, args)
				}
			}
			for _, args := range []string{`[]`, `["x"]`, `[{"skill_name":"calculator"}]`, `5`, `-1.5e3`, `true`, `false`, `"x"`, `"calculator"`} {
				ask(args, c.noObject)
			}
			for _, args := range []string{``, `null`, `{}`, ` { } `, c.null} {
				ask(args, c.empty)
			}
			for key, want := range c.wrongType {
				for _, value := range kinds {
					ask(`{"`+key+`":`+value+`}`, want)
				}
			}
			ask(c.extra, c.more)
			for args, want := range c.huge {
				ask(args, want)
			}
			for args, want := range c.also {
				ask(args, want)
			}
		})
	}
}

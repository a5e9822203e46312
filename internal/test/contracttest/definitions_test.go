//go:build unix

package contracttest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/tool/profile"
)

// defined is the whole definition of a tool in its contract. brief is the description in an OpenAI
// definition, if that differs.
type defined struct{ name, title, description, brief, schema string }

// metas contains the _meta of the default set's definitions. The contracts define no _meta.
var metas = map[string]map[string]any{
	defaultHead: {"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": 500_000.0},
	defaultRead: {"anthropic/maxResultSizeChars": 500_000.0},
}

// The texts of the contracts. The template of contract 002 is in testdata, word for word.
const (
	noParameters  = `{"type":"object","properties":{}}`
	getSchema     = `{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name)"}},"required":["skill_name"]}`
	readSchema    = `{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name containing the file)"},"file_path":{"type":"string","description":"Relative path to file within skill folder (e.g., 'examples/usage.py', 'docs/api.md')"}},"required":["skill_name","file_path"]}`
	skillSchema   = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"Name of the skill to load (case-insensitive)"}},"required":["name"],"additionalProperties":false}`
	waveSchema    = `{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill to invoke from available skills"}},"required":["skill_name"],"additionalProperties":false}`
	uriSchema     = `{"type":"object","properties":{"uri":{"type":"string","minLength":1,"description":"URI of the skill, for example skill://engage/SKILL.md"}},"required":["uri"],"additionalProperties":false}`
	defaultSchema = `{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill, as find_skills gives it or as listed"},"file_path":{"type":"string","description":"Path of the file relative to the skill's folder, for example 'examples/usage.py'; '.' lists the folder"},` +
		`"offset":{"type":"integer","minimum":1,"description":"Line to begin at, to read on in a long file; the first is 1"},"limit":{"type":"integer","minimum":1,"description":"How many lines at most"},` +
		`"column":{"type":"integer","minimum":1,"description":"Character of that line to begin at, for a line that is longer than an answer; the first is 1"}},"required":["skill_name","file_path"]}`

	defaultHead = `Load a skill: instructions for one kind of task, written by the user or their team. Load the one that fits before you begin; find_skills searches them.

Give the name of a skill below, or the skill:// URI of its SKILL.md, and follow what it says. The list may be shortened: every name that find_skills returns can be loaded here. A file that a skill mentions is read with read_file_in_skill.

`
	defaultRead = `Read a file of a skill: what its SKILL.md refers to, such as references, examples or scripts; or list one of its folders.

The path is relative to the skill's folder. A file comes whole, unless it is longer than your application shows of an answer: then the last line says how long it is and which call reads on.`
	findDescription = `Search all skills by topic, best match first, or list all of them; it also says which skills were skipped and why.

Use it when no listed skill fits, when a list of skills was shortened, or when a skill that should be there is missing. Without a query it lists all skills, page by page. Load what it finds with the skill tool, by name.`
	findSchema = `{"type":"object","properties":{"query":{"type":"string","description":"Two to six English keywords for the task, with the file type or the product, as in \"pptx slides from notes\". Leave it out to list all skills."},"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many skills at most"},"cursor":{"type":"string","description":"Where to go on: the cursor that an earlier answer gave"}}}`
)

func (d defined) parameters(t *testing.T) any { return parsed(t, d.schema) }

// as returns the definition in the given format.
func (d defined) as(t *testing.T, f function.Format) any {
	switch f {
	case function.OpenAI:
		return map[string]any{"type": "function", "function": map[string]any{"name": d.name, "description": or(d.brief, d.description), "parameters": d.parameters(t)}}
	case function.Anthropic:
		return map[string]any{"name": d.name, "description": d.description, "input_schema": d.parameters(t)}
	case function.Gemini:
		return map[string]any{"name": d.name, "description": d.description, "parametersJsonSchema": d.parameters(t)}
	}
	out := map[string]any{"name": d.name, "title": d.title, "description": d.description, "inputSchema": d.parameters(t),
		"annotations": map[string]any{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}}
	for begins, meta := range metas {
		if strings.HasPrefix(d.description, begins) {
			out["_meta"] = meta
		}
	}
	return out
}

// TestDefinitions compares the whole definitions of each set of tools, over MCP and in each format.
func TestDefinitions(t *testing.T) {
	file, err := os.ReadFile("testdata/002-template.txt")
	must(t, err)
	template := strings.TrimSuffix(string(file), "\n")
	elements := "<skill>\n<name>CI/CD &lt;Pipeline&gt;</name>\n<description>Ships &lt;it&gt; &amp; more</description>\n<location>project</location>\n</skill>\n" +
		"<skill>\n<name>git</name>\n<description>Git deployment workflow skill</description>\n<location>project</location>\n</skill>\n" +
		"<skill>\n<name>mcp-builder</name>\n<description>MCP server development guide</description>\n<location>global</location>\n</skill>"
	filled := func(list string) string { return strings.Replace(template, "${dynamicSkillsList}", list, 1) }
	_, listAlone, _ := strings.Cut(template, "<available_skills>\n${")
	if listAlone != "dynamicSkillsList}\n</available_skills>" {
		t.Fatalf("the template ends %q", listAlone)
	}
	for _, set := range []struct {
		name  string
		tools []defined
	}{
		{"runner", []defined{
			{"list_skills", "List Skills", "Lists the available skills.", "", noParameters},
			{"get_skill", "Get Skill", "Read the SKILL.MD documentation for a specific skill. Returns the full text content of the documentation file.", "", getSchema},
			{"read_file_in_skill", "Read File in Skill", "Read any file within a skill's folder. Use this when SKILL.MD references additional documentation, examples, or configuration files. Path must be relative to skill folder.", "", readSchema},
		}},
		{"universal", []defined{{"skill", "Load Skill", filled(elements), "", skillSchema}}},
		{"wave", []defined{{"Skill", "Skill", "Invoke skills based on available skill metadata. Skills: - git: Git deployment workflow skill\n- mcp-builder: MCP server development guide",
			"Invoke a skill to apply specialized expertise and capabilities", waveSchema}}},
		{"uri", []defined{
			{"list_skills", "List Skills", "List all skills with URI, name and description. Read the one that fits the task with get_skill, by its URI.", "", noParameters},
			{"get_skill", "Get Skill", "Read a skill, whole, by its skill:// URI. For clients that cannot read resources: the text is the one that the resource of that URI has. list_skills lists all URIs; skill://engage/SKILL.md says how to use skills.", "", uriSchema},
		}},
		{"default", []defined{
			{"skill", "Load Skill", defaultHead + "<available_skills>\n" + elements + "\n</available_skills>", "", skillSchema},
			{"read_file_in_skill", "Read File in Skill", defaultRead, "", defaultSchema},
			{"find_skills", "Find Skills", findDescription, "", findSchema},
		}},
	} {
		t.Run(set.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"git/SKILL.md": gitMD, "pipeline/SKILL.md": md("CI/CD <Pipeline>", "Ships <it> & more"), "bad/SKILL.md": "x",
				"hidden/SKILL.md": "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n"},
				map[string]string{"mcp-builder/SKILL.md": md("mcp-builder", "MCP server development guide")})
			w.sameDefinitions(t, set.name, set.tools)
		})
	}
	w := newWorld(t, nil)
	w.sameDefinitions(t, "universal", []defined{{"skill", "Load Skill", filled("(none)"), "", skillSchema}})
	w.sameDefinitions(t, "wave", []defined{{"Skill", "Skill", "Invoke skills based on available skill metadata. Skills: (none)", "Invoke a skill to apply specialized expertise and capabilities", waveSchema}})
}

func (w *world) sameDefinitions(t *testing.T, set string, tools []defined) {
	t.Helper()
	all := func(f function.Format) any {
		list := []any{}
		for _, d := range tools {
			list = append(list, d.as(t, f))
		}
		if f == function.Gemini {
			return map[string]any{"functionDeclarations": list}
		}
		return list
	}
	line := w.session(set).request(t, "tools/list", `{}`)
	var m struct{ Result struct{ Tools any } }
	must(t, json.Unmarshal([]byte(line), &m))
	if d := cmp.Diff(all(function.MCP), m.Result.Tools); d != "" {
		t.Errorf("%s over MCP: -want +got:\n%s", set, d)
	}
	for _, f := range function.Formats() {
		data, err := function.Definitions(t.Context(), w.host(), toolsOf(t, set), f, profile.Client{Limit: profile.Unlimited})
		must(t, err)
		if d := cmp.Diff(all(f), parsed(t, string(data))); d != "" {
			t.Errorf("%s as %s: -want +got:\n%s", set, f, d)
		}
		if bytes.Contains(data, []byte(`\u003c`)) {
			t.Errorf("%s as %s: HTML is escaped", set, f)
		}
	}
}

//go:build unix

package contracttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/tool"
)

// TestVisibility checks that the operator sees every call and its result, in the form of contract
// 001. It calls the Go API and each format of a function call. The scripts of internal/cli test the
// output of knack call.
func TestVisibility(t *testing.T) {
	w := newWorld(t, map[string]string{"calculator/SKILL.md": md("calculator", "Adds"), "calculator/examples/basic.py": basicPy, "calculator/long.txt": strings.Repeat("é", 2003)})
	for _, r := range []struct{ args, want string }{
		{`{"file_path":"examples/basic.py","skill_name":"calculator"}`, "[Tool Call] read_file_in_skill(skill_name=\"calculator\", file_path=\"examples/basic.py\")\n[Tool Result] " + basicPy},
		{`{"skill_name":"calculator","file_path":"long.txt"}`, "[Tool Call] read_file_in_skill(skill_name=\"calculator\", file_path=\"long.txt\")\n[Tool Result] " + strings.Repeat("é", 2000) + "… (3 more characters)"},
		{`{"skill_name":"calculator","file_path":"examples/missing.py"}`, "[Tool Call] read_file_in_skill(skill_name=\"calculator\", file_path=\"examples/missing.py\")\n[Tool Result] ERROR: File 'examples/missing.py' not found in skill 'calculator'"},
		{`{"skill_name":"nonexistent","file_path":"README.md"}`, "[Tool Call] read_file_in_skill(skill_name=\"nonexistent\", file_path=\"README.md\")\n[Tool Result] ERROR: Skill 'nonexistent' not found in skills folder"},
	} {
		var seen []string
		h := tool.NewHost(w.catalog)
		h.Observe = func(e tool.Event) { seen = append(seen, e.String()) }
		_, err := toolsOf(t, "runner")[2].Call(t.Context(), h, []byte(r.args))
		must(t, err)
		for f, in := range map[function.Format]string{
			function.OpenAI:    `{"id":"call_abc123","type":"function","function":{"name":"read_file_in_skill","arguments":` + quote(r.args) + `}}`,
			function.Anthropic: `{"type":"tool_use","id":"toolu_1","name":"read_file_in_skill","input":` + r.args + `}`,
			function.Gemini:    `{"functionCall":{"name":"read_file_in_skill","args":` + r.args + `}}`,
			function.MCP:       `{"name":"read_file_in_skill","arguments":` + r.args + `}`,
		} {
			_, err := function.Call(t.Context(), h, toolsOf(t, "runner"), f, []byte(in))
			must(t, err)
		}
		if d := cmp.Diff([]string{r.want, r.want, r.want, r.want, r.want}, seen); d != "" {
			t.Errorf("%s: -want +got:\n%s", r.args, short(d))
		}
	}
}

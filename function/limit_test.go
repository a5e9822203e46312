package function_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// libraryOf returns a host with n skills, whose names and descriptions have characters that servers
// count differently.
func libraryOf(t testing.TB, n int) *tool.Host {
	t.Helper()
	files := fstest.MapFS{}
	for i := range n {
		name := fmt.Sprintf("skill-%04d", i)
		files[name+"/SKILL.md"] = md(name, "Moves 😀 the Größe of page "+strconv.Itoa(i)+strings.Repeat(" and of others", 9))
	}
	c := catalog.New([]catalog.Source{Files{Label: "library", FS: files}}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tool.NewHost(c)
}

// described returns the descriptions of a format's definitions, by the tools' names.
func described(t testing.TB, data json.RawMessage) map[string]string {
	t.Helper()
	type one struct {
		Name, Description string
		Function          *one
	}
	var all []one
	if data[0] == '{' {
		var gemini struct{ FunctionDeclarations []one }
		if err := json.Unmarshal(data, &gemini); err != nil {
			t.Fatal(err)
		}
		all = gemini.FunctionDeclarations
	} else if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, d := range all {
		if d.Function != nil {
			d = *d.Function
		}
		texts[d.Name] = d.Description
	}
	return texts
}

// TestDescriptionLimit checks the definitions of every set in every format, for few and many
// skills. Each description keeps the limit in UTF-16 units, the largest count in use. A shortened
// description names the tool that shows the rest. OpenAI's format has a limit of its own.
func TestDescriptionLimit(t *testing.T) {
	for _, n := range []int{2, 50, 1000} {
		h := libraryOf(t, n)
		for _, set := range append(tool.SetNames(), "runner,universal") {
			for _, format := range function.Formats() {
				for _, limit := range []int{profile.Unlimited, 0, 1024, 1100, 5000} {
					name := fmt.Sprintf("%d skills, %s as %s, limit %d", n, set, format, limit)
					data, err := function.Definitions(t.Context(), h, toolsOf(t, set), format, profile.Client{Limit: limit})
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					most := limit
					if limit == 0 && format == function.OpenAI {
						most = 1024
					}
					texts := described(t, data)
					if len(texts) != len(toolsOf(t, set)) {
						t.Fatalf("%s: %d descriptions", name, len(texts))
					}
					for called, text := range texts {
						if units := len(utf16.Encode([]rune(text))); most > 0 && units > most || units == 0 {
							t.Errorf("%s: %s has %d characters", name, called, units)
						}
						checkList(t, name+", "+called, text, n)
					}
				}
			}
		}
	}
}

// checkList checks that a description with a list of n skills gives the number of skills that the
// list lacks.
func checkList(t *testing.T, name, text string, n int) {
	t.Helper()
	_, list, ok := strings.Cut(text, "<available_skills>\n")
	if !ok {
		_, list, ok = strings.Cut(text, "Skills: ")
	}
	if !ok {
		return // a tool without a list
	}
	list = strings.TrimSuffix(list, "\n</available_skills>")
	named, whole := strings.Count(list, "skill-"), strings.Count(list, "and of others and of others and of others and of others and of others and of others and of others and of others and of others")
	last := list[strings.LastIndexByte(list, '\n')+1:]
	switch {
	case named < n:
		if !strings.Contains(last, fmt.Sprintf("%d more", n-named)) || !strings.Contains(last, "find_skills") && !strings.Contains(last, "by its name") && !strings.Contains(last, "an unknown name lists") {
			t.Errorf("%s: %d of %d skills are named, and the list ends in %q", name, named, n, last)
		}
	case whole < n:
		if !strings.HasPrefix(last, "(descriptions ") {
			t.Errorf("%s: %d of %d descriptions are whole, and the list ends in %q", name, whole, n, last)
		}
	}
}

// TestDescriptionLimitTooLow checks that the fixed words of a contract are never cut.
func TestDescriptionLimitTooLow(t *testing.T) {
	_, err := function.Definitions(t.Context(), libraryOf(t, 2), toolsOf(t, "universal"), function.MCP, profile.Client{Limit: 1000})
	if err == nil || err.Error() != "the description of the tool skill takes 1022 characters without a list of skills, and 1000 are allowed" {
		t.Errorf("%v", err)
	}
}

// TestElsewhere checks that tools from elsewhere follow the set's tools in every format, with
// descriptions within the limit, and that no hints about their behaviour are added.
func TestElsewhere(t *testing.T) {
	h, set := libraryOf(t, 2), toolsOf(t, "default")
	long := strings.Repeat("Writes a file. ", 100)
	more := tool.Definition{Name: "files__write", Description: long, Schema: json.RawMessage(`{"type":"object"}`)}
	for format, c := range map[function.Format]struct{ end, description, definition string }{
		function.OpenAI:    {"]", strings.TrimSpace(long[:1020]), `{"type":"function","function":{"name":"files__write","description":"TEXT","parameters":{"type":"object"}}}`},
		function.Anthropic: {"]", long, `{"name":"files__write","description":"TEXT","input_schema":{"type":"object"}}`},
		function.Gemini:    {"]}", long, `{"name":"files__write","description":"TEXT","parametersJsonSchema":{"type":"object"}}`},
		function.MCP:       {"]", long, `{"name":"files__write","description":"TEXT","inputSchema":{"type":"object"}}`},
	} {
		alone, err := function.Definitions(t.Context(), h, set, format, profile.Client{})
		if err != nil {
			t.Fatal(err)
		}
		both, err := function.Definitions(t.Context(), h, set, format, profile.Client{}, more)
		want := strings.TrimSuffix(string(alone), c.end) + "," + strings.Replace(c.definition, "TEXT", c.description, 1) + c.end
		if diff := cmp.Diff(want, string(both)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", format, err, diff)
		}
	}
}

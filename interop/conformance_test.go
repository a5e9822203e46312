package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checked is one check of the conformance suite.
type checked struct{ ID, Status, ErrorMessage string }

// verdict is one scenario's result.
type verdict struct {
	passed, failed              int
	warnings, failures, skipped []string
}

func (v verdict) String() string {
	out := fmt.Sprintf("%d of %d", v.passed, v.passed+v.failed)
	if len(v.warnings) > 0 {
		out += ", " + plural(len(v.warnings), "warning")
	}
	if len(v.skipped) > 0 {
		out += fmt.Sprintf(", %d skipped", len(v.skipped))
	}
	return out
}

var summary = regexp.MustCompile(`Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings`)

const suite = packages + "conformance/dist/index.js"

// scenario runs one scenario against a server. One that was skipped whole is a
// failure: the suite itself calls it none.
func scenario(t *testing.T, url, name, version string) (verdict, []string) {
	t.Helper()
	program := node(t, "conformance")
	out := t.TempDir()
	args := []string{suite, "server", "--url", url, "--scenario", name}
	if strings.HasPrefix(name, "sep-2640-") {
		if version == legacy { // an extension is in no version: unforced the suite skips it
			args = append(args, "--spec-version", version, "--force")
		}
	} else {
		args = append(args, "--spec-version", version)
	}
	r := start(t, program, append(args, "-o", out)...)
	files, _ := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if len(files) != 1 || !summary.MatchString(r.stdout) {
		t.Fatalf("%s at %s was not run: exit status %d: %s%s", name, version, r.code, r.stdout, r.stderr)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []checked
	if err := json.Unmarshal(data, &checks); err != nil {
		t.Fatal(err)
	}
	var v verdict
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			v.passed++
		case "FAILURE":
			v.failed++
			v.failures = append(v.failures, c.ID+": "+c.ErrorMessage)
		case "WARNING":
			v.warnings = append(v.warnings, c.ID)
		case "INFO":
		default: // SKIPPED, and what a later suite invents
			v.skipped = append(v.skipped, c.ID)
		}
	}
	if want := fmt.Sprintf("Passed: %d/%d, %d failed, %d warnings", v.passed, v.passed+v.failed, v.failed, len(v.warnings)); !strings.Contains(r.stdout, want) {
		t.Errorf("%s at %s: its file says %q, its summary %q", name, version, want, summary.FindString(r.stdout))
	}
	if v.passed+v.failed == 0 {
		t.Errorf("%s at %s checked nothing", name, version)
	}
	return v, args
}

// TestInteropConformanceSkills: the three scenarios of SEP-2640 pass with every
// check, none left out, no warning but one.
func TestInteropConformanceSkills(t *testing.T) {
	t.Parallel()
	node(t, "conformance")
	binary := knack(t)
	for _, tree := range trees(t) {
		url := tree.http(t)
		for _, version := range []string{legacy, modern} {
			for _, name := range []string{"sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"} {
				v, args := scenario(t, url, name, version)
				var allowed []string
				if tree.name == "corpus" && name == "sep-2640-skills-enumeration" {
					// Nine names repeat; nothing is ever dropped for its name.
					allowed = []string{"sep-2640-names-should-be-unique"}
				}
				var absent []string
				if version == legacy && name == "sep-2640-skills-enumeration" { // the members of an answer that 2026-07-28 brought
					absent = []string{"sep-2640-skills-list-cache-attributes", "sep-2640-skills-get-cache-attributes"}
				}
				if v.failed > 0 || !slices.Equal(v.skipped, absent) || !slices.Equal(v.warnings, allowed) {
					t.Errorf("%s, %s, %s: %v, warnings %q, want %q, skipped %q, want %q, failures %q", tree.name, name, version,
						v, v.warnings, allowed, v.skipped, absent, v.failures)
				}
				matrix.cell(t, "skills", "conformance, "+name, web, version, tree.name, v.String(), command(binary, url, tree.dir, append([]string{"node"}, args...)...))
			}
		}
	}
}

// reasons say why a scenario does not pass whole. It needs what the reason names,
// and a server of skills does not have it.
var reasons = map[string]string{
	"completion-complete":                  "completes the suite's prompt test_prompt_with_arguments",
	"elicitation-sep1034-defaults":         "calls the suite's tool test_elicitation_sep1034_defaults",
	"elicitation-sep1330-enums":            "calls the suite's tool test_elicitation_sep1330_enums",
	"http-custom-header-server-validation": "wants a tool with x-mcp-header",
	"json-schema-2020-12":                  "looks at the suite's tool json_schema_2020_12_tool",
	"prompts-get-embedded-resource":        "gets the suite's prompt test_prompt_with_embedded_resource",
	"prompts-get-simple":                   "gets the suite's prompt test_simple_prompt",
	"prompts-get-with-args":                "gets the suite's prompt test_prompt_with_arguments",
	"prompts-get-with-image":               "gets the suite's prompt test_prompt_with_image",
	"resources-read-binary":                "reads the suite's test://static-binary",
	"resources-read-text":                  "reads the suite's test://static-text",
	"resources-subscribe":                  "subscribes to the suite's test://watched-resource, which a server that knows its resources refuses",
	"resources-templates-read":             "reads the suite's test://template/123/data",
	"resources-unsubscribe":                "subscribes to the suite's test://watched-resource",
	"server-sse-polling":                   "passes; warns as it calls the suite's tool test_reconnection, which would close its stream and be resumed",
	"server-stateless":                     "passes but for what needs the suite's tools test_missing_capability, test_streaming_elicitation and test_logging_tool, and its triggers of list changes",
	"tools-call-audio":                     "calls the suite's tool test_audio_content",
	"tools-call-elicitation":               "calls the suite's tool test_elicitation",
	"tools-call-embedded-resource":         "calls the suite's tool test_embedded_resource",
	"tools-call-error":                     "calls the suite's tool test_error_handling",
	"tools-call-image":                     "calls the suite's tool test_image_content",
	"tools-call-mixed-content":             "calls the suite's tool test_multiple_content_types",
	"tools-call-sampling":                  "calls the suite's tool test_sampling",
	"tools-call-simple-text":               "calls the suite's tool test_simple_text",
	"tools-call-with-logging":              "calls the suite's tool test_tool_with_logging",
	"tools-call-with-progress":             "calls the suite's tool test_tool_with_progress",
}

// reasonFor knows the groups too.
func reasonFor(name string) string {
	if strings.HasPrefix(name, "input-required-result-") {
		return "calls the suite's tools or prompts that ask back"
	}
	return reasons[name]
}

var listed = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)

// TestInteropConformanceGeneral: whatever the suite has for servers either passes
// or has a reason. A scenario that a later suite brings has none.
func TestInteropConformanceGeneral(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		matrix.skipped()
	}
	program, binary := node(t, "conformance"), knack(t)
	list := start(t, program, suite, "list")
	servers, _, ok := strings.Cut(list.stdout, "\nClient scenarios")
	if !ok {
		t.Fatalf("exit status %d: %s%s", list.code, list.stdout, list.stderr)
	}
	tree := fixtures(t)
	url := tree.http(t)
	n := 0
	for _, m := range listed.FindAllStringSubmatch(servers, -1) {
		name := m[1]
		switch {
		case strings.HasPrefix(name, "sep-2640-"):
			continue // [TestInteropConformanceSkills]
		case strings.HasPrefix(name, "tasks-"):
			matrix.cell(t, "general", name, "any", "not run", "of another extension, tasks, which knack does not declare", "")
			continue
		}
		for _, version := range []string{legacy, modern} {
			if !strings.Contains(m[2], version) {
				continue
			}
			if testing.Short() && reasonFor(name) != "" {
				continue
			}
			n++
			v, args := scenario(t, url, name, version)
			whole := v.failed == 0 && len(v.skipped) == 0 && len(v.warnings) == 0
			reason := reasonFor(name)
			if !whole && reason == "" {
				t.Errorf("%s at %s: %v: warnings %q, failures %q", name, version, v, v.warnings, v.failures)
			}
			if i := slices.IndexFunc(v.failures, func(f string) bool { return strings.HasPrefix(f, "wire-schema-valid") }); i >= 0 {
				t.Errorf("%s at %s: %s", name, version, v.failures[i]) // no reason excuses that
			}
			if whole {
				reason = ""
			}
			matrix.cell(t, "general", name, version, v.String(), reason, command(binary, url, tree.dir, append([]string{"node"}, args...)...))
		}
	}
	if n < 15 {
		t.Errorf("only %d scenarios are listed", n)
	}
}

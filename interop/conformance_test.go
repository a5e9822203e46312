package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checked is one check of the conformance suite.
type checked struct{ ID, Status, ErrorMessage string }

// verdict is the result of one scenario.
type verdict struct {
	passed, failed              int
	warnings, failures, skipped []string
	open                        []string // the ids of the checks that did not pass, in order
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

// scenario runs one scenario against a server. It fails the test if the suite skips the whole
// scenario, which the suite itself does not count as a failure.
func scenario(t *testing.T, url, name, version string) verdict {
	t.Helper()
	program := node(t, "conformance")
	out := t.TempDir()
	args := []string{suite, "server", "--url", url, "--scenario", name}
	if strings.HasPrefix(name, "sep-2640-") {
		if version == legacy { // an extension belongs to no version, so without --force the suite skips it
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
			v.open = append(v.open, c.ID)
		case "WARNING":
			v.warnings = append(v.warnings, c.ID)
			v.open = append(v.open, c.ID)
		case "INFO":
		default: // SKIPPED, and statuses that later suites add
			v.skipped = append(v.skipped, c.ID)
			v.open = append(v.open, c.ID)
		}
	}
	slices.Sort(v.open)
	if want := fmt.Sprintf("Passed: %d/%d, %d failed, %d warnings", v.passed, v.passed+v.failed, v.failed, len(v.warnings)); !strings.Contains(r.stdout, want) {
		t.Errorf("%s at %s: its file says %q, its summary %q", name, version, want, summary.FindString(r.stdout))
	}
	if v.passed+v.failed == 0 {
		t.Errorf("%s at %s checked nothing", name, version)
	}
	return v
}

// TestInteropConformanceSkills checks that the three scenarios of SEP-2640 pass with every check.
// No check may be skipped, and the only warning is about repeated names in the corpus.
func TestInteropConformanceSkills(t *testing.T) {
	t.Parallel()
	node(t, "conformance")
	for _, tree := range trees(t) {
		url := tree.http(t)
		for _, version := range []string{legacy, modern} {
			if !tree.over(web, version) {
				continue
			}
			for _, name := range []string{"sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"} {
				v := scenario(t, url, name, version)
				var allowed []string
				if tree.name == "corpus" && name == "sep-2640-skills-enumeration" {
					// Nine names repeat. A list never drops a skill because of its name.
					allowed = []string{"sep-2640-names-should-be-unique"}
				}
				var absent []string
				if version == legacy && name == "sep-2640-skills-enumeration" { // checks of members that only answers of 2026-07-28 have
					absent = []string{"sep-2640-skills-list-cache-attributes", "sep-2640-skills-get-cache-attributes"}
				}
				if v.failed > 0 || !slices.Equal(v.skipped, absent) || !slices.Equal(v.warnings, allowed) {
					t.Errorf("%s, %s, %s: %v, warnings %q, want %q, skipped %q, want %q, failures %q", tree.name, name, version,
						v, v.warnings, allowed, v.skipped, absent, v.failures)
				}
				matrix.cell(t, "skills", "conformance, "+name, web, version, tree.name, v.String())
			}
		}
	}
}

// lacks contains the checks that fail, by scenario and id, each with the suite's own fixture that
// it requires. The fixture is a tool, a prompt or a resource, or a tool with x-mcp-header. Only a
// server that was written for the suite has such fixtures.
var lacks = map[string]map[string]string{
	"completion-complete":          {"completion-complete": "test_prompt_with_arguments"},
	"elicitation-sep1034-defaults": {"elicitation-sep1034-general": "test_elicitation_sep1034_defaults"},
	"elicitation-sep1330-enums":    {"elicitation-sep1330-general": "test_elicitation_sep1330_enums"},
	"http-custom-header-server-validation": {
		"sep-2243-server-decode-base64":              "x-mcp-header",
		"sep-2243-server-no-xmcp-tool":               "x-mcp-header",
		"sep-2243-server-reject-invalid-param-chars": "x-mcp-header",
		"sep-2243-server-reject-param-mismatch":      "x-mcp-header",
		"sep-2243-server-validate-param-match":       "x-mcp-header",
	},
	"input-required-result-basic-elicitation":       {"sep-2322-elicitation-incomplete": "test_input_required_result_elicitation"},
	"input-required-result-basic-list-roots":        {"sep-2322-list-roots-incomplete": "test_input_required_result_list_roots"},
	"input-required-result-basic-sampling":          {"sep-2322-sampling-incomplete": "test_input_required_result_sampling"},
	"input-required-result-capability-check":        {"sep-2322-respect-client-capabilities": "test_input_required_result_capabilities"},
	"input-required-result-ignore-extra-params":     {"sep-2322-ignore-unexpected-params": "test_input_required_result_elicitation"},
	"input-required-result-missing-input-response":  {"sep-2322-missing-response-rerequests": "test_input_required_result_elicitation"},
	"input-required-result-multi-round":             {"sep-2322-multi-round-r1": "test_input_required_result_multi_round"},
	"input-required-result-multiple-input-requests": {"sep-2322-multiple-inputs-incomplete": "test_input_required_result_multiple_inputs"},
	"input-required-result-non-tool-request":        {"sep-2322-non-tool-incomplete": "test_input_required_result_prompt"},
	"input-required-result-request-state":           {"sep-2322-request-state-incomplete": "test_input_required_result_request_state"},
	"input-required-result-result-type":             {"sep-2322-result-type-included": "test_input_required_result_elicitation"},
	"input-required-result-tampered-state":          {"sep-2322-reject-tampered-state": "test_input_required_result_tampered_state"},
	"json-schema-2020-12":                           {"json-schema-2020-12-tool-found": "json_schema_2020_12_tool"},
	"prompts-get-embedded-resource":                 {"prompts-get-embedded-resource": "test_prompt_with_embedded_resource"},
	"prompts-get-simple":                            {"prompts-get-simple": "test_simple_prompt"},
	"prompts-get-with-args":                         {"prompts-get-with-args": "test_prompt_with_arguments"},
	"prompts-get-with-image":                        {"prompts-get-with-image": "test_prompt_with_image"},
	"resources-read-binary":                         {"resources-read-binary": "test://static-binary"},
	"resources-read-text":                           {"resources-read-text": "test://static-text"},
	"resources-subscribe":                           {"resources-subscribe": "test://watched-resource"},
	"resources-templates-read":                      {"resources-templates-read": "test://template/"},
	"resources-unsubscribe":                         {"resources-unsubscribe": "test://watched-resource"},
	"server-stateless": {
		"sep-2575-http-server-no-independent-requests-on-stream":     "test_streaming_elicitation",
		"sep-2575-missing-capability-http-400":                       "test_missing_capability",
		"sep-2575-server-no-log-without-loglevel":                    "test_logging_tool",
		"sep-2575-server-rejects-undeclared-capability":              "test_missing_capability",
		"sep-2575-server-sends-prompts-list-changed-on-subscription": "test_trigger_prompt_change",
		"sep-2575-server-sends-tools-list-changed-on-subscription":   "test_trigger_tool_change",
	},
	"tools-call-audio":             {"tools-call-audio": "test_audio_content"},
	"tools-call-elicitation":       {"tools-call-elicitation": "test_elicitation"},
	"tools-call-embedded-resource": {"tools-call-embedded-resource": "test_embedded_resource"},
	"tools-call-error":             {"tools-call-error": "test_error_handling"},
	"tools-call-image":             {"tools-call-image": "test_image_content"},
	"tools-call-mixed-content":     {"tools-call-mixed-content": "test_multiple_content_types"},
	"tools-call-sampling":          {"tools-call-sampling": "test_sampling"},
	"tools-call-simple-text":       {"tools-call-simple-text": "test_simple_text"},
	"tools-call-with-logging":      {"tools-call-with-logging": "test_tool_with_logging"},
	"tools-call-with-progress":     {"tools-call-with-progress": "test_tool_with_progress"},
}

var scenarioLine = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)

// TestInteropConformanceGeneral checks that knack passes all checks of the suite for servers,
// except the checks that require the suite's fixtures. A check that a later suite adds has no such
// exception.
func TestInteropConformanceGeneral(t *testing.T) {
	t.Parallel()
	if !complete() {
		matrix.skipped()
	}
	program := node(t, "conformance")
	list := start(t, program, suite, "list")
	servers, _, ok := strings.Cut(list.stdout, "\nClient scenarios")
	if !ok {
		t.Fatalf("exit status %d: %s%s", list.code, list.stdout, list.stderr)
	}
	tree := fixtures(t)
	url := tree.http(t)
	n := 0
	for _, m := range scenarioLine.FindAllStringSubmatch(servers, -1) {
		name := m[1]
		switch {
		case strings.HasPrefix(name, "sep-2640-"):
			continue // see [TestInteropConformanceSkills]
		case strings.HasPrefix(name, "tasks-"):
			matrix.cell(t, "general", name, "any", "not run", "of another extension, tasks, which knack does not declare")
			continue
		case name == "server-sse-polling":
			matrix.cell(t, "general", name, "any", "not run", "for servers that answer calls as events; knack answers them as JSON")
			continue
		}
		for _, version := range []string{legacy, modern} {
			if !strings.Contains(m[2], version) {
				continue
			}
			if !complete() && len(lacks[name]) == 1 || testing.Short() && lacks[name] != nil {
				continue // beside the messages' schemas it has one check, which requires a fixture of the suite
			}
			n++
			v := scenario(t, url, name, version)
			if want := slices.Sorted(maps.Keys(lacks[name])); !slices.Equal(v.open, want) {
				t.Errorf("%s at %s: %v: these do not pass: %q, want %q; failures %q", name, version, v, v.open, want, v.failures)
			}
			if i := slices.IndexFunc(v.failures, func(f string) bool { return strings.HasPrefix(f, "wire-schema-valid") }); i >= 0 {
				t.Errorf("%s at %s: %s", name, version, v.failures[i]) // a missing fixture does not excuse an invalid message
			}
			var why []string
			for _, id := range v.open {
				why = append(why, fmt.Sprintf("%s: wants %s", id, lacks[name][id]))
			}
			matrix.cell(t, "general", name, version, v.String(), strings.Join(why, "; "))
		}
	}
	if n < 15 {
		t.Errorf("only %d scenarios are listed", n)
	}
}

// TestInteropFixturesAreTheSuites checks that each fixture that a check requires is in the suite's
// code of that scenario, and not among the served skills.
func TestInteropFixturesAreTheSuites(t *testing.T) {
	t.Parallel()
	node(t, "conformance")
	data, err := os.ReadFile(suite)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "this.name=`"
	code := map[string]string{}
	for _, part := range strings.Split(string(data), begin)[1:] {
		if name, rest, ok := strings.Cut(part, "`"); ok {
			code[name] += rest
		}
	}
	for name, checks := range lacks {
		for id, fixture := range checks {
			has := strings.Contains(code[name], fixture)
			for _, constant := range regexp.MustCompile("([\\w$]+)=`"+regexp.QuoteMeta(fixture)+"`").FindAllStringSubmatch(string(data), -1) {
				has = has || regexp.MustCompile(`[^\w$]`+regexp.QuoteMeta(constant[1])+`[^\w$]`).MatchString(code[name])
			}
			if !has {
				t.Errorf("%s, %s: the suite's code of it has no %s", name, id, fixture)
			}
		}
	}
}

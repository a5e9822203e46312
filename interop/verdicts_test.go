package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/source/dir"
)

// opinion is the list of faults of one skill, in the Inspector's codes.
type opinion []string

// codes maps the findings of check in a SKILL.md to the Inspector's codes. Rules that the Inspector
// lacks are not included.
var codes = map[skill.RuleID]string{
	frontmatter.NameMissing: "missing-name", frontmatter.NameSyntax: "missing-name", frontmatter.NameControl: "malformed-name",
	frontmatter.NameType:    "missing-name", // the list leaves out a name that is not a string
	frontmatter.NamePattern: "malformed-name", frontmatter.NameLength: "malformed-name", frontmatter.NameFolder: "name-path-mismatch",
	frontmatter.DescriptionMissing: "missing-description", frontmatter.DescriptionType: "missing-description",
	frontmatter.DescriptionLength: "malformed-description",

	frontmatter.FileEmpty: "frontmatter-absent", frontmatter.FenceMissing: "frontmatter-absent", frontmatter.FenceOpener: "frontmatter-absent",
	frontmatter.FenceUnclosed: "frontmatter-absent", frontmatter.FenceLate: "frontmatter-absent", frontmatter.FenceGlued: "frontmatter-absent",
	frontmatter.YAMLSyntax: "frontmatter-unparsable", frontmatter.YAMLDuplicate: "frontmatter-unparsable", frontmatter.YAMLMapping: "frontmatter-unparsable",
	frontmatter.YAMLControl: "frontmatter-unparsable",
}

// unfiltered lists every skill below a folder, even faulty ones. Each has the frontmatter that
// knack reads, and only SKILL.md in its manifest.
type unfiltered struct {
	skills []*skillsext.Skill
	files  map[string][]byte
	ours   map[string]opinion
}

func list(t *testing.T, root string) *unfiltered {
	t.Helper()
	scan, err := dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Dir: root}, Required: true}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u := &unfiltered{files: map[string][]byte{}, ours: map[string]opinion{}}
	for _, b := range scan.Bundles {
		r := check.Format(t.Context(), skill.Load(b))
		uri, err := skill.NewURI(b.Path + "/SKILL.md")
		if err != nil || r.Data == nil {
			continue // a server could list nothing here
		}
		fields, dropped := listedFrontmatter(t, r.Skill)
		u.files[uri.String()] = r.Data
		u.skills = append(u.skills, &skillsext.Skill{URI: uri.String(), Frontmatter: fields,
			Resources: skillsext.StaticResources(skillsext.Resource{URI: uri.String(), Digest: skill.DigestOf(r.Data).String(), Size: int64(len(r.Data))})})
		u.ours[uri.String()] = opinionOf(r, dropped)
	}
	return u
}

// listedFrontmatter returns the parsed frontmatter without a name or description that is not a
// string, since such an entry would make the whole list invalid. dropped reports that a field was
// left out. The Inspector then reports that it is missing in the list.
func listedFrontmatter(t *testing.T, s *skill.Skill) (out skillsext.Frontmatter, dropped bool) {
	t.Helper()
	fields := map[string]json.RawMessage{}
	if s.Frontmatter != nil {
		if err := json.Unmarshal(s.Frontmatter, &fields); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"name", "description"} {
		if v := fields[key]; len(v) > 0 && v[0] != '"' {
			delete(fields, key)
			dropped = true
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return out, dropped
}

func opinionOf(r check.Report, dropped bool) (v opinion) {
	if dropped {
		v = append(v, "frontmatter-mismatch")
	}
	for _, f := range r.Findings {
		if code, ok := codes[f.Rule]; ok && (f.File == r.Skill.Entry || f.File == "") {
			v = append(v, code)
		}
	}
	has := func(code string) bool { return slices.Contains(v, code) }
	if has("frontmatter-absent") {
		// The Inspector reports only that there is no frontmatter here, while knack may read some.
		v = slices.DeleteFunc(v, func(code string) bool { return code == "frontmatter-unparsable" })
	}
	if r.Skill.Frontmatter == nil {
		v = append(v, "missing-name", "missing-description")
	}
	if has("missing-name") {
		v = slices.DeleteFunc(v, func(code string) bool { return code == "name-path-mismatch" || code == "malformed-name" })
	}
	slices.Sort(v)
	return slices.Compact(v)
}

// era contains the members of results that depend on the protocol version of the request.
type era struct {
	mcp.ResultBase
	ResultType string `json:"resultType,omitempty"`
	TTLMs      *int   `json:"ttlMs,omitempty"`
	CacheScope string `json:"cacheScope,omitempty"`
}

func eraOf(p mcp.Params) (e era) {
	if version, _ := p.GetMeta()[mcp.MetaKeyProtocolVersion].(string); version >= skillsext.Since {
		e.ResultType, e.TTLMs, e.CacheScope = skillsext.Complete, new(int), "private"
	}
	return e
}

// entries is the result of skills/list, and oneEntry the result of skills/get.
type (
	entries struct {
		era
		Skills []*skillsext.Skill `json:"skills"`
	}
	oneEntry struct {
		era
		Skill *skillsext.Skill `json:"skill"`
	}
)

// serve starts a server that answers skills/list with all skills, and returns its URL.
func (u *unfiltered) serve(t *testing.T) string {
	t.Helper()
	caps := &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{}}
	skillsext.Declare(caps, false)
	server := mcp.NewServer(&mcp.Implementation{Name: "unfiltered", Version: "1"}, &mcp.ServerOptions{Capabilities: caps})
	err := errors.Join(
		mcp.AddReceivingCustomMethod(server, skillsext.MethodList, func(_ context.Context, _ *mcp.ServerSession, p *skillsext.ListSkillsParams) (*entries, error) {
			return &entries{era: eraOf(p), Skills: u.skills}, nil
		}),
		mcp.AddReceivingCustomMethod(server, skillsext.MethodGet, func(_ context.Context, _ *mcp.ServerSession, p *skillsext.GetSkillParams) (*oneEntry, error) {
			i := slices.IndexFunc(u.skills, func(s *skillsext.Skill) bool { return s.URI == p.URI })
			if i < 0 {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such skill"}
			}
			return &oneEntry{era: eraOf(p), Skill: u.skills[i]}, nil
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "resources/read" {
				return next(ctx, method, req)
			}
			uri := req.(*mcp.ReadResourceRequest).Params.URI
			data, ok := u.files[uri]
			if !ok {
				return nil, mcp.ResourceNotFoundError(uri)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Blob: data}}}, nil
		}
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

// inspected returns the Inspector's verdict on each skill.
func inspected(t *testing.T, url string) map[string]opinion {
	t.Helper()
	r := start(t, node(t, "inspector"), inspector, "--cli", url, "--transport", "http", "--method", "skills/list", "--verify", "--require-digests",
		"--protocol-era", "legacy", "--skill-catalog-max-skills", "5000", "--skill-catalog-max-bytes", "1000000000")
	out := map[string]opinion{}
	lines := bufio.NewScanner(strings.NewReader(r.stdout))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var result struct {
			URI                      string
			Conformance, Frontmatter []struct{ Code, Severity string }
		}
		if err := json.Unmarshal(lines.Bytes(), &result); err != nil || result.URI == "" {
			t.Fatalf("exit status %d: %v: %.300s", r.code, err, lines.Text())
		}
		codes := opinion{}
		for _, issue := range append(result.Conformance, result.Frontmatter...) {
			if issue.Severity == "error" {
				codes = append(codes, issue.Code)
			}
		}
		slices.Sort(codes)
		out[result.URI] = slices.Compact(codes)
	}
	return out
}

// explained lists the edge cases about which knack and the Inspector differ, with the Inspector's
// opinion and the reason.
var explained = map[string]struct {
	theirs opinion
	why    string
}{
	"bytes__bad-utf8/1/social-media-lead-generation": {opinion{"frontmatter-absent", "missing-description", "missing-name"},
		"knack reads nothing in a file that is not UTF-8; the Inspector replaces its bytes, and finds no frontmatter"},
	"bytes__nul-control/1/contentgroove": {opinion{"frontmatter-mismatch", "missing-description", "missing-name"},
		"knack reads no frontmatter with a NUL in it, which YAML forbids; the Inspector's parser does"},
	"yaml__non-mapping/1/573-python-312_560b9cd0": {opinion{"missing-description", "missing-name"},
		"frontmatter without anything in it is no mapping to knack, and an empty one to the Inspector"},
	"yaml__non-mapping/1/agente-conhecimento": {opinion{"missing-description", "missing-name"},
		"frontmatter without anything in it is no mapping to knack, and an empty one to the Inspector"},
}

// TestInteropVerdicts checks that the Inspector agrees with check about each name, description and
// frontmatter. The list that it inspects contains all edge cases and all real skills, faulty ones
// included.
func TestInteropVerdicts(t *testing.T) {
	t.Parallel()
	c := corpus()
	if c == nil {
		missing(t, "no corpus")
	}
	met := 0
	for part, want := range map[string]int{"edge": 168, "skills": 776} {
		u := list(t, filepath.Join(filepath.Dir(c.dir), part))
		theirs := inspected(t, u.serve(t))
		if len(u.ours) != want || len(theirs) != want {
			t.Errorf("%s: %d listed, %d inspected, want %d", part, len(u.ours), len(theirs), want)
		}
		wrong := 0
		for uri, ours := range u.ours {
			expected := ours
			if e, ok := explained[strings.TrimSuffix(strings.TrimPrefix(uri, "skill://"), "/SKILL.md")]; ok {
				expected = e.theirs
				met++
				if cmp.Equal(ours, e.theirs) {
					t.Errorf("%s: is explained as different and is not", uri)
				}
			}
			if len(ours) > 0 {
				wrong++
			}
			if diff := cmp.Diff(expected, theirs[uri], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-knack +Inspector):\n%s", uri, diff)
			}
		}
		t.Logf("%s: %d skills, something is wrong with %d, both say so", part, len(u.ours), wrong)
	}
	if met != len(explained) {
		t.Errorf("%d of %d explained differences met", met, len(explained))
	}
}

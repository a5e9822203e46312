package skillsext

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestResultsAreWritten checks that the hand-written encoding of results equals
// encoding/json's, member for member.
func TestResultsAreWritten(t *testing.T) {
	const front = `{"name":"a","description":"x <y> & \u2028 \"z\"","n":1.50}`
	whole := &Skill{URI: "skill://a/SKILL.md", Frontmatter: Frontmatter(front), Resources: StaticResources(
		Resource{URI: "skill://a/SKILL.md", Digest: "sha256:00", Size: 12},
		Resource{URI: "skill://a/\"b\\<c>&é", Digest: "sha256:01", Size: -1},
	)}
	written := func(v any) string {
		t.Helper()
		data, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const wholeText = `{"uri":"skill://a/SKILL.md","frontmatter":` + front + `,"resources":[` +
		`{"uri":"skill://a/SKILL.md","digest":"sha256:00","size":12},{"uri":"skill://a/\"b\\<c>&é","digest":"sha256:01","size":-1}]}`
	const none = `{"uri":"u","frontmatter":{},"resources":"dynamic"}`
	modern := mcp.Cacheable{TTLMs: 0, CacheScope: "private"}
	for _, c := range []struct {
		name string
		res  any
		want string
	}{
		{"nothing", &ListSkillsResult{}, `{"skills":[]}`},
		{"an empty manifest", &ListSkillsResult{Skills: []*Skill{{URI: "u"}}}, `{"skills":[{"uri":"u","frontmatter":{},"resources":[]}]}`},
		{"of the old era", &ListSkillsResult{Skills: []*Skill{whole, nil, {URI: "u", Resources: DynamicResources()}}, NextCursor: "c\"1", Cacheable: modern},
			`{"skills":[` + wholeText + `,null,` + none + `],"nextCursor":"c\"1"}`},
		{"of today", &ListSkillsResult{ResultBase: mcp.ResultBase{Meta: mcp.Meta{"k": 1}}, ResultType: "complete", Cacheable: modern, Skills: []*Skill{whole}},
			`{"_meta":{"k":1},"resultType":"complete","ttlMs":0,"cacheScope":"private","skills":[` + wholeText + `]}`},
		{"one", &GetSkillResult{ResultType: "complete", Cacheable: modern, Skill: whole},
			`{"resultType":"complete","ttlMs":0,"cacheScope":"private","skill":` + wholeText + `}`},
		{"none", &GetSkillResult{}, `{"skill":null}`},
	} {
		got := written(c.res)
		var is, want any
		if err := json.Unmarshal([]byte(got), &is); err != nil {
			t.Errorf("%s: %v in %s", c.name, err, got)
			continue
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, is); d != "" || len(got) != len(c.want) {
			t.Errorf("%s: %s\n%s", c.name, got, d)
		}
	}
	if data, err := json.Marshal(&ListSkillsResult{Skills: []*Skill{{Frontmatter: Frontmatter(`{"a":`)}}}); err == nil {
		t.Errorf("a frontmatter that is no JSON: %s", data)
	}
}

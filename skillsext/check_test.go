package skillsext

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bad describes a server that breaks one of the rules.
type bad struct {
	list   func(*ListSkillsResult)
	get    func(*GetSkillResult)
	files  map[string]string
	known  bool   // the server answers for skills that it does not have
	hinted string // a member that is added to each result of the extension
}

// result returns a result with the given members, and with those that the protocol version of its
// request adds.
func result(p mcp.Params, c mcp.Cacheable, members map[string]any) (*raw, error) {
	if version, _ := p.GetMeta()[mcp.MetaKeyProtocolVersion].(string); version >= Since {
		members["resultType"], members["ttlMs"], members["cacheScope"] = Complete, c.TTLMs, cmp.Or(c.CacheScope, "private")
	}
	data, err := json.Marshal(members)
	return &raw{data: data}, err
}

// serve starts a server with one skill, and returns a client's session with it.
func serve(t *testing.T, protocol string, b bad) *mcp.ClientSession {
	t.Helper()
	caps := &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{}}
	Declare(caps, true)
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: caps})
	files := map[string]string{"skill://git-flow/SKILL.md": mainText, "skill://git-flow/a%20b.txt": "text", "skill://git-flow/empty": ""}
	maps.Copy(files, b.files)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(mcp.AddReceivingCustomMethod(server, MethodList, func(_ context.Context, _ *mcp.ServerSession, p *ListSkillsParams) (*raw, error) {
		res := &ListSkillsResult{Skills: []*Skill{good()}}
		if b.list != nil {
			b.list(res)
		}
		return result(p, res.Cacheable, map[string]any{"skills": slices.Concat([]*Skill{}, res.Skills), "nextCursor": res.NextCursor})
	}))
	must(mcp.AddReceivingCustomMethod(server, MethodGet, func(_ context.Context, _ *mcp.ServerSession, p *GetSkillParams) (*raw, error) {
		if p.URI != good().URI && !b.known {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such skill"}
		}
		res := &GetSkillResult{Skill: good()}
		if b.get != nil {
			b.get(res)
		}
		return result(p, res.Cacheable, map[string]any{"skill": res.Skill})
	}))
	must(mcp.AddReceivingCustomMethod(server, MethodReadDirectory, func(_ context.Context, _ *mcp.ServerSession, p *ReadDirectoryParams) (*raw, error) {
		if p.URI != "skill://git-flow" && !b.known {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such directory"}
		}
		list := []*mcp.Resource{}
		for _, uri := range slices.Sorted(maps.Keys(files)) {
			list = append(list, &mcp.Resource{URI: uri, Name: uri})
		}
		return result(p, mcp.Cacheable{}, map[string]any{"resources": list})
	}))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "resources/read" {
				res, err := next(ctx, method, req)
				if own := method == MethodList || method == MethodGet || method == MethodReadDirectory; err != nil || !own || b.hinted == "" {
					return res, err
				}
				data, err := json.Marshal(res)
				return &raw{data: append([]byte("{"+b.hinted+","), data[1:]...)}, err
			}
			uri := req.(*mcp.ReadResourceRequest).Params.URI
			text, ok := files[uri]
			if !ok && !b.known {
				return nil, mcp.ResourceNotFoundError(uri)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Blob: []byte(text)}}}, nil
		}
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	if err := AddMethods(client); err != nil {
		t.Fatal(err)
	}
	a, z := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	ss, err := client.Connect(t.Context(), z, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ss.Close() })
	return ss
}

const modernEra, legacyEra = "2026-07-28", "2025-11-25"

func TestCheckSession(t *testing.T) {
	hint := func(member, value string) bad { return bad{hinted: `"` + member + `":` + value} }
	twice := func(r *ListSkillsResult) { r.Skills = append(r.Skills, good()) }
	for name, x := range map[string]struct {
		b    bad
		want []string // rules
	}{
		"all is well":       {bad{}, nil},
		"listed twice":      {bad{list: twice}, []string{"list"}},
		"cursor repeated":   {bad{list: func(r *ListSkillsResult) { r.NextCursor = "x"; r.Skills = nil }}, []string{"list"}},
		"scope":             {bad{list: func(r *ListSkillsResult) { r.CacheScope = "shared" }}, []string{"list"}},
		"negative ttl":      {bad{get: func(r *GetSkillResult) { r.TTLMs = -1 }}, []string{"get"}},
		"early resultType":  {hint("resultType", `"complete"`), []string{"list", "get", "directory"}},
		"early ttlMs":       {hint("ttlMs", "0"), []string{"list", "get", "directory"}},
		"early cacheScope":  {hint("cacheScope", `"private"`), []string{"list", "get", "directory"}},
		"other entry":       {bad{get: func(r *GetSkillResult) { r.Skill.Frontmatter = Frontmatter(`{"name":"git-flow","description":"Y."}`) }}, []string{"get"}},
		"digest":            {bad{files: map[string]string{"skill://git-flow/a%20b.txt": "tExt"}}, []string{"digest"}},
		"size":              {bad{files: map[string]string{"skill://git-flow/empty": "x"}}, []string{"size"}},
		"a file more":       {bad{files: map[string]string{"skill://git-flow/more": "x"}}, []string{"complete"}},
		"a file elsewhere":  {bad{files: map[string]string{"skill://git-flow-2/x": "x"}}, []string{"directory"}},
		"knows the unknown": {bad{known: true}, []string{"get", "read", "directory"}},
		"frontmatter": {bad{
			list: func(r *ListSkillsResult) {
				r.Skills[0].Frontmatter = Frontmatter(`{"name":"git-flow","description":"Z."}`)
			},
			get: func(r *GetSkillResult) { r.Skill.Frontmatter = Frontmatter(`{"name":"git-flow","description":"Z."}`) },
		}, []string{"frontmatter"}},
	} {
		for _, era := range []string{legacyEra, modernEra} {
			report, err := CheckSession(t.Context(), serve(t, era, x.b), nil)
			if err != nil {
				t.Fatal(name, err)
			}
			var got []string
			for _, f := range report.Findings {
				got = append(got, f.Rule)
			}
			want := x.want
			if era == legacyEra && (name == "scope" || name == "negative ttl") {
				want = nil // this protocol version has no such members
			}
			if strings.HasPrefix(name, "early ") && era == modernEra {
				want = nil // this protocol version has these members
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: %s %+v", name, era, diff, report.Findings)
			}
		}
	}
}

func TestClientIsLazy(t *testing.T) {
	ss := serve(t, modernEra, bad{files: map[string]string{"skill://git-flow/empty": "x"}})
	c := &Client{ss}
	var found []*Skill
	for s, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, s)
	}
	if data, err := c.Read(t.Context(), found[0], "skill://git-flow/a%20%62.txt"); err != nil || string(data) != "text" {
		t.Errorf("%q %v", data, err) // only this file was read, so the fault of another file does not matter
	}
	var failed *VerificationError
	if _, err := c.Read(t.Context(), found[0], "skill://git-flow/none"); !errors.As(err, &failed) || failed.Reason != reasonUnlisted {
		t.Errorf("unlisted: %v", err)
	}
	if _, err := c.Read(t.Context(), found[0], "skill://git-flow/empty"); !errors.As(err, &failed) || failed.Reason != reasonSize {
		t.Errorf("size: %v", err)
	}
}

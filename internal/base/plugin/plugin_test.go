package plugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/plugin"
)

func TestClean(t *testing.T) {
	for p, want := range map[string]string{
		"./a": "a", "a/b": "a/b", ".": ".", "./": ".", "a/../b": "b", "": "!", "../a": "!", "./../a": "!", "a/../../b": "!", "/a": "!", "~/a": "!",
		`a\b`: "!", `C:\a`: "!", "C:a": "!", "a\x00": "!", "..a": "..a", "./a/..": ".",
	} {
		got, ok := plugin.Clean(p)
		if !ok {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}

// TestMarketplace checks that a marketplace with each kind of source is read completely.
func TestMarketplace(t *testing.T) {
	sha := strings.Repeat("a", 40)
	m, faults := plugin.ParseMarketplace(fmt.Appendf(nil, `{"name":"acme","owner":{"name":"Acme"},"metadata":{"pluginRoot":"./plugins"},"plugins":[
 {"name":"ops","source":"./ops","skills":["./skills/a","./more"],"strict":false,"description":"d","version":"1"},
 {"name":"bare","source":"bare"},
 {"name":"here","source":{"source":"local","path":"./here"},"policy":{"installation":"NOT_AVAILABLE"}},
 {"name":"hub","source":{"source":"github","repo":"a/b","path":"p","ref":"v1","sha":%[1]q}},
 {"name":"git","source":{"source":"url","url":"https://git.example/x.git","sha":%[1]q}},
 {"name":"ssh","source":{"source":"url","url":"git@git.example:x.git","sha":%[1]q}},
 {"name":"sub","source":{"source":"git-subdir","url":"a/b","path":"p/docs","ref":"main","sha":%[1]q}},
 {"name":"npm","source":{"source":"npm","package":"@a/b","version":"1.2.3","registry":"https://npm.example"}},
 {"name":"zip","source":{"source":"archive","url":"https://x.example/a.zip","sha256":%[2]q}}]}`, sha, strings.Repeat("b", 64)), plugin.Claude)
	if len(faults) > 0 || m.Name != "acme" || m.Owner != "Acme" || m.Rejected {
		t.Fatalf("%+v %+v", m, faults)
	}
	var got []string
	for _, e := range m.Plugins {
		s := e.Source
		got = append(got, fmt.Sprint(e.Name, " ", s.Kind, " ", strings.Join([]string{s.Path, s.Repo, s.URL, s.Ref, s.Package, s.Version, s.Registry}, ","), " ", len(s.SHA), len(s.SHA256), e.Strict, e.Skills, e.Skipped, e.Installation))
	}
	want := []string{
		"ops local ops,,,,,, 0 0 false [skills/a more] false",
		"bare local plugins/bare,,,,,, 0 0 true [] false",
		"here local here,,,,,, 0 0 true [] falseNOT_AVAILABLE",
		"hub github p,a/b,,v1,,, 40 0 true [] false",
		"git url .,,https://git.example/x.git,,,, 40 0 true [] false",
		"ssh url .,,git@git.example:x.git,,,, 40 0 true [] false",
		"sub git-subdir p/docs,,a/b,main,,, 40 0 true [] false",
		"npm npm .,,,,@a/b,1.2.3,https://npm.example 0 0 true [] false",
		"zip archive .,,https://x.example/a.zip,,,, 0 64 true [] false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestHostile checks that files that are made to be expensive are read quickly and have few faults.
// A quadratic parser would need hours.
func TestHostile(t *testing.T) {
	many := `{"name":"m","owner":{"name":"o"},"plugins":[` + strings.TrimSuffix(strings.Repeat(`{"name":"../x","source":"../y","author":1},`, 20_000), ",") + `]}`
	for name, data := range map[string]string{
		"16 MiB":       `{"name":"` + strings.Repeat("x", 16<<20) + `"}`,
		"nested lists": `{"a":` + strings.Repeat("[", 300_000) + strings.Repeat("]", 300_000) + `}`,
		"deep objects": strings.Repeat(`{"a":`, 5_000) + "1" + strings.Repeat("}", 5_000),
		"many values":  `{"a":[` + strings.Repeat("1,", 3<<20) + `1]}`,
		"many keys":    `{` + strings.Repeat(`"a":1,`, 60_000) + `"b":1}`,
		"many plugins": many,
		"cut":          many[:len(many)/2],
		"huge number":  `{"name":1e999999}`,
		"nothing":      "",
		"zeros":        strings.Repeat("\x00", 1<<20),
	} {
		_, a := plugin.ParseMarketplace([]byte(data), plugin.Claude)
		_, b := plugin.ParseManifest([]byte(data), plugin.Portable)
		_, c := plugin.ParseServers([]byte(data), plugin.Schema)
		for _, faults := range [][]plugin.Fault{a, b, c} {
			if len(faults) == 0 || len(faults) > 1_001 {
				t.Errorf("%s: %d faults", name, len(faults))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"$schema":"` + plugin.Schema + `","name":"a"}`, "\ufeff{}", "{\"a\":1,}", "{//\n}", `{"author":{"x":1}}`, `{"name":"a","name":"b"}`,
		`{"$schema":"` + plugin.ServersSchema + `","mcpServers":{"a":{"type":"stdio","command":"./../x","cwd":"${PLUGIN_DATA}/.."}}}`,
		`{"name":"a","plugins":[{"name":"x","source":{"source":"npm","package":"@a/b"}},{"source":"../x"}]}`, "\xff", `{"a":[[[[]]]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rules := map[string]bool{}
		for _, r := range plugin.Rules {
			rules[r.ID] = true
		}
		all := func(faults []plugin.Fault) {
			for _, f := range faults {
				if f.At < 0 || f.End < f.At || f.End > len(data) || !rules[f.Rule] || f.Message == "" || f.Fix == "" || len(f.Message) > 2_000 {
					t.Errorf("%+v", f)
				}
			}
		}
		inside := func(paths ...string) {
			for _, p := range paths {
				if clean, ok := plugin.Clean(p); p != "" && (!ok || clean != p) {
					t.Errorf("the path %q", p)
				}
			}
		}
		for _, c := range []plugin.Client{plugin.Portable, plugin.Claude, plugin.Codex} {
			m, faults := plugin.ParseManifest(data, c)
			all(faults)
			if m != nil {
				inside(m.Skills...)
			}
			market, faults := plugin.ParseMarketplace(data, c)
			all(faults)
			if market != nil {
				for _, e := range market.Plugins {
					inside(append(e.Skills, e.Source.Path)...)
				}
			}
		}
		s, faults := plugin.ParseServers(data, plugin.Schema)
		all(faults)
		if s != nil {
			for _, server := range s.Servers {
				inside(server.Command, server.Cwd)
			}
		}
	})
}

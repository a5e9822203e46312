package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entry is a skill in skills/list, of which only the URI is decoded.
type entry struct {
	uri   string
	value any
}

func (e *entry) UnmarshalJSON(data []byte) error {
	var head struct{ URI string }
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	e.uri = head.URI
	return json.Unmarshal(data, &e.value)
}

// walked is the output of skills_client.mjs.
type walked struct {
	Protocol              string
	Files, Bytes, Folders int
	Problems              []string
	TTLMs                 *int
	CacheScope            *string
	Skills                []entry
}

// typescript runs a script of this folder against a tree, and decodes its output into out.
func typescript(t *testing.T, out any, name, transport string, tree *tree, mode ...string) {
	t.Helper()
	program, binary, url := node(t, "client"), knack(t), tree.http(t)
	args := append([]string{script(t, name)}, mode...)
	if transport == web {
		args = append(args, "http", url)
	} else {
		args = append(append(args, "stdio", binary), tree.args()...)
	}
	r := start(t, program, args...)
	if r.code != 0 {
		t.Fatalf("%q: exit status %d: %s", args, r.code, tail(r.stderr))
	}
	if err := json.Unmarshal([]byte(r.stdout), out); err != nil {
		t.Fatal(err)
	}
}

// TestInteropSkillsClient checks that the strictest client can list, get, read and walk every
// skill. It uses both transports and each way to negotiate a version.
func TestInteropSkillsClient(t *testing.T) {
	t.Parallel()
	node(t, "client")
	for _, tree := range trees(t) {
		for _, transport := range []string{stdio, web} {
			for _, mode := range []string{"legacy", "auto", "modern"} {
				version := modern
				if mode == "legacy" {
					version = legacy
				}
				if !tree.over(transport, version) || mode == "auto" && tree.name != "fixtures" {
					continue
				}
				var got walked
				typescript(t, &got, "skills_client.mjs", transport, tree, mode)
				if got.Protocol != version || len(got.Problems) > 0 || len(got.Skills) != tree.skills || got.Files != tree.files {
					t.Errorf("%s, %s, %s: protocol %s, %d skills and %d files, want %d and %d: %q", tree.name, transport, mode,
						got.Protocol, len(got.Skills), got.Files, tree.skills, tree.files, got.Problems[:min(10, len(got.Problems))])
				}
				if hints := got.TTLMs != nil && got.CacheScope != nil; hints != (version == modern) {
					t.Errorf("%s, %s, %s: ttlMs and cacheScope are there: %t", tree.name, transport, mode, hints)
				}
				result := fmt.Sprintf("%d skills, %d files verified, %d folders walked", len(got.Skills), got.Files, got.Folders)
				matrix.cell(t, "skills", "TypeScript SkillsClient, "+mode, transport, version, tree.name, result)
			}
		}
	}
}

// TestInteropSDKRaw checks the answers to raw requests of the older TypeScript SDK.
func TestInteropSDKRaw(t *testing.T) {
	t.Parallel()
	node(t, "sdk")
	all := trees(t)
	if !complete() {
		all = append(all, generated(t)) // for the cursors of several pages
	}
	for _, tree := range all {
		for _, transport := range []string{stdio, web} {
			if tree.name == "generated" && transport == stdio || tree.name == "corpus" && transport == web {
				continue
			}
			var got struct {
				Protocol                    *string
				Skills, Pages, Files, Tools int
				Problems, Hints             []string
				Refused                     map[string]any
			}
			typescript(t, &got, "sdk_raw.mjs", transport, tree)
			if got.Skills != tree.skills || got.Files != tree.files || len(got.Problems)+len(got.Hints) > 0 || got.Tools != 3 {
				t.Errorf("%s, %s: %+v", tree.name, transport, got)
			}
			if tree.name != "fixtures" && got.Pages < 3 {
				t.Errorf("%d skills on %d pages", got.Skills, got.Pages)
			}
			want := map[string]any{"skill": -32602.0, "folder": -32602.0, "file": -32602.0, "cursor": -32602.0}
			if diff := cmp.Diff(want, got.Refused); diff != "" {
				t.Errorf("%s, %s: refusals: %s", tree.name, transport, diff)
			}
			result := fmt.Sprintf("%d skills on %s, %d files verified", got.Skills, plural(got.Pages, "page"), got.Files)
			matrix.cell(t, "skills", "TypeScript SDK 1, raw requests", transport, legacy, tree.name, result)
		}
	}
}

// warned maps a text in the reference server's warning about a skill that it leaves out to how
// knack treats the skill.
var warned = []struct{ text, reason string }{
	{"must match the last path segment", "in knack's list alone: the name differs from the folder; knack's URI ends with the name, the reference leaves the skill out"},
	{"description must be 1-1024 characters", "in neither list: the description is longer than 1,024 characters"},
	{"metadata must map strings to strings", "in neither list: metadata holds more than strings"},
	{"frontmatter name", "in neither list: there is no name, or no valid one"},
	{"", "in neither list: the frontmatter does not parse unrepaired, or is not JSON"},
}

// encoded returns an entry of the reference with the square brackets in its files' URIs
// percent-encoded.
func encoded(entry any) any {
	e, ok := entry.(map[string]any)
	files, isList := e["resources"].([]any)
	if !ok || !isList {
		return entry
	}
	out, list := maps.Clone(e), slices.Clone(files)
	for i := range list {
		file := maps.Clone(list[i].(map[string]any))
		file["uri"] = strings.NewReplacer("[", "%5B", "]", "%5D").Replace(file["uri"].(string))
		list[i] = file
	}
	out["resources"] = list
	return out
}

// TestInteropReference compares knack's entries with those of the TypeScript SDK's own server. An
// entry that both list must be equal as JSON, and each skill that only one of them lists must have
// a reason.
func TestInteropReference(t *testing.T) {
	t.Parallel()
	program := node(t, "server")
	for _, tree := range trees(t) {
		var ours walked
		typescript(t, &ours, "skills_client.mjs", web, tree, "list")
		var reference struct {
			Skills   []entry
			Warnings []struct{ Path, Message string }
		}
		r := start(t, program, script(t, "reference.mjs"), tree.dir)
		if r.code != 0 {
			t.Fatalf("exit status %d: %s", r.code, tail(r.stderr))
		}
		if err := json.Unmarshal([]byte(r.stdout), &reference); err != nil {
			t.Fatal(err)
		}
		mine := map[string]any{}
		for _, e := range ours.Skills {
			mine[e.uri] = e.value
		}
		counts := map[string]int{}
		for _, theirs := range reference.Skills {
			value, ok := mine[theirs.uri]
			if !ok && strings.Contains(theirs.uri, "/node_modules/") {
				counts["in the reference's list alone: below node_modules, which knack does not enter"]++
				continue
			}
			if !ok {
				t.Errorf("%s: only the reference lists %s", tree.name, theirs.uri)
				continue
			}
			switch {
			case reflect.DeepEqual(value, theirs.value):
				counts["in both lists, equal as JSON"]++
			case reflect.DeepEqual(value, encoded(theirs.value)):
				counts["in both lists, equal but for [ and ] in the URI of a file: RFC 3986 has them in no path, so that knack encodes them and the reference does not"]++
			default:
				t.Errorf("%s: %s", tree.name, cmp.Diff(theirs.value, value))
			}
			delete(mine, theirs.uri)
		}
		// Only knack lists the remaining skills, which are below a dot-folder or have a warning
		// about their name.
		renamed := 0
		for _, w := range reference.Warnings {
			for _, known := range warned {
				if strings.Contains(w.Message, known.text) {
					counts[known.reason]++
					break
				}
			}
			if strings.Contains(w.Message, warned[0].text) {
				renamed++
			}
		}
		for _, uri := range slices.Sorted(maps.Keys(mine)) {
			if strings.Contains(uri, "/.") {
				counts["in knack's list alone: below a dot-folder, which the reference does not enter"]++
			} else if renamed--; renamed < 0 {
				t.Errorf("%s: only we list %s, and nothing says why", tree.name, uri)
			}
		}
		if renamed != 0 {
			t.Errorf("%s: the reference leaves out %d more for their names than we list", tree.name, renamed)
		}
		for reason, n := range counts {
			matrix.cell(t, "reference", tree.name, fmt.Sprint(n), reason)
		}
	}
}

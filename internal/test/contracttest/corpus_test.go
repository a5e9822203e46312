//go:build unix

package contracttest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
)

func sourceOf(root skill.Root) catalog.Source {
	return dir.New(dir.Options{Root: root, Required: true})
}

// skillDocument is the object in an answer of contract 004.
type skillDocument struct{ URI, MIMEType, Text string }

// TestURIParityOverTheCorpus checks contract 004 for every skill of the corpus. The text of the
// tool's answer must equal the result of resources/read in the same session, and the file on disk,
// byte for byte.
func TestURIParityOverTheCorpus(t *testing.T) {
	root := skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: corpus.Dir(t, "skills")}
	w := &world{t: t, dirs: []string{root.Dir}, sessions: map[string]*session{}}
	w.catalog = catalog.New([]catalog.Source{sourceOf(root), builtin.New()}, catalog.Options{})
	w.refresh()
	v, err := w.catalog.View(t.Context())
	must(t, err)
	served := v.Served()
	if len(served) < 700 {
		t.Fatalf("only %d skills are served", len(served))
	}
	models := 0
	for _, e := range served {
		uri := e.URI().String()
		text, meta := w.resource(t, uri)
		onDisk, _, err := e.Read()
		if err != nil || text != string(onDisk) || meta != nil {
			t.Errorf("%s: the resource has %d bytes, the file %d; %v, %v", uri, len(text), len(onDisk), err, meta)
		}
		if !e.ModelInvocable {
			continue
		}
		models++
		line := w.session("uri").request(t, "tools/call", `{"name":"get_skill","arguments":{"uri":`+quote(uri)+`}}`)
		var m struct {
			Result struct {
				Content           []struct{ Text string }
				StructuredContent skillDocument
				IsError           *bool
			}
		}
		must(t, json.Unmarshal([]byte(line), &m))
		r := m.Result
		if len(r.Content) != 1 || r.Content[0].Text != "URI: "+uri+"\n\n"+text || r.IsError == nil || *r.IsError ||
			r.StructuredContent != (skillDocument{URI: uri, MIMEType: "text/markdown", Text: text}) {
			t.Errorf("%s: the tool answers %s", uri, short(line))
		}
		if strings.Count(line, `\u003c`) > strings.Count(text, `\u003c`)*2 {
			t.Errorf("%s: the answer is HTML-escaped", uri)
		}
	}
	if models < 700 {
		t.Errorf("only %d skills were compared", models)
	}
}

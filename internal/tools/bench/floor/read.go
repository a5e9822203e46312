package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// table maps the name and the URI of each skill to the skill.
type table map[string]entry

type entry struct{ Name, URI, Folder string }

func readTable(file string) (table, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []entry
	t := table{}
	err = json.Unmarshal(data, &all)
	for _, e := range all {
		t[e.Name], t[e.URI] = e, e
	}
	return t, err
}

type object = map[string]any

// answer does the work of a plain program: it decodes the request, reads and hashes the files, and
// encodes the answer.
func (t table) answer(request, b []byte) []byte {
	var r struct {
		ID     json.RawMessage
		Method string
		Params struct {
			URI       string
			Arguments struct{ Name string }
		}
	}
	_ = json.Unmarshal(request, &r)
	var result object
	e, ok := t[r.Params.URI+r.Params.Arguments.Name]
	switch {
	case !ok:
		result = object{}
	case r.Method == "tools/call":
		text, _ := hashed(e.Folder + "/SKILL.md")
		result = object{"content": []object{{"type": "text", "text": "Loading: " + e.Name + "\nBase directory: " + e.Folder + "\n\n" + text}}}
	case r.Method == "skills/get":
		result = object{"skill": object{"uri": e.URI, "resources": e.files()}}
	default:
		text, _ := hashed(e.Folder + "/SKILL.md")
		result = object{"contents": []object{{"uri": e.URI, "mimeType": "text/markdown", "text": text}}}
	}
	out := bytes.NewBuffer(b)
	in := json.NewEncoder(out)
	in.SetEscapeHTML(false)
	_ = in.Encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  object          `json:"result"`
	}{"2.0", r.ID, result})
	return out.Bytes()
}

// files lists, reads and hashes all files.
func (e entry) files() (out []object) {
	_ = filepath.WalkDir(e.Folder, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, digest := hashed(p)
			out = append(out, object{"uri": strings.TrimSuffix(e.URI, "SKILL.md") + p[len(e.Folder)+1:], "digest": "sha256:" + digest, "size": len(text)})
		}
		return err
	})
	return out
}

func hashed(file string) (text, digest string) {
	data, _ := os.ReadFile(file)
	sum := sha256.Sum256(data)
	return string(data), hex.EncodeToString(sum[:])
}

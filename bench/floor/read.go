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

// table is what the read floor knows: the skills by name and by URI.
type table map[string]entry

type entry struct{ name, uri, folder string }

func readTable(file string) (table, error) {
	data, err := os.ReadFile(file)
	t := table{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
			t[f[0]] = entry{f[0], f[1], f[2]}
			t[f[1]] = t[f[0]]
		}
	}
	return t, err
}

type object = map[string]any

// answer does what a plain program does: it decodes the request, reads and hashes the
// files, and encodes the answer.
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
		text, _ := hashed(e.folder + "/SKILL.md")
		result = object{"content": []object{{"type": "text", "text": "Loading: " + e.name + "\nBase directory: " + e.folder + "\n\n" + text}}}
	case r.Method == "skills/get":
		result = object{"skill": object{"uri": e.uri, "resources": e.files()}}
	default:
		text, _ := hashed(e.folder + "/SKILL.md")
		result = object{"contents": []object{{"uri": e.uri, "mimeType": "text/markdown", "text": text}}}
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
	_ = filepath.WalkDir(e.folder, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, digest := hashed(p)
			out = append(out, object{"uri": strings.TrimSuffix(e.uri, "SKILL.md") + p[len(e.folder)+1:], "digest": "sha256:" + digest, "size": len(text)})
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

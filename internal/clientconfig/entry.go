package clientconfig

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// Server is the server that an entry starts or connects to.
type Server struct {
	Command    string   // absolute path of the executable, or npx
	Args       []string // the arguments of the command
	URL        string   // the URL of a remote server, or ""
	Token      bool     // whether the remote server needs a token
	ClientID   string   // client ID registered at the provider of the remote server, or ""
	Remove     bool     // whether to remove the entry
	Trust      bool     // whether the tools are called without asking, see [Client.CanTrust]
	ReplaceURL bool     // whether an entry with a URL may be changed to start Command
	// Chosen are the arguments of serve that the user chose. They replace the arguments of an
	// existing entry. If Chosen is nil, those arguments stay.
	Chosen []string

	shared bool // whether several clients read the file, see [Client.ServerIn]
}

// State compares a client's entry for knack with the entry that connect would write.
type State string

// The states of an entry.
const (
	Absent    State = "absent"    // no entry
	Connected State = "connected" // an entry as connect would write it, or an entry with a URL
	Outdated  State = "outdated"  // an entry that starts knack in another way
	Foreign   State = "other"     // an entry called knack that starts something else
)

// commandKeys and urlKeys list the fields with which any client describes how to reach a server.
var (
	commandKeys = []string{"command", "cmd", "args"} // in the order of a command line
	urlKeys     = []string{"url", "httpUrl", "serverUrl", "uri"}
)

// launch returns the command line that an entry starts, and the URL of the entry.
func launch(fields map[string]any) (words []string, url string) {
	for _, key := range commandKeys {
		switch v := fields[key].(type) {
		case string:
			words = append(words, v)
		case []any:
			for _, w := range v {
				text, _ := w.(string)
				words = append(words, text)
			}
		}
	}
	for _, key := range urlKeys {
		if v, ok := fields[key].(string); ok {
			url = v
		}
	}
	return words, url
}

// suspicion returns the reason to suspect that an entry in a project's file starts a program of the
// project, or "". A name on PATH is safe. An absolute path outside of the project is safe too, and
// so is the path of the new entry.
func suspicion(p Env, have map[string]any, s Server) string {
	if helper, ok := have["headersHelper"].(string); ok { // Claude Code runs the helper in a shell
		return "it runs " + helper
	}
	for _, key := range []string{"env", "environment", "envs"} {
		vars, _ := have[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			if loads := strings.ToUpper(name); loads == "PATH" || strings.HasPrefix(loads, "LD_") || strings.HasPrefix(loads, "DYLD_") {
				return "it sets " + name
			}
		}
	}
	words, _ := launch(have)
	if len(words) == 0 {
		return ""
	}
	at := words[0]
	program, _ := split(words)
	switch {
	case len(program) > 1 && !slices.Equal(program, s.Program()):
		return "npx prefers a package of the project"
	case strings.ContainsAny(at, "$%"):
		return "its path has a variable"
	case isBareName(words) || at == s.Command && filepath.IsAbs(at):
		return ""
	case !filepath.IsAbs(at):
		return "its path is relative"
	case p.Project != p.Home && inside(filepath.FromSlash(p.Project), at):
		return "the program is in the project"
	}
	return ""
}

// inside reports whether a path is in a folder, before or after links are resolved.
func inside(folder, at string) bool {
	real := func(path string) string {
		if out, err := realpath.Eval(path); err == nil {
			return out
		}
		return filepath.Clean(path)
	}
	for _, names := range [][2]string{{filepath.Clean(folder), filepath.Clean(at)}, {real(folder), real(at)}} {
		if rel, err := filepath.Rel(names[0], names[1]); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// arguments returns the new arguments of an entry. have are its present arguments for knack.
func (s Server) arguments(have []string) []string {
	if s.Chosen != nil {
		have = append([]string{"serve"}, s.Chosen...)
	}
	program, want := split(append([]string{s.Command}, s.Args...))
	return slices.Concat(program[1:], mergeArgs(have, want))
}

// mergeArgs returns the arguments have with the value of --entry from want. If want has no --entry,
// neither has the result.
func mergeArgs(have, want []string) []string {
	if !slices.Contains(have, "serve") {
		return want
	}
	name := values(want, "--entry")
	out := withEntryName(have, name)
	if len(name) > 0 && !slices.Contains(out, "--entry="+name[0]) && !slices.Contains(values(out, "--entry"), name[0]) {
		out = append(out, "--entry", name[0])
	}
	return out
}

// withEntryName returns arguments with the value of --entry replaced by name, or without --entry if
// name is empty.
func withEntryName(have, name []string) (out []string) {
	for i := 0; i < len(have); i++ {
		old, ok := strings.CutPrefix(have[i], "--entry=")
		two := !ok && have[i] == "--entry" && i+1 < len(have)
		switch {
		case !ok && !two:
			out = append(out, have[i])
			continue
		case two:
			i++
			old = have[i]
		}
		switch {
		case len(name) == 0:
		case ok && old == name[0]:
			out = append(out, have[i])
		default:
			out = append(out, "--entry", name[0])
		}
	}
	return out
}

// values returns the values of a flag.
func values(words []string, flag string) (out []string) {
	for _, p := range pairs(words) {
		if p[0] == flag {
			out = append(out, p[1])
		}
	}
	return out
}

func pairs(words []string) (out [][2]string) {
	for i := 0; i+1 < len(words); i++ {
		out = append(out, [2]string{words[i], words[i+1]})
	}
	return out
}

// change is the change of an entry: the fields to set and the keys to remove.
type change struct {
	state State
	set   []field
	drop  []string
}

// result returns the fields of an entry after the change.
func (ch change) result(have map[string]any) map[string]any {
	now := map[string]any{}
	maps.Copy(now, have)
	for _, f := range ch.set {
		now[f.key] = plainValue(f.value)
	}
	for _, key := range ch.drop {
		delete(now, key)
	}
	return now
}

// decide compares the entry in a file with the entry for s. have contains the fields of the entry
// in the file, or is nil if there is none. The user's arguments stay unless s has chosen ones.
// Fields that do not describe how to reach the server also stay.
func (c Client) decide(have map[string]any, s Server) change {
	if have == nil {
		return change{Absent, c.newEntry(s), nil}
	}
	words, url := launch(have)
	switch {
	case len(words) > 0 && !startsKnack(words, s):
		return change{state: Foreign}
	case s.URL == "" && url != "" && len(words) == 0 && !s.ReplaceURL && s.Chosen == nil:
		return change{state: Connected}
	}
	out := change{state: Connected}
	if s.URL == "" {
		_, have := split(words)
		s.Args = s.arguments(have)
		out.set = c.local(s)
		out.drop = append(slices.Clone(urlKeys), keys(c.bearer)...) // Codex refuses an entry with a command and a token
	} else {
		out.set, out.drop = c.remote(s), slices.Clone(commandKeys)
	}
	switch sameWay := (s.URL == "") == (len(words) > 0); {
	case !sameWay:
		out.drop = append(out.drop, "type")
		if c.clientID != nil && s.ClientID == "" {
			out.drop = append(out.drop, c.clientID("").key)
		}
	case s.URL == "" && (have["type"] != nil || c.untyped):
		// Another word for the type is accepted, such as "stdio" for "local".
		out.set = slices.DeleteFunc(out.set, func(f field) bool { return f.key == "type" })
	}
	if s.URL != "" && s.Token {
		out.set = append(out.set, c.missingBearer(have)...)
	}
	if s.ClientID != "" && c.clientID != nil {
		out.set = append(out.set, c.clientID(s.ClientID))
	}
	if s.Trust {
		out.set = append(out.set, c.trust...)
	}
	out.drop = slices.DeleteFunc(out.drop, func(key string) bool { return have[key] == nil || slices.Contains(keys(out.set), key) })
	if len(c.differences(have, out)) > 0 {
		out.state = Outdated
	}
	return out
}

func keys(fields []field) (out []string) {
	for _, f := range fields {
		out = append(out, f.key)
	}
	return out
}

// missingBearer returns the fields that the entry still needs to send the token. An existing token,
// its variable and other headers stay.
func (c Client) missingBearer(have map[string]any) (out []field) {
	for _, f := range c.bearer {
		old, there := have[f.key]
		if !there {
			out = append(out, f)
			continue
		}
		header, _ := f.value.(object)
		headers, _ := old.(map[string]any)
		if len(header) == 0 || len(headers) == 0 {
			continue
		}
		all, mine := object{}, true
		for _, k := range slices.Sorted(maps.Keys(headers)) {
			_, text := headers[k].(string)
			mine = mine && text && !strings.EqualFold(k, header[0].key)
			all = append(all, field{k, headers[k]})
		}
		if mine {
			out = append(out, field{f.key, append(all, header...)})
		}
	}
	return out
}

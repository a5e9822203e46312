package config

import (
	"strings"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Files is a set of kinds of files, by how knack finds them.
type Files uint8

// The kinds of files. If --config names a project's file, the file has two kinds.
const (
	OfProject Files = 1 << iota // found in a project, which may be a clone
	OfUser                      // the user's own
	Named                       // named by --config
)

const trusted = OfUser | Named

// scope defines the files and the servers for which a section applies.
type scope struct {
	name        string // a section, or a key as section.key
	files       Files  // the files in which it applies
	stdio, http Files  // the files in which it applies to a server over this transport
	why         string // the reason why it does not apply in other files
	instead     string // a further fix besides moving it
}

// scopes has a row for each section, in the order of root. A key has a row only if it applies in
// fewer files than its section.
var scopes = []scope{
	{"check", OfProject | trusted, 0, 0, "", ""},
	{"project", OfProject, OfProject, OfProject, "only a project's own " + Name + " can have this section", ""},
	{"roots", trusted, Named, trusted, "a project's file names no roots: a clone could otherwise decide which folders of this machine are served", "write project.dirs for folders of the project"},
	{"sources", trusted, trusted, trusted, "a project's file names no sources: a clone could otherwise decide what a server fetches and serves", "add the skills to the project with 'knack add'"},
	{"store", trusted, trusted, trusted, "a project's file does not say where the store is: a clone could otherwise have files written anywhere, and serve its own as fetched ones", ""},
	{"poll", trusted, trusted, trusted, "a project's file does not say how often sources are asked, since it names none", ""},
	{"lock", trusted, trusted, trusted, "a project's file does not say what is done with locks: a clone could otherwise take skills away, or hide that they have changed", ""},
	{"trust", trusted, trusted, trusted, "a project's file does not say which keys are trusted: a clone could otherwise vouch for its own skills", ""},
	{"scan", trusted, trusted, trusted, "a project's file does not say which skills a server holds back: a clone could otherwise accept its own findings", "check.rules changes what 'knack check' says in this project"},
	{"approvals", trusted, trusted, trusted, "a project's file does not say which skills are approved: a clone could otherwise approve its own", ""},
	{"chat", trusted, 0, 0, "a project's file does not say which models are talked to: a clone could otherwise send your words and keys to its own", ""},
	{"servers", trusted, 0, 0, "a project's file does not name servers: a clone could otherwise have its own program started", ""},
	{"access", trusted, 0, trusted, "a project's file does not say who may use a server, and who sees which skills: a clone could otherwise open what you serve", ""},
	{"sign-in", trusted, 0, trusted, "a project's file does not say where people sign in: a clone could otherwise let its own people in", ""},
	{"http", trusted, 0, trusted, "a project's file does not say where a server listens: a clone could otherwise open it to other machines", ""},
	{"http.listen", Named, 0, Named, "only --http or a file for --config says where a server listens", ""},
	{"log", trusted, Named, trusted, "a project's file does not say what a server logs: a clone could otherwise hide what is wrong with its skills", ""},
	{"audit", trusted, Named, trusted, "a project's file does not say where the audit log is: a clone could otherwise have any of your files written to", ""},
	{"usage", trusted, 0, trusted, "a project's file does not say where usage is counted: a clone could otherwise have any of your files replaced", ""},
	{"limits", trusted, 0, trusted, "a project's file does not say how often clients may ask: a clone could otherwise take the limits of your server away", ""},
}

// Misplaced returns a problem for each section and key that has no effect in a file of this kind.
// The problem contains the reason. Misplaced finds them even if the file has wrong values, but not
// if its YAML cannot be parsed.
func Misplaced(data []byte, kind Files) (problems []skill.Problem) {
	at, out := positions(data), ""
	for _, s := range scopes {
		if at[s.name].Line == 0 || s.files&kind != 0 || out != "" && strings.HasPrefix(s.name, out+".") {
			continue
		}
		out = s.name
		fix := "write " + s.name + " in your own " + Name + ", or in a file for --config"
		if s.instead != "" {
			fix += "; " + s.instead
		}
		problems = append(problems, skill.Problem{Rule: ruleValue, Position: at[s.name], Field: s.name, Message: s.why, Fix: fix})
	}
	return problems
}

// Transports returns the sections of a file that apply to a server over standard input and output,
// and the sections that apply only over HTTP.
func Transports(data []byte, kind Files) (stdio, onlyHTTP []string) {
	at := positions(data)
	for _, s := range scopes {
		switch {
		case at[s.name].Line == 0 || strings.Contains(s.name, "."):
		case s.stdio&kind != 0:
			stdio = append(stdio, s.name)
		case s.http&kind != 0:
			onlyHTTP = append(onlyHTTP, s.name)
		}
	}
	return stdio, onlyHTTP
}

// Names reports whether a file has a section, even one with faults.
func Names(data []byte, section string) bool { return positions(data)[section].Line > 0 }

// positions maps the keys of the first two levels of a file to their positions.
func positions(data []byte) map[string]skill.Position {
	at := map[string]skill.Position{}
	if len(data) > MaxSize {
		return at
	}
	v, _ := frontmatter.ParseYAML(strings.TrimPrefix(string(data), "\ufeff"))
	for _, f := range v.Fields {
		at[f.Key] = f.KeyPosition
		for _, inner := range f.Value.Fields {
			at[f.Key+"."+inner.Key] = inner.KeyPosition
		}
	}
	return at
}

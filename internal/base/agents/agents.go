// Package agents has the table of the agents that read skills: in which folders, which variables
// move these, and how an agent is detected.
//
// The table is the file agents.tsv. Its order is the order of precedence of the folders. A row
// names one folder in a project, one at home, or both; further rows of an agent have its id. The
// columns are:
//
//   - label: the label of the folders, without "-project" and "-user"
//   - project: the folder below the project's; with "?" in front it counts only if the agent is
//     detected, because other programs use this name for other things
//   - home: the user's folder, as a place
//   - reads: the labels of all folders that the agent reads; "-" for the labels of its own rows. Words
//     among them: "deep" if the agent finds skills at any depth, and not only in child folders,
//     "unlinked" if it follows no link to a skill, "lenient" if it shows a skill whose frontmatter is
//     not valid YAML
//   - variables: NAME=place for a variable that moves a home; NAME= for one that adds a folder
//   - detect: places that exist if the agent is used, its own folder first; FILE#key for a key of
//     "dependencies" in a package.json
//   - off: FILE#key for a setting of the agent that turns skills off
//   - source: the documents, programs and runs that show it
//
// A place begins with "~/" (the home folder), "./" (the project), "$NAME" (a variable) or "/".
// Several values of a column have ";" between them, labels have spaces. "-" means no value.
package agents

import (
	_ "embed"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// SkillsFolder is the folder for skills in a project and at home that belongs to no agent and
// that most agents read (agentskills.io).
const SkillsFolder = ".agents/skills"

// Agent is one program that reads skills.
type Agent struct {
	ID, Name string
	Reads    []string // labels of the folders that it reads, with "-project" or "-user"
	Deep     bool     // it finds skills at any depth below these folders, and not only in their child folders
	Unlinked bool     // it finds no skill through a link
	Lenient  bool     // it shows a skill whose frontmatter is not valid YAML
	Detect   []string // places that exist if the agent is used
	Off      []string // FILE#key: settings that turn skills off
	Source   string
}

// Pair is one folder in each project and one at home. Either may be "".
type Pair struct {
	Label             string // without "-project" and "-user"
	InProject, AtHome string // the labels of the two folders
	Project           string // slash-separated, below the project's folder
	Home              string // a place, see [Homes.Path]
	// Common is set if the name of the project's folder says nothing about the agent. The folder
	// counts only if the agent is detected.
	Common bool
	Agent  *Agent // the agent that the folders belong to
	Source string
}

// Variable is a variable of the environment that replaces the place Default. It adds a folder if
// Default is "".
type Variable struct {
	Name, Default string
	Moves         bool // folders of skills, and not only the places by which an agent is detected
}

// Any is the name in the rows of folders that belong to no agent.
const Any = "any agent"

//go:embed agents.tsv
var file string

type contents struct {
	agents    []*Agent
	pairs     []Pair
	variables []Variable
	readers   map[string][]string // names of agents, by label
}

var table = sync.OnceValue(func() (t contents) {
	_, rows, _ := strings.Cut(file, "\n")
	for row := range strings.Lines(rows) {
		c := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		for i := range c {
			c[i] = strings.TrimPrefix(c[i], "-")
		}
		id, name, label, project, home, reads, variables, detect, off, source := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9]
		i := slices.IndexFunc(t.agents, func(a *Agent) bool { return a.ID == id })
		if i < 0 {
			i = len(t.agents)
			labels := strings.Fields(reads)
			a := &Agent{ID: id, Name: name, Detect: list(detect), Off: list(off), Source: source}
			words := map[string]*bool{"deep": &a.Deep, "unlinked": &a.Unlinked, "lenient": &a.Lenient}
			for _, label := range labels {
				if word := words[label]; word != nil {
					*word = true
				} else {
					a.Reads = append(a.Reads, label)
				}
			}
			t.agents = append(t.agents, a)
		}
		if label != "" {
			folder, common := strings.CutPrefix(project, "?")
			t.pairs = append(t.pairs, Pair{label, label + "-project", label + "-user", folder, home, common, t.agents[i], source})
		}
		for _, v := range list(variables) {
			name, place, _ := strings.Cut(v, "=")
			t.variables = append(t.variables, Variable{Name: name, Default: place})
		}
	}
	for i := range t.variables {
		v := &t.variables[i]
		v.Moves = slices.ContainsFunc(t.pairs, func(p Pair) bool { return strings.HasPrefix(p.Home, "$"+v.Name+"/") })
	}
	t.readers = make(map[string][]string, 2*len(t.pairs))
	for _, a := range t.agents {
		t.read(a)
	}
	return t
})

func list(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Split(cell, ";")
}

// read sets the labels of the folders that an agent reads, with "-project" and "-user".
func (t *contents) read(a *Agent) {
	named := a.Reads
	a.Reads = nil
	add := func(label string, set bool) {
		if set {
			a.Reads = append(a.Reads, label)
			t.readers[label] = append(t.readers[label], a.Name)
		}
	}
	for _, p := range t.pairs {
		if len(named) == 0 && p.Agent == a {
			add(p.InProject, p.Project != "")
			add(p.AtHome, p.Home != "")
		}
	}
	for _, name := range named {
		for _, p := range t.pairs {
			if rest, ok := strings.CutPrefix(name, p.Label); ok && (rest == "" || rest == "-project" || rest == "-user") {
				add(p.InProject, p.Project != "" && rest != "-user")
				add(p.AtHome, p.Home != "" && rest != "-project")
			}
		}
	}
}

// All lists the agents in the order of the table.
func All() []*Agent { return table().agents }

// Pairs lists the folders in their order of precedence.
func Pairs() []Pair { return table().pairs }

// Variables lists the variables that move a home or add a folder.
func Variables() []Variable { return table().variables }

// Find returns the agent with an id, or nil.
func Find(id string) *Agent {
	for _, a := range All() {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// Named returns the agent with a name, or nil.
func Named(name string) *Agent {
	for _, a := range All() {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Labels lists the labels of all folders of the table in their order, for the project and
// for the user.
func Labels() (out []string) {
	for _, p := range Pairs() {
		if p.Project != "" {
			out = append(out, p.InProject)
		}
		if p.Home != "" {
			out = append(out, p.AtHome)
		}
	}
	return out
}

// Readers lists the names of the agents that read a folder, given its labels. A project's parent
// has the label of the project.
func Readers(labels []string) (names []string) {
	if len(labels) == 1 {
		return table().readers[WithoutNumber(labels[0])]
	}
	for _, label := range labels {
		for _, name := range table().readers[WithoutNumber(label)] {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// WithoutNumber returns the label of a project's folder, given the label of the same folder in one
// of its parents.
func WithoutNumber(label string) string {
	folder, n, ok := strings.Cut(label, "-project-")
	if !ok || n == "" || strings.Trim(n, "0123456789") != "" {
		return label
	}
	return folder + "-project"
}

// Homes resolves the places of the table for one user.
type Homes struct {
	Home string // the user's home folder, or "" if unknown
	// Getenv returns the values of the variables that move a home. It is nil if none does, as on a
	// server for other machines.
	Getenv func(string) string
}

// Moved returns the folder that a variable names, or "". A relative path names another folder in
// each working directory, so it counts as unset.
func (h Homes) Moved(variable string) string {
	if h.Getenv == nil {
		return ""
	}
	if at := h.Getenv(variable); filepath.IsAbs(at) {
		return at
	}
	return ""
}

// Path returns the path of a place outside a project, with slashes. It returns "" as [Homes.Split]
// does.
func (h Homes) Path(place string) string {
	top, rest := h.Split(place)
	if top == "" || rest == "" {
		return top
	}
	return strings.TrimRight(top, "/") + "/" + rest
}

// Own returns the folder in which an agent keeps its own skills, in a project or, if project is "",
// at home. It returns "" for an agent without one.
func (h Homes) Own(a *Agent, project string) string {
	for _, p := range Pairs() {
		switch {
		case p.Agent != a:
		case project != "" && p.Project != "":
			return path.Join(filepath.ToSlash(project), p.Project)
		case project == "" && p.Home != "":
			return h.Path(p.Home)
		}
	}
	return ""
}

// Folders lists the folders that an agent reads, as Own says where.
func (h Homes) Folders(a *Agent, project string) (folders []string) {
	for _, p := range Pairs() {
		switch {
		case project != "" && p.Project != "" && slices.Contains(a.Reads, p.InProject):
			folders = append(folders, path.Join(filepath.ToSlash(project), p.Project))
		case project == "" && p.Home != "" && slices.Contains(a.Reads, p.AtHome):
			folders = append(folders, h.Path(p.Home))
		}
	}
	return folders
}

// Split splits a place into its base, the home folder or the value of a variable, and the rest of
// the path, both with slashes. The folder is "" if the place depends on an unknown home folder, or
// on a variable without a default that is not set.
func (h Homes) Split(place string) (top, rest string) {
	first, rest, _ := strings.Cut(place, "/")
	switch name, variable := strings.CutPrefix(first, "$"); {
	case first == "~":
		top = h.Home
	case first == "":
		return place[:len(place)-len(rest)], rest
	case variable:
		if top = h.Moved(name); top == "" {
			i := slices.IndexFunc(Variables(), func(v Variable) bool { return v.Name == name })
			if i < 0 || Variables()[i].Default == "" {
				return "", rest
			}
			return h.Split(path.Join(Variables()[i].Default, rest))
		}
	}
	return strings.ReplaceAll(top, `\`, "/"), rest
}

// Package agents has the table of the agents that read skills. The table lists the folders that
// each agent reads, the environment variables that move these folders, and how to detect the agent.
//
// The table is the file agents.tsv. Its order is the order of precedence of the folders. A row
// names one folder in a project, one in the user's home, or both. Further rows of an agent repeat
// its id. The columns are:
//
//   - label: the label of the folders, without "-project" and "-user"
//   - project: the folder below the project's; with "?" in front it counts only if the agent is
//     detected, because other programs use this name for other things
//   - home: the user's folder, as a place
//   - reads: the labels of all folders that the agent reads; "-" for the labels of its own rows. The
//     list may also have the word "deep" if the agent finds skills at any depth, and not only in child
//     folders, "unlinked" if it follows no link to a skill, and "lenient" if it accepts a skill whose
//     frontmatter is not valid YAML
//   - variables: NAME=place for a variable that moves a home; NAME= for one that adds a folder
//   - detect: places that exist if the agent is used, its own folder first; FILE#key for a key of
//     "dependencies" in a package.json
//   - off: FILE#key for a setting of the agent that turns skills off
//   - source: the documents, programs and test runs that the row is based on
//
// A place begins with "~/" (the home folder), "./" (the project), "$NAME" (a variable) or "/".
// Several values of a column are separated by ";", several labels by spaces. "-" means no value.
package agents

import (
	_ "embed"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Folder is the folder in the user's home that holds the skills for all projects, and their lock.
const Folder = ".agents"

// SkillsFolder is the folder of skills that most agents read (agentskills.io). It exists in
// projects and in the home folder, and belongs to no single agent.
const SkillsFolder = Folder + "/skills"

// Agent is a program that reads skills.
type Agent struct {
	ID, Name string
	Reads    []string // labels of the folders that it reads, with "-project" or "-user"
	Deep     bool     // whether it finds skills at any depth, and not only in child folders
	Unlinked bool     // whether it ignores a skill that is reached through a link
	Lenient  bool     // whether it accepts a skill whose frontmatter is not valid YAML
	Detect   []string // places that exist if the agent is used
	Off      []string // FILE#key: settings that turn skills off
	Source   string
}

// Pair is a folder in each project, and the matching folder in the user's home. One of them may be
// "".
type Pair struct {
	Label             string // without "-project" and "-user"
	InProject, AtHome string // the labels of the two folders
	Project           string // slash-separated, relative to the project's folder
	Home              string // a place, see [Homes.Path]
	// Common is set if other programs use the name of the project's folder too. Then the folder
	// counts only in a project where the agent is detected.
	Common bool
	Agent  *Agent // the agent that the folders belong to
	Source string
}

// Variable is an environment variable that replaces the place Default. If Default is "", the
// variable adds a folder.
type Variable struct {
	Name, Default string
	Moves         bool // whether it moves folders of skills, and not only places to detect an agent
}

// Any is the agent's name in the rows of folders that belong to no agent.
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
		place := "$" + v.Name + "/"
		v.Moves = slices.ContainsFunc(t.pairs, func(p Pair) bool { return strings.HasPrefix(p.Home, place) })
	}
	labeled := make(map[string]*Pair, len(t.pairs))
	for i := range t.pairs {
		labeled[t.pairs[i].Label] = &t.pairs[i]
	}
	t.readers = make(map[string][]string, 2*len(t.pairs))
	for _, a := range t.agents {
		t.read(a, labeled)
	}
	return t
})

func list(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Split(cell, ";")
}

// read sets the labels of the folders that an agent reads, with "-project" and "-user". labeled
// maps labels to pairs.
func (t *contents) read(a *Agent, labeled map[string]*Pair) {
	named := a.Reads
	a.Reads = nil
	add := func(label string, set bool) {
		if set {
			a.Reads = append(a.Reads, label)
			t.readers[label] = append(t.readers[label], a.Name)
		}
	}
	if len(named) == 0 {
		for i := range t.pairs {
			if p := &t.pairs[i]; p.Agent == a {
				add(p.InProject, p.Project != "")
				add(p.AtHome, p.Home != "")
			}
		}
	}
	for _, name := range named {
		label, project := strings.CutSuffix(name, "-project")
		label, user := strings.CutSuffix(label, "-user")
		if p := labeled[label]; p != nil {
			add(p.InProject, p.Project != "" && !user)
			add(p.AtHome, p.Home != "" && !project)
		}
	}
}

// All lists the agents in the order of the table.
func All() []*Agent { return table().agents }

// Pairs lists the pairs of folders in their order of precedence.
func Pairs() []Pair { return table().pairs }

// Variables lists the variables that move a home or add a folder.
func Variables() []Variable { return table().variables }

// Find returns the agent with the given ID, or nil.
func Find(id string) *Agent {
	for _, a := range All() {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// Named returns the agent with the given name, or nil.
func Named(name string) *Agent {
	for _, a := range All() {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Labels lists the labels of all folders in the table, in its order. The label of a project's
// folder comes before the label of the matching folder in the user's home.
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

// Readers lists the names of the agents that read a folder with one of the given labels. A folder
// in a parent of the project counts as the project's folder.
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

// WithoutNumber removes the number from the label of a folder in one of the project's parents. It
// returns any other label unchanged.
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
	// Getenv returns the values of the variables that move a home. If it is nil, the variables are
	// ignored, as on a server for other machines.
	Getenv func(string) string
}

// Moved returns the folder in the value of a variable, or "". It ignores a relative path, which
// would mean a different folder in each working directory.
func (h Homes) Moved(variable string) string {
	if h.Getenv == nil {
		return ""
	}
	if at := h.Getenv(variable); filepath.IsAbs(at) {
		return at
	}
	return ""
}

// Path returns the path of a place outside a project, with slashes. It returns "" if [Homes.Split]
// returns no base.
func (h Homes) Path(place string) string {
	top, rest := h.Split(place)
	if top == "" || rest == "" {
		return top
	}
	return strings.TrimRight(top, "/") + "/" + rest
}

// Own returns the folder in which an agent keeps its own skills, in a project or, if project is "",
// in the home folder. It returns "" if the agent has none.
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

// Folders lists the folders that an agent reads, in a project or, if project is "", in the home
// folder.
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

// Split splits a place into its base and the rest of the path, both with slashes. The base is the
// home folder, the value of a variable, or the root. It is "" if the home folder is unknown, or if
// the variable has no default and is not set.
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

package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/corpus"
)

// prompt is the user's message. The model follows a script and ignores the message.
const prompt = "Follow the skills that fit this task, and then say what you have read."

// scenario measures one row of a table. The row begins with the client's name and the suffix.
type scenario struct {
	name, table, suffix string
	run                 func(t *testing.T, a agent, version string)
}

// scenarios measure the rows of the document's tables.
var scenarios = []scenario{
	{"files", "files", "", testFiles},
	{"limits", "limits", "", testLimits},
	{"listed", "listed", "", testListed},
	{"names", "names", "", testNames},
	{"native", "sizes", native, testNative},
	{"own", "own", "", testOwn},
	{"sizes", "sizes", "", testSizes},
}

// TestAgents runs each client and compares the model's view with doc/clients.md, and with the least
// that the model must see.
func TestAgents(t *testing.T) {
	value := os.Getenv(which)
	if value == "" {
		t.Skipf("real clients run with make agents, or where %s names them; doc/clients.md says what they see", which)
	}
	for name := range strings.SplitSeq(value, ",") {
		if name != "all" && !slices.ContainsFunc(agents, func(a agent) bool { return a.folder == name }) {
			t.Fatalf("%s names the client %q; the clients are the folders in interop/agents/clients", which, name)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows npm puts other files into node_modules/.bin, which nothing here starts")
	}
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			if !a.chosen(value) {
				t.Skipf("%s=%s does not name %s", which, value, a.folder)
			}
			version := a.installed(t)
			t.Parallel() // clients mostly wait
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) {
					seen.begin(s.table, a.name+s.suffix)
					t.Cleanup(func() {
						if t.Skipped() {
							seen.skip(s.table, a.name+s.suffix)
						}
					})
					s.run(t, a, version)
				})
			}
			if a.scripted {
				t.Run("long", func(t *testing.T) { testLong(t, a) })
			}
		})
	}
}

// modules returns the folder into which npm ci installed the client.
func (a agent) modules() string {
	at := os.Getenv(installed)
	if at == "" {
		at = "clients"
	}
	return filepath.Join(at, a.folder, "node_modules")
}

// installed returns the client's version. It skips the test if the client is not installed, and
// fails it if the version differs from package.json.
func (a agent) installed(t *testing.T) (version string) {
	t.Helper()
	if _, err := node(); err != nil {
		t.Skip(err)
	}
	data, err := os.ReadFile(filepath.Join("clients", a.folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	for pkg, want := range p.Dependencies {
		data, err := os.ReadFile(filepath.Join(a.modules(), pkg, "package.json"))
		if err != nil {
			t.Skipf("%s %s is not installed; make agents installs it: %v", a.title, want, err)
		}
		var has struct{ Version string }
		if err := json.Unmarshal(data, &has); err != nil {
			t.Fatal(err)
		}
		if has.Version != want {
			t.Fatalf("%s %s is installed, the lock file has %s; make agents installs it", a.title, has.Version, want)
		}
		version = want
	}
	return version
}

// begin opens a session and writes the client's settings. It does not run the client.
func begin(t *testing.T, a agent, scenario, ruler string, p *play) *session {
	t.Helper()
	r, err := open(a, scenario, ruler, p.next)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// play adds knack to the client's servers and runs the client until its model has made its calls.
// It returns the recorded messages.
func (r *session) play(t *testing.T, p *play) wire {
	t.Helper()
	if err := r.connect(); err != nil {
		t.Fatal(err)
	}
	if err := r.client(r.agent.args(r, prompt)...); err != nil {
		t.Error(err)
	}
	w, err := r.read()
	if err != nil {
		t.Fatalf("%s did not start knack: %v", r.agent.title, err)
	}
	if len(r.model.Requests()) == 0 {
		t.Fatalf("%s asked no model: %s%s", r.agent.title, tail(r.stdout), tail(r.stderr))
	}
	for _, trouble := range p.trouble {
		t.Error(trouble)
	}
	t.Logf("beside its turns it asked for %q", r.model.Errands())
	return w
}

// testLimits measures the client without knack. It measures how much of the instructions, of a
// tool's description and of an answer the client shows its model.
func testLimits(t *testing.T, a agent, version string) {
	const top = 100_000
	low, high := 0, top+100
	ask := func(n int) *step {
		return &step{tool: "skill", args: object{"name": fmt.Sprint(n)}, whole: lines("", "the answer", n)}
	}
	p := &play{steps: []*step{ask(top)}}
	p.more = func(last *step) *step {
		if x := last.arrived(); x.plain || x.quoted {
			low = len(last.whole)
		} else {
			high = len(last.whole)
		}
		if high-low <= 100 {
			return nil
		}
		return ask((low + high) / 200 * 100)
	}
	// The first ruler is a single line; the second has many lines.
	line, many := ruled(" "), ruled("\n")
	r := begin(t, a, "limits", line, p)
	r.play(t, p)
	one := plain(r.model.Requests()[0].Text())
	r = begin(t, a, "lines", many, &play{})
	r.play(t, &play{})
	folded := plain(r.model.Requests()[0].Text())

	first := len("I: ") + strings.Index(many, "\n")
	part := func(mark string) string {
		n := len(prefixOf(one, mark+line))
		switch {
		case n == 0:
			return "none"
		case n > first && len(prefixOf(folded, mark+line)) <= first+1:
			return grouped(n) + " of the first line"
		case n >= len(line):
			return "whole"
		}
		return grouped(n)
	}
	answer := grouped(low)
	if low >= top {
		answer = "over " + answer
	}
	seen.cell(t, "limits", a.name, version, part("I: "), part("D: "), answer)
}

// grouped formats a number below a million with a comma before its last three digits.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// testListed checks that after connect --write the client's own list contains knack once, as a
// working server. This must also hold if the client's own command has added knack before, for the
// user or for the project. A client without a list is run, and must start knack once.
func testListed(t *testing.T, a agent, _ string) {
	cells := []string{a.name, "none", "", "has no `add`", "has no such `add`"}
	if a.list != nil {
		cells[1] = "`" + a.program + " " + strings.Join(a.list, " ") + "`"
	}
	for i, add := range [][]string{{}, a.add, a.team} {
		if add == nil {
			continue
		}
		p := &play{}
		r := begin(t, a, fmt.Sprintf("listed-%d", i), "", p)
		if len(add) > 0 {
			args := slices.Clone(add)
			args[slices.Index(args, "KNACK")] = r.recorder
			if err := r.client(args...); err != nil {
				t.Fatal(err)
			}
		}
		if a.list == nil {
			w := r.play(t, p)
			cells[2+i] = fmt.Sprintf("starts %d", w.starts)
			if w.starts != 1 {
				t.Errorf("%s starts %d servers knack", a.title, w.starts)
			}
			continue
		}
		if err := r.connect(); err != nil {
			t.Fatal(err)
		}
		said := r.stdout + r.stderr
		if i == 2 && a.approve != nil {
			if !strings.Contains(said, a.program+" "+strings.Join(a.approve, " ")) {
				t.Errorf("knack connect does not say %s: %s", a.approve, said)
			}
			if err := r.client(a.approve...); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 && !strings.Contains(said, "comes first") && !strings.Contains(said, "until you approve the project's") {
			t.Errorf("knack connect does not say which entry counts: %s", said)
		}
		if err := r.client(a.list...); err != nil {
			t.Fatal(err)
		}
		servers := listedServers(r.stdout + r.stderr)
		cells[2+i] = fmt.Sprintf("%d, %s", len(servers), a.working)
		if len(servers) != 1 || !strings.Contains(servers[0], a.working) {
			t.Errorf("%s %s: want one server knack that is %s, got %q in\n%s%s", a.program, strings.Join(a.list, " "), a.working, servers, r.stdout, r.stderr)
			cells[2+i] = fmt.Sprintf("%d, not all %s", len(servers), a.working)
		}
	}
	seen.cell(t, "listed", cells...)
}

var colour = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)

// listedServers returns the lines of a list that begin with the name knack, possibly after marks.
func listedServers(list string) (out []string) {
	name := regexp.MustCompile(`^[^\pL/]*knack(\W|$)`)
	for line := range strings.Lines(colour.ReplaceAllString(list, "")) {
		if name.MatchString(line) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// testNames checks that the first request contains the skills of one repository.
func testNames(t *testing.T, a agent, version string) {
	from := corpus.Dir(t, "skills", repository)
	skills, err := list(from)
	if err != nil {
		t.Fatal(err)
	}
	load := skills[slices.IndexFunc(skills, func(s listedSkill) bool { return s.Name == "terraform-test" })]
	text, err := os.ReadFile(load.File)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{steps: []*step{
		{tool: "skill", args: object{"name": load.Name}, whole: string(text)},
		{tool: "find_skills", args: object{"query": "azure images"}},
	}}
	r := begin(t, a, "names", "", p)
	if err := os.CopyFS(filepath.Join(r.home, ".agent", "skills"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	w := r.play(t, p)
	v := look(r.model.Requests()[0], w)

	n, d := len(names(v.all, skills)), len(descriptions(v.all, skills))
	if n < a.want.names || d < a.want.descriptions {
		t.Errorf("the model sees %d names and %d descriptions of %d skills, want %d and %d", n, d, len(skills), a.want.names, a.want.descriptions)
	}
	if x := p.steps[0].arrived(); !x.complete {
		t.Errorf("%s did not come whole: %s", load.Name, strings.Join(p.steps[0].answers, "\n"))
	}
	if found := plain(strings.Join(p.steps[1].answers, "\n")); len(names(found, skills)) == 0 || len(descriptions(found, skills)) == 0 {
		t.Errorf("find_skills gives the model no names and descriptions: %s", found)
	}
	if p.steps[0].name != a.tool {
		t.Errorf("the tool skill is called %q, the table of clients has %q", p.steps[0].name, a.tool)
	}
	called := "yes"
	switch {
	case v.instructions == 0:
		called = "not shown"
	case strings.Contains(w.instructions, "`"+a.tool+"`"):
	case strings.Contains(w.instructions, "this server's tool `skill`"):
		called = "as `skill`"
	default:
		called = "no"
		t.Errorf("the instructions name neither %s nor this server's tool: %s", a.tool, w.instructions)
	}
	if a.want.line {
		if err := checkLine(w.instructions, append(slices.Clone(skills), builtin...)); err != nil {
			t.Error(err)
		}
		if head, _, _ := strings.Cut(w.instructions, "\n"); !strings.Contains(v.all, plain(head)) {
			t.Errorf("the model is not shown the whole line: %s", head)
		}
	}
	seen.cell(t, "names", a.name, version, w.client, fmt.Sprintf("%d of %d", n, len(skills)), fmt.Sprintf("%d of %d", d, len(skills)), "`"+a.tool+"`", called, a.command(r))
}

var topicsOf = regexp.MustCompile("^[0-9]+ skills: (.*)[.…] Others, with `find_skills`: (.*)[.…] First load ")

// checkLine checks the first line of the instructions, which has at most 240 characters. Half of
// the room beside its fixed words is for names. It must have at least as many names as fit if the
// shortest come first. The other skills must have topics, which are words of their names, the most
// frequent first.
func checkLine(text string, skills []listedSkill) error {
	line, _, _ := strings.Cut(text, "\n")
	m := topicsOf.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("the first line has no names, or no topics: %s", line)
	}
	told := strings.Split(strings.TrimSuffix(m[1], ", "), ", ")
	room := (240 - (len([]rune(line)) - len(m[1]) - len(m[2]))) / 2
	shortest := slices.Clone(skills)
	slices.SortFunc(shortest, func(a, b listedSkill) int { return len(a.Name) - len(b.Name) })
	fit := 0
	for fit < len(shortest) && room >= len(shortest[fit].Name) {
		room -= len(shortest[fit].Name) + len(", ")
		fit++
	}
	if len(told) < fit {
		return fmt.Errorf("the first line has %d names, and %d fit: %s", len(told), fit, line)
	}
	before := len(skills)
	for topic := range strings.SplitSeq(strings.TrimSuffix(m[2], ", "), ", ") {
		n := 0
		for _, s := range skills {
			if !slices.Contains(told, s.Name) && slices.Contains(strings.Split(s.Name, "-"), topic) {
				n++
			}
		}
		if n == 0 || n > before {
			return fmt.Errorf("the topic %s stands for %d names, the one before it for %d: %s", topic, n, before, line)
		}
		before = n
	}
	return nil
}

// command returns the command line that runs the client, in the form that the table shows.
func (a agent) command(r *session) string {
	args := a.args(r, "PROMPT")
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, r.home, "~")
	}
	return "`" + a.program + " " + strings.Join(args, " ") + "`"
}

// testFiles checks that long texts arrive whole, or that the answers name the call that continues
// them.
func testFiles(t *testing.T, a agent, _ string) {
	p := &play{}
	r := begin(t, a, "files", "", p)
	texts, err := writeLong(filepath.Join(r.home, ".agent", "skills"))
	if err != nil {
		t.Fatal(err)
	}
	p.steps = append(p.steps, &step{tool: "skill", args: object{"name": long}, whole: texts["SKILL.md"]})
	var files []string
	for _, n := range sizes {
		files = append(files, longFile(n))
	}
	for _, file := range append(files, oneLine) {
		p.steps = append(p.steps, &step{tool: "read_file_in_skill", args: object{"skill_name": long, "file_path": file}, whole: texts[file]})
	}
	r.play(t, p)
	cells := []string{a.name}
	for _, s := range p.steps {
		x := s.arrived()
		cells = append(cells, x.String())
		if !x.complete {
			t.Errorf("%s %v: %s after %d answers; the first has %d of %d bytes and ends %q", s.tool, s.args, x, x.parts, x.first, len(s.whole), s.end())
		}
	}
	seen.cell(t, "files", cells...)
}

// testOwn checks the skills in the folders that clients read. The model must see each skill once:
// in knack's list or in the client's own.
func testOwn(t *testing.T, a agent, _ string) {
	p := &play{}
	r := begin(t, a, "own", "", p)
	written, err := writeEverywhere(r.home, r.project)
	if err != nil {
		t.Fatal(err)
	}
	known, err := r.known()
	if err != nil {
		t.Fatal(err)
	}
	w := r.play(t, p)
	v := look(r.model.Requests()[0], w)
	var ours strings.Builder
	ours.WriteString(w.instructions)
	for _, d := range w.tools {
		ours.WriteString(d)
	}
	reads := map[string][]string{}
	var twice, hidden, layouts []string
	for _, k := range written {
		by, client := strings.Contains(ours.String(), k.name), strings.Contains(v.foreign, k.description)
		if a.namesAlone {
			client = strings.Contains(v.foreign, k.name)
		}
		if client && k.where == "" {
			layouts = append(layouts, k.name)
		} else if client {
			reads[k.where] = append(reads[k.where], "`"+k.place+"`")
		}
		if by && client {
			twice = append(twice, k.name)
		}
		if !by && !client && slices.Contains(known, k.name) {
			hidden = append(hidden, k.name)
		}
	}
	t.Logf("of the layouts it shows %q", layouts)
	if len(twice) > 0 {
		t.Errorf("these stand in knack's list and in the client's own: %q", twice)
	}
	if len(hidden) > 0 {
		t.Errorf("knack knows these and lists them not, and neither does the client: %q", hidden)
	}
	cell := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ", ")
	}
	seen.cell(t, "own", a.name, cell(reads["user"]), cell(reads["project"]), cell(twice))
}

// testLong checks that every long text of the corpus arrives whole, or in parts that join without a
// gap.
func testLong(t *testing.T, a agent) {
	p := &play{}
	r := begin(t, a, "long", "", p)
	texts, err := copyLong(corpus.Dir(t, "skills"), filepath.Join(r.home, ".agent", "skills", long))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		p.steps = append(p.steps, &step{tool: "read_file_in_skill", args: object{"skill_name": long, "file_path": file}, whole: texts[file]})
	}
	if len(p.steps) < 50 {
		t.Fatalf("the corpus has %d long texts", len(p.steps))
	}
	r.play(t, p)
	whole, parts := 0, 0
	for _, s := range p.steps {
		switch x := s.arrived(); {
		case !x.complete:
			t.Errorf("%s: %s after %d answers; the first has %d of %d bytes and ends %q", s.args["file_path"], x, x.parts, x.first, len(s.whole), s.end())
		case x.parts == 1:
			whole++
		default:
			parts++
		}
	}
	t.Logf("of %d long texts %d came whole and %d in parts", len(p.steps), whole, parts)
}

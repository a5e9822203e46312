package web

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/tool"
)

// The views of a skill's page.
const (
	viewRead     = "read"
	viewSource   = "source"
	viewAgent    = "agent"
	viewFiles    = "files"
	viewProblems = "problems"
)

type skillPage struct {
	frame
	row
	Lede, Whole string // the description in one line, cut; Whole is set only if Lede is cut
	URI, Load   string
	RawHref     string
	Scope       skill.Scope
	Digest      string
	Checked     bool   // the results of the check are available
	Unpublished string // why the skill is not published; empty if it is
	People      bool   // people may invoke the skill
	By          *relative
	Others      []relative
	Fields      []field
	Tabs        []choice
	View        string

	Body     template.HTML
	Source   []string
	Plain    string // why the body is shown as text
	Answers  []answered
	Shown    []shown
	Files    []fileRow
	NFiles   int
	Manifest string // why there are no digests, or ""
	Total    int64
	More     int  // number of files not shown
	AtLeast  bool // the skill has more files than were counted
	Findings []finding
	Infos    int // findings that are not problems
}

// relative is another skill of the same name.
type relative struct{ Href, Place, Load, How string }

type field struct{ Key, Value string }

// skillOrFile shows the skill or file that a path below /skills/ names.
func (s *Site) skillOrFile(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, file, err := s.addressed(&v, r, "/skills/")
	if err != nil {
		return err
	}
	if file == "." || file == skill.MainFile {
		if here := pageOf(e); r.URL.EscapedPath() != here {
			return redirect(r, here)
		}
		return s.skill(r, v, e)
	}
	return s.file(r, v, e, file)
}

func redirect(r *request, to string) error {
	if r.URL.RawQuery != "" && !strings.Contains(to, "?") {
		to += "?" + r.URL.RawQuery
	}
	r.w.Header().Set("Location", to)
	r.w.WriteHeader(http.StatusFound)
	return nil
}

func (s *Site) skill(r *request, v catalog.View, e *catalog.Entry) error {
	data, e, err := v.Read(r.Context(), e)
	if err != nil {
		return readFault(err)
	}
	if e.Status == catalog.Skipped {
		return problem(http.StatusNotFound, "This skill is skipped since it changed: "+tool.Reason(e))
	}
	ctx := r.Context()
	if r.URL.Query().Get("view") != viewProblems {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, verdictPatience)
		defer cancel()
	}
	d, err := s.checks.verdict(ctx, v, e)
	if err != nil && (ctx == r.Context() || r.Context().Err() != nil) {
		return readFault(err)
	}
	p := s.aboutSkill(r, v, e, d)
	switch p.View = r.URL.Query().Get("view"); p.View {
	case viewSource:
		if p.Source, err = lines(r, string(data)); err != nil {
			return err
		}
	case viewAgent:
		if err := s.agentView(r, v, e, &p); err != nil {
			return err
		}
	case viewFiles:
		if err := s.filesView(r, v, e, &p); err != nil {
			return err
		}
	case viewProblems:
		p.Findings, p.Infos = findingsOf(d, data), fareOf(d).infos
	default:
		p.View = viewRead
		body := string(data)[frontmatter.Parse(data).Body:]
		if p.Body, p.Plain = s.markdown.render(r.Context(), body, place{v, e, skill.MainFile}); p.Plain != "" {
			if p.Source, err = lines(r, body); err != nil {
				return err
			}
		}
	}
	for _, t := range []struct {
		label, view string
		n           int
	}{{"Read", viewRead, 0}, {"Source", viewSource, 0}, {"Files", viewFiles, 0}, {"Agent's view", viewAgent, 0}, {"Problems", viewProblems, p.Grave}} {
		href := p.Href
		if t.view != viewRead {
			href += "?view=" + t.view
		}
		p.Tabs = append(p.Tabs, choice{Label: t.label, Href: href, Count: t.n, On: p.View == t.view})
	}
	return s.render(r, http.StatusOK, "skill", p)
}

// aboutSkill returns the data that every view of a skill's page shows.
func (s *Site) aboutSkill(r *request, v catalog.View, e *catalog.Entry, d *doctor.Verdict) skillPage {
	fares := unchecked(e)
	if d != nil {
		fares = fareOf(d)
	}
	p := skillPage{
		frame: s.frame(r, nameOf(e), "home"), row: rowOf(v, e, fares), Checked: d != nil, URI: e.URI().String(), Load: v.Called(e),
		RawHref: "/raw/" + escapedPath(e.URI()), Scope: e.Root.Scope, Digest: e.Digest.String(), People: e.UserInvocable, Fields: fieldsOf(e.Frontmatter),
	}
	if p.Lede, p.Whole = tool.Cut(inLine(e.Description), maxLede), inLine(e.Description); p.Lede == p.Whole {
		p.Whole = ""
	}
	switch {
	case e.Status == catalog.Unlisted:
		p.Unpublished = "its root is excluded, and no list has its skills"
	case d != nil:
		if why := d.Unpublished(); len(why) > 0 {
			p.Unpublished = why[0].Message
		}
	}
	if e.By != nil {
		how := "answers to the name; this one is shadowed"
		if e.Status == catalog.Copy {
			how = "is the same, byte for byte, and answers to the name"
		}
		p.By = &relative{pageOf(e.By), e.By.Place(), v.Called(e.By), how}
	}
	for _, o := range v.Entries {
		if o.Key == e.Key && !o.SameURI(e) && o != e.By && o.Status != catalog.Skipped {
			p.Others = append(p.Others, relative{pageOf(o), o.Place(), v.Called(o), string(o.Status)})
		}
	}
	return p
}

// verdictPatience is how long a page with a skill's text waits for the check, which
// also reads the other files.
const verdictPatience = 100 * time.Millisecond

// maxLede is the maximum length of the description at the top of the page, in
// characters. Two of three descriptions are not longer.
const maxLede = 400

// fieldsOf returns the top-level fields of the frontmatter in their order, except the
// name and the description, which are at the top of the page.
func fieldsOf(frontmatter json.RawMessage) (fields []field) {
	dec := json.NewDecoder(strings.NewReader(string(frontmatter)))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fields
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return fields
		}
		value := string(raw)
		var text string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			value = text
		} else if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if enc.Encode(raw) == nil {
				value = strings.TrimSuffix(b.String(), "\n")
			}
		}
		name, _ := key.(string)
		if name == "name" || name == "description" {
			continue // shown at the top of the page
		}
		fields = append(fields, field{name, value})
	}
	return fields
}

// linesOf splits a text into lines.
func linesOf(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// answered is the answer of one tool for a skill.
type answered struct {
	Tool, Arguments, Text string
	IsError               bool
	Characters, Left      int
	Tokens                int64
	Open                  bool
}

// shown describes what a client sees of a skill before it requests anything.
type shown struct{ Client, What string }

// maxAnswer is how much of a tool's answer is shown, in bytes.
const maxAnswer = 64 << 10

func (s *Site) agentView(r *request, v catalog.View, e *catalog.Entry, p *skillPage) error {
	for i, t := range s.o.Tools {
		required := t.Required()
		if len(required) == 0 {
			continue
		}
		args := argument([]byte("{"), required[0], argumentFor(t, v, e))
		if len(required) > 1 {
			args = argument(append(args, ','), required[1], skill.MainFile)
		}
		args = append(args, '}')
		res, err := t.Call(r.Context(), s.host, args) // with the rights of the client
		if err != nil {
			return err
		}
		n := utf8.RuneCountInString(res.Text)
		text := display.CutBytes(res.Text, maxAnswer)
		p.Answers = append(p.Answers, answered{
			t.Name, string(args), text, res.IsError, n, n - utf8.RuneCountInString(text), tokensOf(int64(n)), i == 0,
		})
	}
	p.Shown = shownTo(s.fitsOf(v), e)
	return nil
}

// argument appends one argument of a call. The caller adds them in the order of the
// schema.
func argument(args []byte, key, value string) []byte {
	return display.AppendJSONString(append(display.AppendJSONString(args, key), ':'), value)
}

// argumentFor returns the argument with which a tool finds a skill: its URI, its folder
// (contract 000) or the name that loads it.
func argumentFor(t *tool.Tool, v catalog.View, e *catalog.Entry) string {
	switch {
	case t.Required()[0] == "uri":
		return e.URI().String()
	case t.Contract == "000":
		return e.Folder()
	}
	return v.Called(e)
}

func shownTo(fits []tool.Fit, e *catalog.Entry) (out []shown) {
	if !e.ModelVisible() {
		return nil
	}
	for _, f := range fits {
		what := "name and whole description"
		switch {
		case containsEntry(f.Left, e):
			what = "nothing: the list is too long for the client, and search alone finds the skill"
		case f.Form == tool.FormNames:
			what = "the name without a description: the list is too long for the client"
		case containsEntry(f.Shortened, e):
			what = "the name and a shortened description"
		}
		out = append(out, shown{clientName(f.Client), what})
	}
	return out
}

// containsEntry reports whether a list has the skill. It compares root and path,
// because the entry may have been read again.
func containsEntry(all []*catalog.Entry, e *catalog.Entry) bool {
	return slices.ContainsFunc(all, func(o *catalog.Entry) bool { return o.Root.Label == e.Root.Label && o.Path == e.Path })
}

func clientName(name string) string {
	if name == "" {
		return "Other clients"
	}
	name, before, older := strings.Cut(name, " before ")
	if c, ok := client.Find(name); ok {
		name = c.Name
	}
	if older {
		name += " before " + before
	}
	return name
}

// fileRow is one line of the file tree.
type fileRow struct {
	Name, Path, Href, RawHref string
	Depth                     int
	Folder                    bool
	Size                      int64
	Digest, Short             string
}

func (s *Site) filesView(r *request, v catalog.View, e *catalog.Entry, p *skillPage) error {
	_, files, err := v.Manifest(r.Context(), e)
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Manifest = skill.Reason(err)
		type list struct {
			files []skill.File
			more  bool
		}
		l, within := catalog.Await(r.Context(), v, e, func() list {
			files, more, _ := e.List(r.Context(), maxFiles)
			return list{files, more}
		})
		if within != nil {
			return readFault(within)
		}
		files, p.AtLeast = l.files, l.more
	} else if err != nil {
		return readFault(err)
	}
	p.NFiles = len(files)
	for _, f := range files {
		p.Total += f.Size
	}
	if p.More = len(files) - shownFiles; p.More > 0 {
		files = files[:shownFiles]
	}
	p.Files = tree(e, files)
	return nil
}

// shownFiles is the maximum number of a skill's files that a page lists.
const shownFiles = 2 * skill.MaxFiles

// tree lists files below rows for their folders.
func tree(e *catalog.Entry, files []skill.File) (rows []fileRow) {
	seen := map[string]bool{".": true}
	for _, f := range files {
		var above []string
		for d := path.Dir(f.Path); !seen[d]; d = path.Dir(d) {
			seen[d] = true
			above = append(above, d)
		}
		for _, d := range slices.Backward(above) {
			rows = append(rows, fileRow{Name: path.Base(d) + "/", Path: d, Depth: strings.Count(d, "/"), Folder: true})
		}
		w := fileRow{Name: path.Base(f.Path), Path: f.Path, Depth: strings.Count(f.Path, "/"), Size: f.Size}
		if f.Digest != (skill.Digest{}) {
			w.Digest = f.Digest.String()
			w.Short = w.Digest[len("sha256:"):][:12]
		}
		if uri, err := e.FileURI(f.Path); err == nil {
			w.Href, w.RawHref = "/skills/"+escapedPath(uri), "/raw/"+escapedPath(uri)
			if f.Path == skill.MainFile {
				w.Href = pageOf(e)
			}
		}
		rows = append(rows, w)
	}
	return rows
}

// finding is one finding of the check, as a page shows it.
type finding struct {
	Rule          skill.RuleID
	Severity      skill.Severity
	File          string
	Line, Column  int
	Message, Mend string
	Before, Mark  string // the text before the marked part of the line, and that part
	After         string
	Fixes         bool // knack check --fix fixes it
}

// findingsOf returns the findings of a verdict with the lines of SKILL.md that they
// refer to.
func findingsOf(d *doctor.Verdict, data []byte) (out []finding) {
	var lines []string
	if skill.DigestOf(data) == d.Skill.Digest {
		lines = linesOf(string(data))
	}
	for _, f := range d.Findings {
		w := finding{
			Rule: f.Rule, Severity: f.Severity, File: f.File, Line: f.Position.Line, Column: f.Position.Column,
			Message: f.Message, Mend: f.Mend, Fixes: f.Fix != check.None,
		}
		if f.File == d.Entry.Entry && w.Line > 0 && w.Line <= len(lines) && utf8.ValidString(lines[w.Line-1]) {
			w.Before, w.Mark, w.After = mark([]rune(lines[w.Line-1]), w.Column, f.Length)
		}
		out = append(out, w)
	}
	return out
}

// mark splits a line around the part that a finding refers to, and shortens what is
// before and after it.
func mark(line []rune, column, length int) (before, marked, after string) {
	const around = 60
	from := min(max(column-1, 0), len(line))
	to := min(from+max(length, 1), len(line), from+2*around)
	begin, end := max(0, from-around), min(len(line), to+around)
	before, marked, after = string(line[begin:from]), string(line[from:to]), string(line[to:end])
	if begin > 0 {
		before = "…" + before
	}
	if end < len(line) {
		after += "…"
	}
	return before, marked, after
}

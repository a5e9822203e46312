package web

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/web/internal/markdown"
	"github.com/knack-dev/knack/internal/web/internal/scans"
	"github.com/knack-dev/knack/internal/web/internal/sources"
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
	viewScan     = "scan"    // a tab only if the operator's policy judges skills
	viewCompare  = "compare" // a tab only while it is shown
)

type skillPage struct {
	frame
	row
	Lede, Whole string // the description in one line, cut; Whole is set only if Lede is cut
	URI, Load   string
	RawHref     string
	ZipHref     string
	CollectHref string // the list of its collection
	RootHref    string // the list of its root
	Publisher   *skill.Publisher
	Tags        []choice
	Unseen      int // characters of the text that are not displayed
	Scope       skill.Scope
	Digest      string
	Locked      catalog.Locked
	From        *sources.Row // the source of its root, if the server follows one
	Checked     bool         // the results of the check are available
	Unpublished string       // why the skill is not published; empty if it is
	People      bool         // people may invoke the skill
	Used        usage.Counts
	UsedSince   time.Time
	By          *relative
	Others      []relative
	Fields      []field
	Tabs        []choice
	View        string

	Body     template.HTML
	Contents []markdown.Heading
	Mentions []relative // other skills that the text names or links to
	Source   source
	Plain    string // why the body is shown as text
	Answers  []toolAnswer
	Shown    []clientView
	Files    []fileRow
	NFiles   int
	Manifest string // why there are no digests, or ""
	Total    int64
	More     int  // number of files not shown
	AtLeast  bool // the skill has more files than were counted
	Findings []finding
	Infos    int // findings that are not problems
	Scan     *scans.View
	Compare  *comparison
}

// relative is a link to another skill, usually a skill of the same name.
type relative struct{ Href, Place, Load, How, Compare string }

type field struct{ Key, Value string }

// skillOrFile shows the skill or file that a path below /skills/ names.
func (s *Site) skillOrFile(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, file, err := s.addressed(&v, r, "/skills/")
	if entry := heldAt(v, r, "/skills/"); err != nil && entry != nil {
		return redirect(r, pageOf(entry))
	}
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
		return problem(http.StatusNotFound, "This skill is not served since it changed: "+tool.Reason(e))
	}
	ctx := r.Context()
	if r.URL.Query().Get("view") != viewProblems {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, verdictPatience)
		defer cancel()
	}
	d, err := s.checks.Verdict(ctx, v, e)
	if err != nil && (ctx == r.Context() || r.Context().Err() != nil) {
		return readFault(err)
	}
	p := s.aboutSkill(r, v, e, d)
	p.Locked = v.Locked(ctx, e)
	switch p.View = r.URL.Query().Get("view"); p.View {
	case viewSource:
		p.Unseen = unseen(string(data))
		if p.Source, err = sourceOf(r, string(data), p.RawHref); err != nil {
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
	case viewCompare:
		if err := s.compareView(r, v, e, data, &p); err != nil {
			return err
		}
	case viewProblems:
		p.Findings, p.Infos = findingsOf(d, data), d.Summary().Infos
	case viewScan:
		if p.Scan = s.scanView(v, e); p.Scan == nil {
			return problem(http.StatusNotFound, "Nothing is known of a scan of this skill.")
		}
	default:
		p.View = viewRead
		body := string(data)[frontmatter.Parse(data).Body:]
		at := &textFile{view: v, e: e, file: skill.MainFile}
		text, plain := s.markdown.Render(r.Context(), body, at.inside)
		p.Body, p.Contents, p.Plain = text.HTML, contentsOf(text.Headings), plain
		p.Mentions, p.Unseen = mentionsOf(at, text.Code), unseen(body)
		if p.Plain != "" {
			if p.Source, err = sourceOf(r, body, p.RawHref); err != nil {
				return err
			}
		}
	}
	for _, t := range []struct {
		label, view string
		n           int
	}{{"Read", viewRead, 0}, {"Source", viewSource, 0}, {"Files", viewFiles, 0}, {"Agent's view", viewAgent, 0}, {"Problems", viewProblems, p.Severe}} {
		href := p.Href
		if t.view != viewRead {
			href += "?view=" + t.view
		}
		p.Tabs = append(p.Tabs, choice{Label: t.label, Href: href, Count: t.n, On: p.View == t.view})
	}
	if tab, ok := s.scanTab(e, &p); ok {
		p.Tabs = append(p.Tabs, tab)
	}
	if p.Compare != nil {
		p.Tabs = append(p.Tabs, choice{Label: "Compare", Href: r.URL.RequestURI(), On: true})
	}
	return s.render(r, http.StatusOK, "skill", p)
}

// aboutSkill returns the data that every view of a skill's page shows.
func (s *Site) aboutSkill(r *request, v catalog.View, e *catalog.Entry, d *judgement.Verdict) skillPage {
	var sum *judgement.Summary
	if d != nil {
		s := d.Summary()
		sum = &s
	}
	p := skillPage{
		frame: s.frame(r, nameOf(e), "home"), row: rowOf(v, e, sum), Checked: d != nil, URI: e.URI().String(), Load: v.Called(e),
		RawHref: "/raw/" + escapedPath(e.URI()), Scope: e.Root.Scope, Digest: e.Digest.String(), People: e.UserInvocable, Fields: fieldsOf(e.Frontmatter),
	}
	p.From = s.sourceRow(v, e)
	p.Used, p.UsedSince = s.o.Usage.Of(e), s.o.Usage.Since()
	p.ZipHref = "/zip/" + strings.TrimSuffix(escapedPath(e.URI()), "/"+skill.MainFile)
	p.RootHref, p.Publisher = filter{Root: e.Root.Label}.href(), e.Root.Publisher
	p.CollectHref = filter{Root: e.Root.Label, Collection: p.Collection}.href()
	for _, tag := range tagsOf(e) {
		p.Tags = append(p.Tags, choice{Label: tag, Href: filter{Tag: tag}.href()})
	}
	if p.Lede, p.Whole = skill.Brief(inLine(e.Description), maxLede, display.Cut), inLine(e.Description); p.Lede == p.Whole {
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
	for _, o := range relatives(v, e) {
		w := relative{pageOf(o), o.Place(), v.Called(o), string(o.Status), p.Href + "?view=" + viewCompare + "&with=" + url.QueryEscape(o.URI().String())}
		switch {
		case o != e.By:
			p.Others = append(p.Others, w)
			continue
		case e.Status == catalog.Copy:
			w.How = "is the same, byte for byte, and answers to the name"
		default:
			w.How = "answers to the name; this one is shadowed"
		}
		p.By = &w
	}
	return p
}

// unseen counts the characters of a text that change its direction or are not displayed.
func unseen(text string) (n int) {
	display.Visible(text, func(rune) string { n++; return "" })
	return n
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
			var b bytes.Buffer
			if json.Indent(&b, raw, "", "  ") == nil {
				value = b.String()
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

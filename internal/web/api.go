package web

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/web/internal/scans"
	"github.com/knack-dev/knack/internal/web/internal/sources"
	"github.com/knack-dev/knack/skill"
)

//go:embed openapi.json
var openAPI []byte

// Limits of one page of a list, in skills.
const (
	apiDefault = 50
	apiMost    = 200
)

func (s *Site) apiDocument(r *request) error {
	return answerTagged(r, "application/json", openAPI)
}

// apiSkillItem is one skill in a list.
type apiSkillItem struct {
	URI            string          `json:"uri,omitempty"`
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Load           string          `json:"load,omitempty"`
	Status         catalog.Status  `json:"status"`
	State          judgement.State `json:"state"`
	Scope          skill.Scope     `json:"scope"`
	Root           string          `json:"root"`
	File           string          `json:"file"`
	Size           int64           `json:"size"`
	Digest         string          `json:"digest,omitempty"`
	Tokens         apiTokens       `json:"tokens"`
	Published      bool            `json:"published"`
	ModelInvocable bool            `json:"modelInvocable"`
	UserInvocable  bool            `json:"userInvocable"`
	By             string          `json:"by,omitempty"`
	Problems       int             `json:"problems"`
	Self           string          `json:"self,omitempty"`
	Collection     string          `json:"collection,omitempty"`
	Tags           []string        `json:"tags,omitempty"`
	Changed        *time.Time      `json:"changed,omitempty"`
}

type apiTokens struct {
	Listing int64 `json:"listing"`
	Loading int64 `json:"loading"`
}

type apiList struct {
	Skills []any    `json:"skills"` // apiSkillItem, or its selected fields
	Fields []string `json:"fields,omitempty"`
	Total  int      `json:"total"`
	Next   string   `json:"next,omitempty"`
	// Incomplete says why skills are missing; see [request.incomplete].
	Incomplete string `json:"incomplete,omitempty"`
}

type apiWhole struct {
	apiSkillItem
	Frontmatter json.RawMessage `json:"frontmatter"`
	Files       []apiFileItem   `json:"files"`
	// FilesFault says why files are missing from the list or have no digest.
	FilesFault string           `json:"filesFault,omitempty"`
	Findings   []doctor.Problem `json:"findings"`
	Lock       *doctor.Lock     `json:"lock,omitempty"`
	Source     *sources.Item    `json:"source,omitempty"`
	Scan       *scans.Item      `json:"scan,omitempty"`
}

type apiFileItem struct {
	Path   string `json:"path"`
	URI    string `json:"uri"`
	Size   int64  `json:"size"`
	Digest string `json:"digest,omitempty"`
	Self   string `json:"self"`
}

func apiItem(v catalog.View, d *judgement.Verdict) apiSkillItem {
	e, sum := d.Entry, d.Summary()
	w := rowOf(v, e, &sum)
	out := apiSkillItem{
		Name: e.Name, Description: e.Description, Status: e.Status, State: w.State, Scope: e.Root.Scope, Root: e.Root.Label, File: e.Place(),
		Size: int64(e.Size), Tokens: apiTokens{w.Listing, w.Loading}, Published: sum.Published, ModelInvocable: e.ModelInvocable, UserInvocable: e.UserInvocable,
		Problems: w.Severe, Collection: w.Collection, Tags: tagsOf(e),
	}
	if !w.Changed.IsZero() {
		at := w.Changed.Truncate(time.Second)
		out.Changed = &at
	}
	if e.Status != catalog.Skipped {
		out.URI, out.Load, out.Digest = e.URI().String(), v.Called(e), e.Digest.String()
		out.Self = "/api/v1/skills/" + strings.TrimSuffix(escapedPath(e.URI()), "/"+skill.MainFile)
	}
	if e.By != nil {
		out.By = e.By.URI().String()
	}
	return out
}

// apiList returns the skills that match the query and the filters, one page at a time.
func (s *Site) apiList(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "q", "scope", "root", "state", "collection", "tag", "rule", "published", "used", "sort", "fields", "limit", "cursor"); err != nil {
		return err
	}
	fields, err := fieldsAsked(q, skillFields)
	if err != nil {
		return err
	}
	f := filterOf(q, queryOf(r))
	switch {
	case f.State != "" && !slices.Contains(states, f.State):
		return problem(http.StatusBadRequest, "state must be one of fine, problems, shadowed, copied, unlisted, skipped and held.")
	case f.Scope != "" && !slices.Contains(scopes, skill.Scope(f.Scope)):
		return problem(http.StatusBadRequest, "scope must be one of project, global and builtin.")
	case f.Published != "" && f.Published != "no":
		return problem(http.StatusBadRequest, "published must be no.")
	case f.Used != "" && f.Used != never:
		return problem(http.StatusBadRequest, "used must be never.")
	case f.Sort != q.Get("sort"):
		return problem(http.StatusBadRequest, "sort must be one of name, changed, used and tokens.")
	}
	if _, ok := check.RuleOf(f.Rule); f.Rule != "" && !ok {
		return problem(http.StatusBadRequest, "rule must be the ID of a rule; 'knack help rules' lists them.")
	}
	hits, err := search(r.Context(), v, f.Query)
	if err != nil {
		return err
	}
	known := &doctor.Totals{} // not needed for states that depend only on the status
	if f.State == judgement.Fine || f.State == judgement.Problems || f.State == judgement.NotJudged || f.Rule != "" || f.Published != "" {
		if known, err = s.allChecked(r, v); err != nil {
			return err
		}
	}
	var all []*catalog.Entry
	for _, e := range f.tally(s.accepted(v, f, hits), known, s.shelfOf(v)).entries {
		if f.State != "" || e.Status != catalog.Skipped {
			all = append(all, e)
		}
	}
	all = s.ordered(v, all, f.Sort)
	page, next, err := paged(q, all, s.sortKeyOf(f.Sort))
	if err != nil {
		return err
	}
	out := apiList{Skills: []any{}, Fields: fields, Total: len(all), Next: next, Incomplete: r.incomplete()}
	verdicts, err := s.checks.Verdicts(r.Context(), v, page)
	if err != nil {
		return err
	}
	for _, d := range verdicts {
		var item any = apiItem(v, d)
		if fields != nil {
			if item, err = sparse(apiItem(v, d), fields); err != nil {
				return err
			}
		}
		out.Skills = append(out.Skills, item)
	}
	return answerJSON(r, out)
}

// only rejects a query with an unknown or repeated key, which would otherwise be ignored.
func only(q url.Values, keys ...string) error {
	for key := range q {
		if !slices.Contains(keys, key) {
			last := len(keys) - 1
			return problem(http.StatusBadRequest, "The parameters are "+strings.Join(keys[:last], ", ")+" and "+keys[last]+", and the query has another one.")
		}
	}
	for _, key := range keys {
		if len(q[key]) > 1 {
			return problem(http.StatusBadRequest, key+" must be in the query once.")
		}
	}
	return nil
}

// allChecked returns the totals of all skills. If their check does not end in time, it returns an
// error with status 503.
func (s *Site) allChecked(r *request, v catalog.View) (*doctor.Totals, error) {
	t, ok := s.checks.Whole(r.Context(), v)
	if !ok {
		r.w.Header().Set("Retry-After", "5")
		return nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("The skills are still being checked: %d of %s so far. Try again in a moment.", t.Judged, display.Count(t.All, "skill")))
	}
	return t, nil
}

// paged returns one page of a list and the cursor of the next page. A cursor names the last skill
// of the previous page, so that the list may change between requests. keyOf returns the key by
// which the list is sorted; it is nil for a list that is not sorted by a key.
func paged(q url.Values, all []*catalog.Entry, keyOf func(*catalog.Entry) sortKey) (page []*catalog.Entry, next string, err error) {
	limit := apiDefault
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > apiMost {
			return nil, "", problem(http.StatusBadRequest, "limit must be a number from 1 to "+strconv.Itoa(apiMost)+".")
		}
	}
	if keyOf == nil {
		keyOf = func(*catalog.Entry) sortKey { return sortKey{} }
	}
	start := 0
	if text := q.Get("cursor"); text != "" {
		c, ok := parseCursor(text)
		if !ok {
			return nil, "", problem(http.StatusBadRequest, "cursor is not from an earlier answer: begin again without one.")
		}
		start = c.next(all, keyOf)
	}
	end := min(start+limit, len(all))
	if end < len(all) {
		last := all[end-1]
		next = cursor{end, keyOf(last), last.Root.Label, last.Path}.String()
	}
	return all[start:end], next, nil
}

// cursor is the end of a page: the number of skills up to the end, and the last skill with the key
// that it had. The label of its root and its path identify a skill, even a skill without a URI.
type cursor struct {
	count       int
	key         sortKey
	label, path string
}

// String encodes a cursor.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{strconv.Itoa(c.count), strconv.FormatInt(c.key.number, 10), c.key.text, c.label, c.path}, "\x00")))
}

func parseCursor(text string) (c cursor, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(raw), "\x00", 5)
	if err != nil || len(parts) < 5 {
		return c, false
	}
	number, numberErr := strconv.ParseInt(parts[1], 10, 64)
	count, err := strconv.Atoi(parts[0])
	return cursor{count, sortKey{number, parts[2]}, parts[3], parts[4]}, err == nil && numberErr == nil && count > 0
}

// next returns the index at which a list continues. It is the index after the cursor's last skill.
// If that skill is gone or has another key now, it is the index at which the skill was.
func (c cursor) next(all []*catalog.Entry, keyOf func(*catalog.Entry) sortKey) int {
	first, after := len(all), len(all) // the bounds of the skills with the cursor's key
	place := c.count - 1
	for i, e := range all {
		order := keyOf(e).compare(c.key)
		if e.Path == c.path && e.Root.Label == c.label {
			if order == 0 {
				return i + 1
			}
			if order < 0 { // the skill moved forward, so the skills before it moved back by one
				place = c.count
			}
		}
		if order >= 0 {
			first = min(first, i)
		}
		if order > 0 {
			after = min(after, i)
		}
	}
	return min(max(place, first), after)
}

// apiAddressed is [Site.addressed] for requests that name a whole skill.
func (s *Site) apiAddressed(v *catalog.View, r *request, prefix string) (*catalog.Entry, error) {
	e, file, err := s.addressed(v, withSlashes(r), prefix)
	if err != nil && heldAt(*v, withSlashes(r), prefix) != nil {
		return nil, problem(http.StatusNotFound, "The skill is "+skill.Held+"; /api/v1/problems says why.")
	}
	if err == nil && file != "." && file != skill.MainFile {
		err = problem(http.StatusNotFound, "This address names a file of a skill; files are below /api/v1/files/.")
	}
	return e, err
}

// withSlashes decodes encoded slashes in the path. A client that fills one parameter of
// a URL template encodes the whole path.
func withSlashes(r *request) *request {
	u := *r.URL
	u.RawPath = strings.NewReplacer("%2F", "/", "%2f", "/").Replace(u.EscapedPath())
	if path, err := url.PathUnescape(u.RawPath); err == nil {
		u.Path = path
	}
	again := r.WithContext(r.Context())
	again.URL = &u
	return &request{Request: again, w: r.w, lacks: r.lacks}
}

func (s *Site) apiSkill(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, err := s.apiAddressed(&v, r, "/api/v1/skills/")
	if err != nil {
		return err
	}
	_, e, err = v.Read(r.Context(), e) // the state on disk now
	if err != nil {
		return readFault(err)
	}
	now, files, err := v.Manifest(r.Context(), e)
	fault := ""
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case errors.Is(err, fs.ErrNotExist):
		return readFault(err)
	case err != nil:
		fault = skill.Reason(err)
	default:
		e = now // so frontmatter and digests match
	}
	if e.Status == catalog.Skipped {
		return problem(http.StatusNotFound, "The skill is not served since it changed; /api/v1/problems says why.")
	}
	d, late := s.checks.Verdict(r.Context(), v, e)
	if late != nil {
		return readFault(late)
	}
	out := apiWhole{apiSkillItem: apiItem(v, d), Frontmatter: e.Frontmatter, Files: []apiFileItem{}, FilesFault: fault, Findings: apiFindings(d), Lock: doctor.LockOf(v.Compared(e, files, err)), Source: sources.ItemOf(s.sourcesIn(v), e.Root.Label)}
	if k, ok := s.scanOf(e); ok {
		out.Scan = scans.ItemOf(k)
	}
	if out.Frontmatter == nil {
		out.Frontmatter = json.RawMessage("{}")
	}
	for _, f := range files {
		uri, err := e.FileURI(f.Path)
		if err != nil {
			continue // manifests contain no such path
		}
		out.Files = append(out.Files, apiFileItem{f.Path, uri.String(), f.Size, f.Digest.String(), "/api/v1/files/" + escapedPath(uri)})
	}
	return answerJSON(r, out)
}

// apiFindings returns the findings of a verdict in the form that the commands print.
func apiFindings(d *judgement.Verdict) []doctor.Problem {
	if all := doctor.SkillOf(d).Problems; all != nil {
		return all
	}
	return []doctor.Problem{}
}

// apiFile returns the bytes of a file, as /raw/ does.
func (s *Site) apiFile(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, file, err := s.addressed(&v, withSlashes(r), "/api/v1/files/")
	if err != nil {
		return err
	}
	return s.rawFile(r, v, e, file)
}

type apiProblemList struct {
	Count  judgement.Count     `json:"count"`
	Skills []apiProblemItem    `json:"skills"`
	Roots  []doctor.RootStatus `json:"roots"`
	Total  int                 `json:"total"`
	Next   string              `json:"next,omitempty"`

	Incomplete string `json:"incomplete,omitempty"`
}

// incomplete describes the missing part of the view, or returns "" if it is complete.
func (r *request) incomplete() string {
	switch {
	case r.lacks != nil:
		return sentence(r.lacks.Error())
	case r.missing != "":
		return sentence(r.missing)
	}
	return ""
}

type apiProblemItem struct {
	URI      string           `json:"uri,omitempty"`
	Name     string           `json:"name"`
	File     string           `json:"file"`
	Status   catalog.Status   `json:"status"`
	State    judgement.State  `json:"state"`
	HeldBack *doctor.HeldBack `json:"heldBack,omitempty"`
	Findings []doctor.Problem `json:"findings"`
}

func apiProblem(d *judgement.Verdict) apiProblemItem {
	e := d.Entry
	out := apiProblemItem{Name: e.Name, File: e.Place(), Status: e.Status, State: d.Summary().State(), HeldBack: doctor.HeldBackOf(e), Findings: apiFindings(d)}
	if e.Status != catalog.Skipped {
		out.URI = e.URI().String()
	}
	return out
}

// apiProblems lists the skills with errors or warnings and the roots with an error or
// notices.
func (s *Site) apiProblems(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "limit", "cursor"); err != nil {
		return err
	}
	totals, err := s.allChecked(r, v)
	if err != nil {
		return err
	}
	page, next, err := paged(q, totals.Flawed, nil)
	if err != nil {
		return err
	}
	out := apiProblemList{Incomplete: r.incomplete(), Count: totals.Count, Skills: []apiProblemItem{}, Roots: []doctor.RootStatus{}, Total: len(totals.Flawed), Next: next}
	verdicts, err := s.checks.Verdicts(r.Context(), v, page)
	if err != nil {
		return err
	}
	for _, d := range verdicts {
		out.Skills = append(out.Skills, apiProblem(d))
	}
	for _, root := range doctor.Roots(v) {
		if root.Dir = ""; root.Error != "" || len(root.Notices) > 0 { // folder paths stay private
			out.Roots = append(out.Roots, root)
		}
	}
	return answerJSON(r, out)
}

// apiProblemsOf returns all findings of one skill.
func (s *Site) apiProblemsOf(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, err := s.apiAddressed(&v, r, "/api/v1/problems/")
	if err != nil {
		return err
	}
	d, err := s.checks.Verdict(r.Context(), v, e)
	if err != nil {
		return readFault(err)
	}
	return answerJSON(r, apiProblem(d))
}

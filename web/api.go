package web

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

//go:embed openapi.json
var openAPI []byte

// Bounds of one page of a list.
const (
	apiDefault = 50
	apiMost    = 200
)

func (s *Site) apiDocument(r *request) error {
	return answerTagged(r, "application/json", openAPI)
}

// apiSkillItem is a skill in a list.
type apiSkillItem struct {
	URI            string         `json:"uri,omitempty"`
	Name           string         `json:"name"`
	Description    string         `json:"description"`
	Load           string         `json:"load,omitempty"`
	Status         catalog.Status `json:"status"`
	State          State          `json:"state"`
	Scope          skill.Scope    `json:"scope"`
	Root           string         `json:"root"`
	File           string         `json:"file"`
	Size           int64          `json:"size"`
	Digest         string         `json:"digest,omitempty"`
	Tokens         apiTokens      `json:"tokens"`
	Published      bool           `json:"published"`
	ModelInvocable bool           `json:"modelInvocable"`
	UserInvocable  bool           `json:"userInvocable"`
	By             string         `json:"by,omitempty"`
	Problems       int            `json:"problems"`
	Self           string         `json:"self,omitempty"`
}

type apiTokens struct {
	Listing int64 `json:"listing"`
	Loading int64 `json:"loading"`
}

type apiList struct {
	Skills []apiSkillItem `json:"skills"`
	Total  int            `json:"total"`
	Next   string         `json:"next,omitempty"`
}

type apiWhole struct {
	apiSkillItem
	Frontmatter json.RawMessage `json:"frontmatter"`
	Files       []apiFileItem   `json:"files"`
	// FilesFault is why files are missing from the list or have no digest.
	FilesFault string       `json:"filesFault,omitempty"`
	Findings   []apiFinding `json:"findings"`
}

type apiFileItem struct {
	Path   string `json:"path"`
	URI    string `json:"uri"`
	Size   int64  `json:"size"`
	Digest string `json:"digest,omitempty"`
	Self   string `json:"self"`
}

type apiFinding struct {
	Rule     skill.RuleID   `json:"rule"`
	Severity skill.Severity `json:"severity"`
	File     string         `json:"file,omitempty"`
	Line     int            `json:"line,omitempty"`
	Column   int            `json:"column,omitempty"`
	Message  string         `json:"message"`
	Mend     string         `json:"mend,omitempty"`
}

func apiItem(v catalog.View, e *catalog.Entry) apiSkillItem {
	w := rowOf(v, e)
	out := apiSkillItem{
		Name: e.Name, Description: e.Description, Status: e.Status, State: w.State, Scope: e.Root.Scope, Root: e.Root.Label, File: e.Place(),
		Size: int64(e.Size), Tokens: apiTokens{w.Listing, w.Loading}, Published: publishable(e), ModelInvocable: e.ModelInvocable, UserInvocable: e.UserInvocable,
		Problems: len(e.Problems),
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

// apiList answers with the skills that a query and filters leave, a page at a
// time.
func (s *Site) apiList(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "q", "scope", "root", "state", "limit", "cursor"); err != nil {
		return err
	}
	f := filter{Query: queryOf(r), Scope: q.Get("scope"), Root: q.Get("root"), State: State(q.Get("state"))}
	if f.State != "" && !slices.Contains(states, f.State) {
		return problem(http.StatusBadRequest, "state must be one of fine, problems, shadowed and skipped.")
	}
	if f.Scope != "" && !slices.Contains(scopes, skill.Scope(f.Scope)) {
		return problem(http.StatusBadRequest, "scope must be one of project, global and builtin.")
	}
	hits, err := found(r.Context(), v, f.Query)
	if err != nil {
		return err
	}
	var all []*catalog.Entry
	for _, e := range hits {
		if f.takes(e) {
			all = append(all, e)
		}
	}
	page, next, err := paged(q, all)
	if err != nil {
		return err
	}
	out := apiList{Skills: []apiSkillItem{}, Total: len(all), Next: next}
	for _, e := range page {
		out.Skills = append(out.Skills, apiItem(v, e))
	}
	return answerJSON(r, out)
}

// only refuses a query that says something twice, or with a key of no meaning: it would
// be left out without a word.
func only(q url.Values, keys ...string) error {
	for key := range q {
		if !slices.Contains(keys, key) {
			last := len(keys) - 1
			return problem(http.StatusBadRequest, "The parameters are "+strings.Join(keys[:last], ", ")+" and "+keys[last]+", and the query has another one.")
		}
	}
	for _, key := range keys {
		if len(q[key]) > 1 {
			return problem(http.StatusBadRequest, key+" must stand in the query once.")
		}
	}
	return nil
}

// takes reports whether a skill passes. Without a state, skipped skills do not.
func (f filter) takes(e *catalog.Entry) bool {
	state := stateOf(e)
	return (f.Scope == "" || f.Scope == string(e.Root.Scope)) && (f.Root == "" || f.Root == e.Root.Label) &&
		(f.State == "" && state != Skipped || f.State == state)
}

// paged cuts a page out of a list. A cursor names the last skill of the page
// before, so that a list may change meanwhile.
func paged(q url.Values, all []*catalog.Entry) (page []*catalog.Entry, next string, err error) {
	limit := apiDefault
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > apiMost {
			return nil, "", problem(http.StatusBadRequest, "limit must be a number from 1 to "+strconv.Itoa(apiMost)+".")
		}
	}
	start := 0
	if cursor := q.Get("cursor"); cursor != "" {
		for start = 1; start <= len(all) && cursorOf(all[start-1]) != cursor; {
			start++
		}
		if start > len(all) {
			return nil, "", problem(http.StatusBadRequest, "cursor is not one of an answer before, or its skill is gone: begin again without one.")
		}
	}
	end := min(start+limit, len(all))
	if end < len(all) {
		next = cursorOf(all[end-1])
	}
	return all[start:end], next, nil
}

// cursorOf names a skill by its place, which no other has.
func cursorOf(e *catalog.Entry) string {
	return base64.RawURLEncoding.EncodeToString([]byte(e.Root.Label + "\x00" + e.Path))
}

// apiAddressed is addressed for a skill as a whole.
func apiAddressed(v catalog.View, r *request, prefix string) (*catalog.Entry, error) {
	e, file, err := addressed(v, withSlashes(r), prefix)
	if err == nil && file != "." && file != skill.MainFile {
		err = problem(http.StatusNotFound, "This address names a file of a skill; files are below /api/v1/files/.")
	}
	return e, err
}

// withSlashes takes an encoded slash of the path for one: as one parameter of a
// URL template, a path is encoded whole.
func withSlashes(r *request) *request {
	u := *r.URL
	u.RawPath = strings.NewReplacer("%2F", "/", "%2f", "/").Replace(u.EscapedPath())
	if path, err := url.PathUnescape(u.RawPath); err == nil {
		u.Path = path
	}
	again := r.WithContext(r.Context())
	again.URL = &u
	return &request{again, r.w}
}

func (s *Site) apiSkill(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, err := apiAddressed(v, r, "/api/v1/skills/")
	if err != nil {
		return err
	}
	_, e, err = v.Read(r.Context(), e) // as it is now
	if err != nil {
		return readFault(err)
	}
	now, files, err := s.manifests.Of(r.Context(), v, e)
	fault := ""
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case errors.Is(err, fs.ErrNotExist):
		return readFault(err)
	case err != nil:
		fault = skill.Reason(err)
	default:
		e = now // frontmatter and digests are of one state
	}
	if e.Status == catalog.Skipped {
		return problem(http.StatusNotFound, "The skill is skipped since it changed; /api/v1/problems says why.")
	}
	out := apiWhole{apiSkillItem: apiItem(v, e), Frontmatter: e.Frontmatter, Files: []apiFileItem{}, FilesFault: fault, Findings: apiFindings(problemsOf(e))}
	if out.Frontmatter == nil {
		out.Frontmatter = json.RawMessage("{}")
	}
	for _, f := range files {
		uri, err := e.FileURI(f.Path)
		if err != nil {
			continue // a manifest holds none
		}
		out.Files = append(out.Files, apiFileItem{f.Path, uri.String(), f.Size, f.Digest.String(), "/api/v1/files/" + escapedPath(uri)})
	}
	return answerJSON(r, out)
}

func apiFindings(all []finding) []apiFinding {
	out := []apiFinding{}
	for _, f := range all {
		out = append(out, apiFinding{f.Rule, f.Severity, f.File, f.Line, f.Column, f.Message, f.Mend})
	}
	return out
}

// apiFile answers with the bytes of a file, as /raw/ does.
func (s *Site) apiFile(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, file, err := addressed(v, withSlashes(r), "/api/v1/files/")
	if err != nil {
		return err
	}
	return s.rawFile(r, v, e, file)
}

type apiProblemList struct {
	Skills []apiProblemItem `json:"skills"`
	Roots  []apiRoot        `json:"roots"`
	Total  int              `json:"total"`
	Next   string           `json:"next,omitempty"`
}

type apiProblemItem struct {
	URI      string         `json:"uri,omitempty"`
	Name     string         `json:"name"`
	File     string         `json:"file"`
	Status   catalog.Status `json:"status"`
	Findings []apiFinding   `json:"findings"`
}

// apiRoot is a root with something to say of it.
type apiRoot struct {
	Label   string      `json:"label"`
	Count   int         `json:"count"`
	Error   string      `json:"error,omitempty"`
	Notices []apiNotice `json:"notices"`
}

type apiNotice struct {
	Path    string       `json:"path"`
	Rule    skill.RuleID `json:"rule"`
	Message string       `json:"message"`
	Mend    string       `json:"mend,omitempty"`
}

// apiProblems lists every skill with a problem, and what was met on the way.
func (s *Site) apiProblems(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	var all []*catalog.Entry
	for _, e := range v.Entries {
		if len(e.Problems) > 0 {
			all = append(all, e)
		}
	}
	q := r.URL.Query()
	if err := only(q, "limit", "cursor"); err != nil {
		return err
	}
	page, next, err := paged(q, all)
	if err != nil {
		return err
	}
	out := apiProblemList{Skills: []apiProblemItem{}, Roots: []apiRoot{}, Total: len(all), Next: next}
	for _, e := range page {
		out.Skills = append(out.Skills, apiProblemItem{uriOf(e), e.Name, e.Place(), e.Status, apiFindings(problemsOf(e))})
	}
	for _, root := range v.Roots {
		if w := rootRowOf(root); w.Error != "" || len(w.Notices) > 0 {
			a := apiRoot{w.Label, w.Count, w.Error, []apiNotice{}}
			for _, n := range w.Notices {
				a.Notices = append(a.Notices, apiNotice{n.Path, n.Rule, n.Message, n.Mend})
			}
			out.Roots = append(out.Roots, a)
		}
	}
	return answerJSON(r, out)
}

func uriOf(e *catalog.Entry) string {
	if e.Status == catalog.Skipped {
		return ""
	}
	return e.URI().String()
}

// apiProblemsOf is everything that check says of one skill.
func (s *Site) apiProblemsOf(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, err := apiAddressed(v, r, "/api/v1/problems/")
	if err != nil {
		return err
	}
	findings, err := findingsOf(r, v, e)
	if err != nil {
		return err
	}
	return answerJSON(r, apiProblemItem{uriOf(e), e.Name, e.Place(), e.Status, apiFindings(findings)})
}

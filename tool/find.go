package tool

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// find_skills(query?, limit?): search, and the way to every name that a listing
// had to leave out.

const (
	findName  = "find_skills"
	findLimit = 100
	// findDefault answers a query, findPage a walk through the whole list.
	findDefault, findPage = 10, 50
	// foundLength bounds one description, in characters. The longest of 40,217
	// that people wrote has 1,929, so those come whole.
	foundLength = 2048
	// problemLimit bounds the reasons in one answer.
	problemLimit = 20
	// queryWords is how many words of a query are tried as names of skipped skills.
	queryWords = 8
)

var findSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Words for the task or topic. Leave it out to list all skills."},"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many skills at most"},"cursor":{"type":"string","description":"Where to go on: nextCursor of the answer before"}}}`)

const findDescription = `Search all skills by topic, best match first; without a query, list all of them, page by page. Use it when no listed skill fits, when a list of skills was shortened, or when a skill that should be there is missing: the answer also says which skills were skipped and why. Load what it finds with the skill tool, by name.`

// Found is one skill in the answer of find_skills. Name is what loads it: for one
// that another skill shadows, "<root label>:<name>" or its URI.
type Found struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	URI         string `json:"uri"`
	Scope       string `json:"scope"`
}

// Problem is a skill, or a folder, that was skipped, or a root that is not read, in
// the answer of find_skills.
type Problem struct {
	Skill  string `json:"skill,omitempty"`
	Root   string `json:"root,omitempty"` // its label
	Reason string `json:"reason"`
}

// FindResult is the answer of find_skills as an object.
type FindResult struct {
	Skills     []Found   `json:"skills"`
	Total      int       `json:"total"`
	NextCursor string    `json:"nextCursor,omitempty"`
	Problems   []Problem `json:"problems"`
}

func findSkills() *Tool {
	return &Tool{
		Contract: "find_skills", Name: findName, Title: "Find Skills", Schema: findSchema,
		describe: func(catalog.View, Client) string { return findDescription },
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			query, _, err := args.text("query")
			if err != nil {
				return failure("Invalid arguments for tool find_skills: %s", err), nil
			}
			after, limit, err := page(args, query)
			if err != nil {
				return failure("Invalid arguments for tool find_skills: %s", err), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			r, start, err := findIn(ctx, v, query, after, limit)
			if err != nil {
				return Result{}, err
			}
			return Result{Text: findText(r, query, start), Object: r}, nil
		},
	}
}

func page(args arguments, query string) (after place, limit int, err error) {
	def := findDefault
	if strings.TrimSpace(query) == "" {
		def = findPage
	}
	if limit, err = args.number("limit", 1, findLimit, def); err != nil {
		return place{}, 0, err
	}
	cursor, given, err := args.text("cursor")
	if err != nil || !given || cursor == "" {
		return place{}, limit, err
	}
	after, err = parsePlace(cursor)
	return after, limit, err
}

// place is how far a walk has come: how many skills it has shown, and which was
// the last. The last is named by a hash of its URI: a model has to copy it.
type place struct {
	count int
	last  string
}

func placeAfter(count int, e *catalog.Entry) place {
	d := skill.DigestOf([]byte(e.URI().String()))
	return place{count, hex.EncodeToString(d[:4])}
}

func (p place) String() string { return strconv.Itoa(p.count) + "-" + p.last }

func parsePlace(cursor string) (place, error) {
	count, last, _ := strings.Cut(strings.TrimSpace(cursor), "-")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return place{}, errors.New("'cursor' must be the nextCursor of an answer before")
	}
	return place{n, last}, nil
}

// in is where the walk goes on: behind the last skill, wherever that stands by
// now; where it is gone, at the place that it had.
func (p place) in(all []catalog.Hit) int {
	count := min(p.count, len(all))
	if p.last == "" || p.at(all) {
		return count
	}
	for i, h := range all {
		if placeAfter(p.count, h.Entry) == p {
			return i + 1
		}
	}
	return count
}

// at reports whether the last skill still stands where it stood.
func (p place) at(all []catalog.Hit) bool {
	return p.count > 0 && p.count <= len(all) && placeAfter(p.count, all[p.count-1].Entry) == p
}

func findIn(ctx context.Context, v catalog.View, query string, after place, limit int) (r FindResult, start int, err error) {
	q := catalog.Query{Text: query, Limit: min(after.count, math.MaxInt-limit) + limit}
	found, err := v.Search(ctx, q)
	if err == nil && after.last != "" && !after.at(found.Hits) {
		q.Limit = 0 // it may stand anywhere by now
		found, err = v.Search(ctx, q)
	}
	if err != nil {
		return FindResult{}, 0, err
	}
	all := found.Hits
	start = after.in(all)
	end := min(start+limit, len(all))
	r = FindResult{Skills: make([]Found, 0, end-start), Total: found.Total, Problems: []Problem{}}
	budget := Budget
	for _, h := range all[start:end] {
		e := h.Entry
		f := Found{
			Name: called(v, e), Description: Cut(skill.OneLine(e.Description), foundLength), URI: e.URI().String(), Scope: location(e)}
		// A page ends where the budget does; one skill always fits, or nothing
		// would ever get on.
		if budget -= length(f.line()); budget < 0 && len(r.Skills) > 0 {
			break
		}
		r.Skills = append(r.Skills, f)
	}
	if end := start + len(r.Skills); end < found.Total {
		r.NextCursor = placeAfter(end, all[end-1].Entry).String()
	}
	skipped, names := v.Skipped, []skill.Key(nil)
	if strings.TrimSpace(query) != "" {
		skipped, names = skippedNear(v, query), namesIn(query)
	}
	// Any skill may lie in a root that is not read, so that comes first.
	r.Problems = append(r.Problems, unread(v)...)
	for _, e := range skipped[:min(len(skipped), problemLimit)] {
		r.Problems = append(r.Problems, Problem{Skill: calledOrFolder(e), Reason: Reason(e)})
	}
	r.Problems = append(r.Problems, passedOver(v, names)...)
	r.Problems = r.Problems[:min(len(r.Problems), problemLimit)]
	return r, start, nil
}

// called is the name under which both the skill tool loads what was found and
// read_file_in_skill reads its files: its own, or the first of those of its place
// that contract 001 takes and that stands in a line as it is.
func called(v catalog.View, e *catalog.Entry) string {
	for name := range v.Names(e) {
		shown := name == e.Name || skill.OneLine(name) == name // its own loads as it is shown
		if shown && validFolderName(name) && resolve(v, name, false) == e {
			return name
		}
	}
	return e.URI().String()
}

// calledOrFolder is what a skipped skill is called in an answer.
func calledOrFolder(e *catalog.Entry) string {
	if e.Name != "" {
		return skill.Echo(e.Name)
	}
	return skill.Echo(e.Folder())
}

// skippedNear lists the skipped skills that the query, or a word of it, names.
func skippedNear(v catalog.View, query string) []*catalog.Entry {
	out := v.SkippedNear(query, problemLimit)
	words := strings.Fields(skill.CutBytes(query, skill.EchoLimit))
	for _, w := range words[:min(len(words), queryWords)] {
		for _, e := range v.SkippedNear(w, problemLimit) {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// line is one skill in the text of an answer.
func (f Found) line() string {
	return "\n- " + skill.OneLine(f.Name) + ": " + f.Description
}

func findText(r FindResult, query string, start int) string {
	var b strings.Builder
	switch {
	case r.Total == 0 && strings.TrimSpace(query) != "":
		fmt.Fprintf(&b, "No skill matches '%s'. Try other words, or leave the query out to list all skills.", skill.Echo(query))
	case r.Total == 0 && slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Root != "" }):
		b.WriteString("No skills were found, and not every root was read.")
	case r.Total == 0:
		b.WriteString("There are no skills.")
	case len(r.Skills) == 0:
		fmt.Fprintf(&b, "Nothing comes after that cursor; there are %d skills in all.", r.Total)
	default:
		fmt.Fprintf(&b, "Skills %d to %d of %d:", start+1, start+len(r.Skills), r.Total)
	}
	for _, f := range r.Skills {
		b.WriteString(f.line())
	}
	if r.NextCursor != "" {
		fmt.Fprintf(&b, "\nFor more, call again with cursor \"%s\".", r.NextCursor)
	}
	for _, p := range r.Problems {
		b.WriteString("\n" + p.line())
	}
	return b.String()
}

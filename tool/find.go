package tool

import (
	"context"
	"encoding/json"
	"fmt"
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
	// problemLimit bounds the reasons in one answer.
	problemLimit = 20
)

var findSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Words for the task or topic. Leave it out to list all skills."},"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many skills at most"},"cursor":{"type":"string","description":"Where to go on: nextCursor of the answer before"}}}`)

const findDescription = `Search all skills by topic, best match first; without a query, list all of them, page by page. Use it when no listed skill fits, when a list of skills was shortened, or when a skill that should be there is missing: the answer also says which skills were skipped and why. Load what it finds with the skill tool, by name.`

// Found is one skill in the answer of find_skills.
type Found struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	URI         string `json:"uri"`
	Scope       string `json:"scope"`
}

// Problem is one skipped skill in the answer of find_skills.
type Problem struct {
	Skill  string `json:"skill"`
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
		Contract: "find", Name: findName, Title: "Find Skills", Schema: findSchema,
		describe: func(catalog.View, Client) string { return findDescription },
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			query, _, err := args.text("query")
			if err != nil {
				return failure("Invalid arguments for tool find_skills: %s", err), nil
			}
			start, limit, err := page(args, query)
			if err != nil {
				return failure("Invalid arguments for tool find_skills: %s", err), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			r := findIn(v, query, start, limit)
			return Result{Text: findText(r, query, start), Object: r}, nil
		},
	}
}

func page(args arguments, query string) (start, limit int, err error) {
	def := findDefault
	if strings.TrimSpace(query) == "" {
		def = findPage
	}
	if limit, err = args.number("limit", 1, findLimit, def); err != nil {
		return 0, 0, err
	}
	cursor, given, err := args.text("cursor")
	if err != nil || !given || cursor == "" {
		return 0, limit, err
	}
	start, err = strconv.Atoi(cursor)
	if err != nil || start < 0 {
		return 0, 0, fmt.Errorf("'cursor' must be the nextCursor of an answer before")
	}
	return start, limit, nil
}

func findIn(v catalog.View, query string, start, limit int) FindResult {
	all := v.Search(query)
	start = min(start, len(all))
	end := min(start+limit, len(all))
	r := FindResult{Skills: make([]Found, 0, end-start), Total: len(all), Problems: []Problem{}}
	for _, e := range all[start:end] {
		r.Skills = append(r.Skills, Found{
			Name: e.Name, Description: skill.OneLine(e.Description), URI: e.URI.String(), Scope: location(e)})
	}
	if end < len(all) {
		r.NextCursor = strconv.Itoa(end)
	}
	skipped := v.Skipped
	if strings.TrimSpace(query) != "" {
		skipped = v.SkippedNear(query, problemLimit)
	}
	for _, e := range skipped[:min(len(skipped), problemLimit)] {
		r.Problems = append(r.Problems, Problem{Skill: skill.Echo(calledOrFolder(e)), Reason: Reason(e)})
	}
	return r
}

func calledOrFolder(e *catalog.Entry) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Folder
}

func findText(r FindResult, query string, start int) string {
	var b strings.Builder
	switch {
	case r.Total == 0 && strings.TrimSpace(query) != "":
		fmt.Fprintf(&b, "No skill matches '%s'. Try other words, or leave the query out to list all skills.", skill.Echo(query))
	case r.Total == 0:
		b.WriteString("There are no skills.")
	default:
		fmt.Fprintf(&b, "Skills %d to %d of %d:", start+1, start+len(r.Skills), r.Total)
	}
	for _, f := range r.Skills {
		fmt.Fprintf(&b, "\n- %s: %s", f.Name, f.Description)
	}
	if r.NextCursor != "" {
		fmt.Fprintf(&b, "\nFor more, call again with cursor \"%s\".", r.NextCursor)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n'%s' was skipped: %s", p.Skill, p.Reason)
	}
	return b.String()
}

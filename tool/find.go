package tool

import (
	"cmp"
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
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// find_skills(query?, limit?, cursor?) searches the skills. It also lists the skills that other,
// shortened lists leave out.

const (
	findName  = "find_skills"
	findLimit = 100
	// findDefault is the default limit for a query, and findPage the default limit without a query.
	findDefault, findPage = 10, 50
	// foundLength bounds one description, in characters. The longest of 40,217 real descriptions
	// has 1,929, so it cuts none of them.
	foundLength = 2048
	// problemLimit bounds the problems that one answer explains.
	problemLimit = 20
	// queryWords is the number of words of a query that are tried as names of skipped
	// skills.
	queryWords = 8
)

var findSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Two to six English keywords for the task, with the file type or the product, as in \"pptx slides from notes\". Leave it out to list all skills."},"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many skills at most"},"cursor":{"type":"string","description":"Where to go on: the cursor that an earlier answer gave"}}}`)

const findDescription = `Search all skills by topic, best match first, or list all of them; it also says which skills were skipped and why.

Use it when no listed skill fits, when a list of skills was shortened, or when a skill that should be there is missing. Without a query it lists all skills, page by page. Load what it finds with the skill tool, by name.`

// findRow is one skill in the answer of find_skills. Its name is the one with which the tool skill
// loads it. For a shadowed skill, that is "<root label>:<name>" or its URI.
type findRow struct{ name, description, uri, scope string }

// problem is a skipped skill or folder, or a root that was not read.
type problem struct {
	skill  string
	root   string // the root's label
	reason string
}

// findResult is the answer of find_skills. It is sent as text only. If it were an object too, some
// clients would show a model the object instead of the text, and others both.
type findResult struct {
	skills     []findRow
	total      int
	nextCursor string
	problems   []problem
	more       int    // number of problems that are not listed
	unlisted   string // text about the unlisted skills
	incomplete *catalog.Incomplete
}

func findSkills() *Tool {
	return &Tool{
		Contract: "find_skills", Name: findName, Title: "Find Skills", Schema: findSchema,
		keys:     []string{"query", "limit", "cursor"},
		describe: func(catalog.View, profile.Client) string { return findDescription },
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
			return Result{Text: findText(r, query, start), Meta: incompleteMeta(v)}, nil
		},
	}
}

// page reads the arguments for one page: its first position, and the maximum number of skills.
func page(args arguments, query string) (after position, limit int, err error) {
	def := findDefault
	if strings.TrimSpace(query) == "" {
		def = findPage
	}
	if limit, err = args.lenientNumber("limit", 1, findLimit, def); err != nil {
		return position{}, 0, err
	}
	cursor, given, err := args.text("cursor")
	if err != nil || !given || cursor == "" {
		return position{}, limit, err
	}
	after, err = parsePosition(cursor)
	return after, limit, err
}

// position is the place at which a page of the list ended. It contains the number of skills shown
// so far, and a hash of the last skill's URI. The hash is short because a model has to copy it.
type position struct {
	count int
	last  string
}

func positionAfter(count int, e *catalog.Entry) position {
	d := skill.DigestOf([]byte(e.URI().String()))
	return position{count, hex.EncodeToString(d[:4])}
}

func (p position) String() string { return strconv.Itoa(p.count) + "-" + p.last }

func parsePosition(cursor string) (position, error) {
	count, last, _ := strings.Cut(strings.TrimSpace(cursor), "-")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return position{}, errors.New("'cursor' must be one that an earlier answer gave")
	}
	return position{n, last}, nil
}

// next returns the index at which the next page begins. That is after the last shown skill, even if
// it has moved. If that skill is gone, its old index counts.
func (p position) next(all []catalog.Hit) int {
	count := min(p.count, len(all))
	if p.last == "" || p.isUnmoved(all) {
		return count
	}
	for i, h := range all {
		if positionAfter(p.count, h.Entry) == p {
			return i + 1
		}
	}
	return min(max(p.count-1, 0), len(all)) // the old index of the last skill
}

// isUnmoved reports whether the last skill is still at its old index.
func (p position) isUnmoved(all []catalog.Hit) bool {
	return p.count > 0 && p.count <= len(all) && positionAfter(p.count, all[p.count-1].Entry) == p
}

// findIn returns one page of the skills that match a query, and the number of skills before the
// page.
func findIn(ctx context.Context, v catalog.View, query string, after position, limit int) (r findResult, start int, err error) {
	q := catalog.Query{Text: query, Limit: min(after.count, math.MaxInt-limit) + limit}
	all, err := v.Search(ctx, q)
	if err == nil && after.last != "" && !after.isUnmoved(all.Hits) {
		q.Limit = 0 // the last skill may be anywhere now
		all, err = v.Search(ctx, q)
	}
	if err != nil {
		return findResult{}, 0, err
	}
	client := profile.FromContext(ctx).Profile()
	left := room{list: listing.Budget, client: client.Result - findReserve, unit: client.ResultUnit}
	r.incomplete = v.Incomplete()
	r.problems, r.more = problemsOf(v, query, room{left.list / 2, left.client / 2, left.unit})
	for _, p := range r.problems {
		left.take("\n" + p.line())
	}
	if r.unlisted, err = unlistedFor(ctx, v, query); err != nil {
		return findResult{}, 0, err
	}
	left.take(r.unlisted)
	start = after.next(all.Hits)
	end := min(start+limit, len(all.Hits))
	r.total = all.Total
	for _, h := range all.Hits[start:end] {
		e := h.Entry
		f := findRow{name: loadName(v, e), description: display.Cut(display.OneLine(e.Description), foundLength), uri: e.URI().String(), scope: listing.Location(e)}
		// A page ends when there is no more room. Its first skill is cut to fit, so every page
		// contains a skill.
		if !left.take(f.line()) {
			if len(r.skills) > 0 {
				break
			}
			fits := left.unit.Prefix(f.description, max(left.unit.Length(f.description)+left.client, 0))
			if fits != f.description {
				f.description = fits + display.Ellipsis
			}
		}
		r.skills = append(r.skills, f)
	}
	if end := start + len(r.skills); end < all.Total {
		r.nextCursor = positionAfter(end, all.Hits[end-1].Entry).String()
	}
	return r, start, nil
}

// unlistedNames is the number of unlisted skills that one answer names.
const unlistedNames = 5

// unlistedFor returns a text that names the unlisted skills that match a query, and explains why
// they are not listed. Without a query, it names the first unlisted skills.
func unlistedFor(ctx context.Context, v catalog.View, query string) (string, error) {
	hits, err := v.Search(ctx, catalog.Query{Text: query, Limit: unlistedNames, Unlisted: true})
	if err != nil || hits.Total == 0 {
		return "", err
	}
	client := profile.FromContext(ctx).Profile().Title
	var names, by []string
	for _, h := range hits.Hits {
		if what := cmp.Or(h.Root.UnlistedBy, "a setting of this server"); !slices.Contains(by, what) {
			by = append(by, what)
		}
		names = append(names, fmt.Sprintf("%s (%s)", display.OneLine(loadName(v, h.Entry)), h.Root.Label))
	}
	if left := hits.Total - len(names); left > 0 {
		names = append(names, fmt.Sprintf("and %d more", left))
	}
	why := "because " + strings.Join(by, " and ") + " leave out their folders"
	if len(by) == 1 {
		why = strings.Replace(why, " leave ", " leaves ", 1)
	}
	if shownBy(v, client) {
		why = "since " + client + " shows the skills of those folders itself"
	}
	return fmt.Sprintf("\nNot listed here, %s: %s. They load here too, by these names.", why, strings.Join(names, ", ")), nil
}

// shownBy reports whether the client shows the skills of all unlisted roots itself.
func shownBy(v catalog.View, client string) bool {
	return !slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Unlisted && !r.Missing && !r.IsShownBy(client) })
}

// findReserve is the part of an answer's length that is reserved for the text around the skills.
const findReserve = 500

// room is the space left in an answer: list in characters of a list's budget, and client in units
// of the client.
type room struct {
	list, client int
	unit         profile.Unit
}

// take subtracts the length of a text, and reports whether there was room for it.
func (r *room) take(s string) bool {
	r.list -= display.Length(s)
	r.client -= r.unit.Length(s)
	return r.list >= 0 && r.client >= 0
}

// problemsOf returns the problems for which there is room, and the number of the others. With a
// query, it returns only two kinds of problems: of skills that the query may mean, and of roots
// that were not read.
func problemsOf(v catalog.View, query string, left room) (some []problem, more int) {
	skipped, names := []*catalog.Entry(nil), []skill.Key(nil)
	if strings.TrimSpace(query) != "" {
		skipped, names = skippedNear(v, query), namesIn(query)
	} else {
		skipped = skippedOfLists(v)
	}
	// Unread roots come first, because any skill may be in them.
	all := unread(v)
	for _, e := range skipped[:min(len(skipped), problemLimit)] {
		all = append(all, problem{skill: nameOrFolder(e), reason: Reason(e)})
	}
	more = max(len(skipped)-problemLimit, 0)
	all = append(all, skippedFolders(v, names)...)
	for i, p := range all {
		if !left.take("\n"+p.line()) || i == problemLimit {
			return all[:i], more + len(all) - i
		}
	}
	return all, more
}

// skippedOfLists returns the skipped skills of the listed roots, except held-back ones.
func skippedOfLists(v catalog.View) []*catalog.Entry {
	return slices.DeleteFunc(slices.Clone(v.Skipped), func(e *catalog.Entry) bool { return e.Root.Unlisted || e.HeldBack() })
}

// loadName returns the name with which a model loads a found skill and reads its files. That is the
// skill's own name or, if necessary, the first longer name that contract 001 accepts and that needs
// no escaping in a line.
func loadName(v catalog.View, e *catalog.Entry) string {
	for name := range v.Names(e) {
		typable := name == e.Name || display.OneLine(name) == name // the skill's own name also works in the form in which a list shows it
		if typable && validFolderName(name) && resolve(v, name, false) == e {
			return name
		}
	}
	return e.URI().String()
}

// nameOrFolder returns the name of a skipped skill for an answer, or the name of its folder if it
// has no name.
func nameOrFolder(e *catalog.Entry) string {
	if e.Name != "" {
		return display.Echo(e.Name)
	}
	return display.Echo(e.Folder())
}

// skippedNear returns the skipped skills with a name near the query or near one of its words.
func skippedNear(v catalog.View, query string) []*catalog.Entry {
	out := v.SkippedNear(query, problemLimit)
	words := strings.Fields(display.CutBytes(query, display.EchoLimit))
	for _, w := range words[:min(len(words), queryWords)] {
		for _, e := range v.SkippedNear(w, problemLimit) {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return slices.DeleteFunc(out, func(e *catalog.Entry) bool { return e.HeldBack() })
}

// line returns the skill as a line of an answer.
func (f findRow) line() string {
	where := f.scope
	if f.name != f.uri {
		where += ", " + f.uri
	}
	return "\n- " + display.OneLine(f.name) + " (" + where + "): " + f.description
}

// findText writes the answer for a page.
func findText(r findResult, query string, start int) string {
	var b strings.Builder
	switch {
	case r.total == 0 && r.incomplete != nil && strings.TrimSpace(query) != "":
		fmt.Fprintf(&b, "No skill that was read so far matches '%s': %s.", display.Echo(query), r.incomplete)
	case r.total == 0 && r.incomplete != nil:
		fmt.Fprintf(&b, "No skill can be listed now: %s.", r.incomplete)
	case r.total == 0 && strings.TrimSpace(query) != "" && r.unlisted != "":
		fmt.Fprintf(&b, "No listed skill matches '%s'.", display.Echo(query))
	case r.total == 0 && strings.TrimSpace(query) != "":
		fmt.Fprintf(&b, "No skill matches '%s'. Try other words, or leave the query out to list all skills.", display.Echo(query))
	case r.total == 0 && slices.ContainsFunc(r.problems, func(p problem) bool { return p.root != "" }):
		b.WriteString("No skills were found, and not every root was read.")
	case r.total == 0 && r.unlisted != "":
		b.WriteString("No skill is listed.")
	case r.total == 0:
		b.WriteString("There are no skills.")
	case len(r.skills) == 0:
		fmt.Fprintf(&b, "Nothing comes after that cursor; there are %d skills in all.", r.total)
	default:
		fmt.Fprintf(&b, "Skills %d to %d of %d:", start+1, start+len(r.skills), r.total)
	}
	for _, f := range r.skills {
		b.WriteString(f.line())
	}
	if r.nextCursor != "" {
		fmt.Fprintf(&b, "\nFor more, call again with cursor \"%s\".", r.nextCursor)
	}
	if r.incomplete != nil && r.total > 0 {
		fmt.Fprintf(&b, "\nThere may be more: %s.", r.incomplete)
	}
	b.WriteString(r.unlisted)
	for _, p := range r.problems {
		b.WriteString("\n" + p.line())
	}
	if r.more > 0 {
		fmt.Fprintf(&b, "\nAnd %s skipped: search for one by its name to see why, or run the command `knack list --all`.", countWere(r.more, "more", "more"))
	}
	return b.String()
}

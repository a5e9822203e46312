package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// Contract 002: skill(name).

var skillSchema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"Name of the skill to load (case-insensitive)"}},"required":["name"],"additionalProperties":false}`)

// skillHead and skillTail surround the list, word for word as in the contract.
const (
	skillHead = `Execute a skill within the main conversation

<skills_instructions>
When users ask you to perform tasks, check if any of the available skills below can help complete the task more effectively. Skills provide specialized capabilities and domain knowledge.

How to use skills:
- Invoke skills using this tool with the skill name only (no arguments)
- When you invoke a skill, you will see <command-message>The "{name}" skill is loading</command-message>
- The skill's prompt will expand and provide detailed instructions on how to complete the task
- Examples:
  - ` + "`command: \"pdf\"`" + ` - invoke the pdf skill
  - ` + "`command: \"xlsx\"`" + ` - invoke the xlsx skill
  - ` + "`command: \"ms-office-suite:pdf\"`" + ` - invoke using fully qualified name

Important:
- Only use skills listed in <available_skills> below
- Do not invoke a skill that is already running
- Do not use this tool for built-in CLI commands (like /help, /clear, etc.)
</skills_instructions>

<available_skills>
`
	skillTail = "\n</available_skills>"

	// defaultHead begins with the text that clients must show even if they cut the description. Its
	// first line is a summary of at most 157 characters, which is what Qwen Code shows of a
	// deferred tool.
	defaultHead = `Load a skill: instructions for one kind of task, written by the user or their team. Load the one that fits before you begin; find_skills searches them.

Give the name of a skill below, or the skill:// URI of its SKILL.md, and follow what it says. The list may be shortened: every name that find_skills returns can be loaded here. A file that a skill mentions is read with read_file_in_skill.

<available_skills>
`
)

// universalSkill returns the tool as contract 002 defines it.
func universalSkill() *Tool {
	t := newSkill(skillHead, false)
	t.describe = func(v catalog.View, c profile.Client) string {
		return skillHead + listing.Render(v, v.Listed, listing.Elements, listing.BudgetFor(c, t.around), "") + skillTail
	}
	t.arranged = func(v catalog.View, c profile.Client) listing.Arrangement {
		_, a := listing.Of(v.Listed).Arrange(listing.Elements, listing.BudgetFor(c, t.around), "")
		return a
	}
	return t
}

// defaultSkill returns the tool for current clients. Its description is worded for them. It accepts
// a skill:// URI as a name. Its answers are at most as long as the client shows.
func defaultSkill() *Tool {
	t := newSkill(defaultHead, true)
	t.Meta = map[string]any{alwaysLoadKey: true, resultSizeKey: profile.MaxResult}
	t.lay = func(v catalog.View, c profile.Client) laid { return layOut(v, c, t.around) }
	t.describe = func(v catalog.View, c profile.Client) string {
		return defaultHead + t.lay(v, c).description + skillTail
	}
	t.arranged = func(v catalog.View, c profile.Client) listing.Arrangement { return t.lay(v, c).Arrangement }
	return t
}

// newSkill returns the tool without its list of skills, which will follow head in the description.
func newSkill(head string, isDefault bool) *Tool {
	return &Tool{
		Contract: "002", Name: "skill", Title: "Load Skill", Schema: skillSchema, around: display.Length(head) + display.Length(skillTail),
		keys: []string{"name"}, aliases: []string{"command"}, skillKeys: []string{"name", "command"},
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			name, err := skillArgument(args)
			if err != nil {
				return failure("Invalid arguments for tool skill: %s", err), nil
			}
			if strings.TrimSpace(name) == "" {
				return failure("Skill name cannot be empty"), nil
			}
			return loadSkill(ctx, h, name, isDefault)
		},
	}
}

// skillArgument returns the value of the argument name, or of command, its name in newer clients.
func skillArgument(args arguments) (string, error) {
	name, hasName, err := args.name("name")
	if err != nil {
		return "", err
	}
	command, hasCommand, err := args.name("command")
	switch {
	case err != nil:
		return "", err
	case hasName && hasCommand:
		return "", errors.New("'name' and 'command' are two names of one argument; give 'name' alone")
	case hasCommand:
		return command, nil
	case !hasName:
		return "", errors.New("'name' is missing; give the name of a skill")
	}
	return name, nil
}

// loadSkill answers with the skill's current file. If the name in the file has changed, it
// resolves the name again. isDefault is set for the default set.
func loadSkill(ctx context.Context, h *Host, name string, isDefault bool) (Result, error) {
	client := profile.FromContext(ctx).Profile() // only the default set uses it
	for range 4 {
		v, err := h.Catalog.View(ctx)
		if err != nil {
			return Result{}, err
		}
		e, unsure := resolve(v, name, isDefault), error(nil)
		if uri, err := skill.ParseURI(strings.TrimSpace(name)); e == nil && isDefault && err == nil {
			v, _, _, unsure = h.At(ctx, v, uri)
			e = resolve(v, name, isDefault)
		} else if e == nil {
			v, e, unsure = h.NamedBy(ctx, v, name, func(v catalog.View) *catalog.Entry { return resolve(v, name, isDefault) })
		}
		switch {
		case ctx.Err() != nil:
			return Result{}, ctx.Err()
		case e == nil && unsure != nil:
			return failure("%s", withLines(fmt.Sprintf("Skill '%s' cannot be read: %s.", display.Echo(name), unsure), hints(v, name))), nil
		case e == nil:
			if isDefault {
				return Result{Text: skillNotNamed(v, name), Absent: true}, nil
			}
			return Result{Text: skillNotFound(v, name), Absent: true}, nil
		case !e.ModelInvocable:
			return failure("%s", lookup.NotForModels(name)), nil
		}
		data, now, err := v.Read(ctx, e)
		switch {
		case ctx.Err() != nil:
			return Result{}, ctx.Err()
		case errors.Is(err, fs.ErrNotExist) || now != nil && !now.Available:
			continue // the catalogue has been refreshed
		case err != nil:
			return failure("Skill '%s' cannot be read: %s", display.Echo(e.Name), skill.Reason(err)), nil
		case now.Key != e.Key || !now.ModelInvocable:
			continue
		}
		head := "Loading: " + now.Name + "\n" + h.BaseLine(ctx, now) + "\n\n"
		if isDefault {
			return Result{Text: head + beginning(ctx, h, client, now, display.TextOf(data), head)}, nil
		}
		return Result{Text: head + display.TextOf(data)}, nil
	}
	return failure("Skill '%s' cannot be read: %s", display.Echo(name), skill.ErrUnstable), nil
}

// beginning returns the part of a SKILL.md that the client shows below the head, and the call that
// reads the rest.
func beginning(ctx context.Context, h *Host, client profile.Profile, e *catalog.Entry, text, head string) string {
	limits := boundsBelow(client, head)
	if limits.contain(text, strings.Count(text, "\n")+1) {
		return text
	}
	v, err := h.Catalog.View(ctx) // the current view, because reading may have found a different skill
	if err != nil {
		return text
	}
	if now, _ := v.At(e.URI()); now != nil {
		e = now
	}
	name := fileRead{view: v, entry: e}.name()
	p, err := partOf(text, span{}, limits, limits.above(continues+longestNote(client, name, skill.MainFile), 1))
	if err != nil || p.whole {
		return text
	}
	return p.withNote(continues + p.note(client, name, skill.MainFile, len(text)))
}

// continues is the line after the beginning of a long SKILL.md.
const continues = "[The skill goes on. Read the rest before you follow it.]\n"

// Loads returns the skill that a current client gets for a name or a skill:// URI, or nil. The
// skill may be one that is not for models.
func Loads(v catalog.View, name string) *catalog.Entry { return resolve(v, name, true) }

// resolve looks up a name. The name is only a key. It never reaches the disk.
func resolve(v catalog.View, name string, uris bool) *catalog.Entry {
	if e := v.Named(name); e != nil {
		return e
	}
	if e := listedAs(v, name); e != nil {
		return e
	}
	if !uris {
		return nil
	}
	uri, err := skill.ParseURI(strings.TrimSpace(name))
	if err != nil {
		return nil
	}
	if e, path := v.At(uri); path == skill.MainFile || path == "." {
		return e
	}
	return nil
}

// listedAs finds the skill that a list shows under this name after folding or escaping. So a name
// copied from a list loads.
func listedAs(v catalog.View, name string) *catalog.Entry {
	key := skill.KeyOf(name)
	for _, e := range v.Listed {
		one := display.OneLine(e.Name)
		if xml := listing.EscapeXML(one); (one != e.Name && skill.KeyOf(one) == key) || (xml != one && skill.KeyOf(xml) == key) {
			return e
		}
	}
	return nil
}

// BaseLine returns the line of an answer that names the folder of the skill's other files.
func (h *Host) BaseLine(ctx context.Context, e *catalog.Entry) string {
	return "Base directory: " + h.Base(ctx, e)
}

func skillNotFound(v catalog.View, name string) string {
	text := fmt.Sprintf("Skill '%s' not found.\n\nAvailable skills:\n%s\n\nUse the exact skill name (case-insensitive) to load a skill.",
		display.Echo(name), listing.Render(v, v.Listed, listing.Bullets, listing.Budget, ""))
	return withLines(text, hints(v, name))
}

// nearest is the number of names that the answer to an unknown name proposes.
const nearest = 10

// mostEdits is the number of edits above which names with common words count as equally
// distant.
const mostEdits = 64

// skillNotNamed returns the not-found answer of the default set. It contains the hints for the
// name, then the names closest in spelling, then names that share words, those with the most shared
// words first. If no name is near, it contains the first names by relevance.
func skillNotNamed(v catalog.View, name string) string {
	near := v.Near(name, nearest)
	for _, e := range sharingWords(v, name) {
		if len(near) < nearest && !slices.Contains(near, e) {
			near = append(near, e)
		}
	}
	lines := append([]string{fmt.Sprintf("Skill '%s' not found.", display.Echo(name))}, hints(v, name)...)
	title, more := "The nearest names: ", ""
	if len(near) == 0 {
		title = "Available skills: "
		order := listing.Order(v, v.Listed, false)
		for _, i := range order[:min(len(order), nearest)] {
			near = append(near, v.Listed[i])
		}
		if left := len(order) - len(near); left > 0 {
			more = fmt.Sprintf(" and %d more", left)
		}
	}
	if len(near) > 0 {
		names := make([]string, len(near))
		for i, e := range near {
			names[i] = display.OneLine(loadName(v, e))
		}
		lines = append(lines, title+strings.Join(names, ", ")+more)
	}
	if note := listing.IncompleteNote(v, findName); note != "" {
		lines = append(lines, note)
	}
	return strings.Join(append(lines, findName+" searches all skills by topic, and lists them without a query."), "\n")
}

// sharingWords returns the listed skills whose names share words with a name. Names with more whole
// words in common come first, and names that share only parts of words come last. Among equals,
// names with fewer edits come first.
func sharingWords(v catalog.View, name string) []*catalog.Entry {
	type sharer struct {
		*catalog.Entry
		whole, edits int
	}
	asked := string(skill.KeyOf(display.CutBytes(name, display.EchoLimit)))
	words := wordsIn(asked)
	var all []sharer
	for _, e := range v.Listed {
		key := string(e.Key)
		isIn := func(w string) bool { return strings.Contains(key, w) }
		if !slices.ContainsFunc(words, isIn) {
			continue
		}
		s := sharer{Entry: e, edits: typo.Distance(asked, key, mostEdits)}
		for _, w := range wordsIn(key) {
			if slices.Contains(words, w) {
				s.whole++
			}
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b sharer) int { return cmp.Or(b.whole-a.whole, a.edits-b.edits) })
	entries := make([]*catalog.Entry, len(all))
	for i, s := range all {
		entries[i] = s.Entry
	}
	return entries
}

// wordsIn returns the words of a name that are long enough to be distinctive.
func wordsIn(name string) []string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < 3 || w == "skill" })
}

// withLines appends lines to a text.
func withLines(text string, lines []string) string {
	return strings.Join(append([]string{text}, lines...), "\n")
}

// hints returns the lines below a not-found answer: reasons why the skill may be missing, and the
// name that was probably meant.
func hints(v catalog.View, name string) []string {
	var lines []string
	skipped := skippedMeant(v, name)
	if skipped != nil {
		lines = append(lines, skippedLine(skipped, name))
	}
	key := skill.KeyOf(name)
	if d := v.Denied(func(folder string) bool { return skill.KeyOf(folder) == key }); d != nil && skipped == nil {
		lines = append(lines, fmt.Sprintf("'%s' exists but was skipped: %s: %s (%s)", display.Echo(path.Base(d.Path)), display.Echo(d.Place()), d.Message, d.Fix))
	}
	if over := skippedFolders(v, []skill.Key{key}); len(lines) == 0 && len(over) > 0 {
		lines = append(lines, over[0].line())
	}
	roots := unread(v)
	for _, p := range roots[:min(len(roots), unreadHints)] {
		lines = append(lines, p.line())
	}
	if line := suggestion(v, name); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// suggestion returns a line with the skill that was probably meant. That is the skill in a folder
// of that name or, without one, the skill with the closest name. It ignores the text before a
// colon, such as a root's label or a plugin's name.
func suggestion(v catalog.View, name string) string {
	if _, rest, ok := strings.Cut(name, ":"); ok && strings.TrimSpace(rest) != "" && !strings.HasPrefix(rest, "//") {
		name = rest
	}
	key := skill.KeyOf(name)
	for _, e := range v.Entries {
		if (e.Status == catalog.Available || e.Status == catalog.Shadowed) && e.ModelInvocable && skill.KeyOf(e.Folder()) == key {
			if e.Key == key {
				return fmt.Sprintf("Did you mean '%s'?", display.OneLine(loadName(v, e)))
			}
			return fmt.Sprintf("Did you mean '%s'? (its folder is called %s)", display.OneLine(loadName(v, e)), display.Spelt(display.Echo(e.Folder())))
		}
	}
	if near := v.Near(name, 1); len(near) > 0 {
		return fmt.Sprintf("Did you mean '%s'?", display.OneLine(near[0].Name))
	}
	return ""
}

// skippedMeant returns the skipped skill that a name probably means, or nil. A held-back skill must
// match by its name or its folder.
func skippedMeant(v catalog.View, name string) *catalog.Entry {
	key := skill.KeyOf(name)
	for _, e := range v.SkippedNear(name, len(v.Skipped)) {
		if !e.HeldBack() || e.Key == key || skill.KeyOf(e.Folder()) == key {
			return e
		}
	}
	return nil
}

// skippedLine returns "'deploy' exists but was skipped: <file>:3:14: <why> (<fix>)". It names a
// held-back skill as the caller typed it, because models must not read the skill's own name.
func skippedLine(e *catalog.Entry, asked string) string {
	if e.HeldBack() {
		return fmt.Sprintf("'%s' exists but was %s", display.Echo(asked), skill.Held)
	}
	return fmt.Sprintf("'%s' exists but was skipped: %s", nameOrFolder(e), Reason(e))
}

// ClientReason is [Reason] for models and clients. It gives no details of a held-back skill,
// because a finding quotes text that models must not read.
func ClientReason(e *catalog.Entry) string {
	if e.HeldBack() {
		return skill.Held
	}
	return Reason(e)
}

// Reason returns the position, the reason and the fix of a skipped skill in one line.
func Reason(e *catalog.Entry) string {
	p, _ := e.SkipReason()
	at := display.Echo(e.Place())
	if pos := p.Position.String(); pos != "" {
		at += ":" + pos
	}
	at += ": " + listing.Quote(p.Message)
	if p.Fix != "" {
		at += " (" + listing.Fix(p.Fix) + ")"
	}
	return at
}

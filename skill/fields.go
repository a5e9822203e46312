package skill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// judgeFields reads the fields that knack uses from the document.
func (s *Skill) judgeFields(d *frontmatter.Document) {
	if skips(d.Problems) && len(d.Fields) == 0 {
		return // the missing frontmatter is the only problem
	}
	s.judgeName(d)
	s.judgeDescription(d)
	s.judgeCompatibility(d)
	s.judgeMetadata(d)
	s.judgeInvocation(d)
}

func skips(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return RuleOf(p.Rule).Skips })
}

// noWords lists the words for false in YAML 1.1, and others that authors use.
var noWords = map[string]bool{"false": true, "no": true, "off": true, "n": true, "f": true, "none": true, "never": true}

// isNo reports whether the value is a word for false, or zero.
func isNo(v frontmatter.Value) bool {
	word := strings.ToLower(strings.TrimSpace(v.Text))
	if v.Kind == frontmatter.List || v.Kind == frontmatter.Map {
		return false
	}
	if noWords[word] {
		return true
	}
	if frontmatter.KindOf(word) != frontmatter.Number {
		return false
	}
	n, err := strconv.ParseFloat(string(frontmatter.Value{Kind: frontmatter.Number, Text: word}.AppendJSON(nil)), 64)
	return err == nil && n == 0
}

// isEmpty reports whether the value is empty in any form of YAML.
func isEmpty(v frontmatter.Value) bool {
	switch v.Kind {
	case frontmatter.Null:
		return true
	case frontmatter.List:
		return len(v.Items) == 0
	case frontmatter.Map:
		return len(v.Fields) == 0
	}
	return strings.TrimSpace(v.Text) == ""
}

// judgeInvocation decides whether models and users may call the skill. It applies an author's
// restriction in any spelling of its key. disable-model-invocation restricts with any value that is
// neither empty nor a clear no. user-invocable restricts with a clear no.
func (s *Skill) judgeInvocation(d *frontmatter.Document) {
	for i := range d.Fields {
		f := &d.Fields[i]
		if len(f.Key) < len("user-invocable") {
			continue // shorter than both keys, even with invisible characters
		}
		key := strings.ReplaceAll(typo.Fold(f.Key), "_", "-")
		if key != "disable-model-invocation" && key != "user-invocable" {
			continue
		}
		applies := !isNo(f.Value)
		if key == "user-invocable" {
			s.UserInvocable = s.UserInvocable && applies
		} else {
			applies = applies && !isEmpty(f.Value)
			s.ModelInvocable = s.ModelInvocable && !applies
			if applies && s.Disabled == "" {
				s.Disabled = f.Key + ": " + sourceText(f.Value)
			}
		}
		fix := fmt.Sprintf("write %s: %v", key, applies)
		switch {
		case f.Key != key:
			s.problem(frontmatter.Invocation, f.KeyPosition, f.Key, "the key "+quoteKey(f.Key)+" is read as "+key+"; other clients do not know it", fix)
		case f.Value.Kind != frontmatter.Bool:
			s.problem(frontmatter.Invocation, f.Value.Position, f.Key, fmt.Sprintf("%s is %s, which is neither true nor false: knack treats it as %v, and clients differ", key, sourceText(f.Value), applies), fix)
		}
	}
}

// sourceText returns the approximate source text of a value, for a message.
func sourceText(v frontmatter.Value) string {
	switch {
	case v.Kind == frontmatter.List || v.Kind == frontmatter.Map:
		return display.Excerpt(string(v.AppendJSON(nil)))
	case v.Kind == frontmatter.Null && v.Text == "":
		return "empty"
	case v.Kind == frontmatter.String && (strings.TrimSpace(v.Text) == "" || frontmatter.KindOf(v.Text) != frontmatter.String):
		return display.Quote(v.Text) // the quotes show that the value is a string
	}
	return display.Excerpt(v.Text)
}

// frontmatterAt returns the position for a missing field.
func frontmatterAt(d *frontmatter.Document) Position {
	if len(d.Fields) > 0 {
		return Position{Line: d.Fields[0].KeyPosition.Line, Column: 1}
	}
	return Position{Line: 1, Column: 1}
}

func (s *Skill) judgeName(d *frontmatter.Document) {
	f, ok := d.Field("name")
	if !ok {
		if !hasRule(d.Problems, frontmatter.NameSyntax) {
			s.missing(d, frontmatter.NameMissing, "name", "add a line "+Line(Suggest(s.Folder())))
		}
		return
	}
	p := f.Value.Position
	switch {
	case f.Value.Kind == frontmatter.List || f.Value.Kind == frontmatter.Map:
		s.problem(frontmatter.NameSyntax, p, "name", "name is not a text", "write one line "+Line(Suggest(s.Folder())))
		return
	case f.Value.Kind == frontmatter.Null || display.IsBlank(f.Value.Text):
		s.problem(frontmatter.NameMissing, p, "name", "name is empty", "write "+Line(Suggest(s.Folder())))
		return
	case !inPattern(f.Value.Text) && strings.IndexFunc(strings.TrimSpace(f.Value.Text), isControl) >= 0:
		s.problem(frontmatter.NameControl, p, "name", "name contains a control character or line break", "delete it")
		return
	case f.Value.Kind != frontmatter.String:
		s.problem(frontmatter.NameType, p, "name", "name is not a string in YAML; its text "+display.Quote(f.Value.Text)+" is used", "quote the name")
	}
	s.Name = strings.TrimSpace(f.Value.Text)
	if n := utf8.RuneCountInString(s.Name); n > MaxName {
		s.problem(frontmatter.NameLength, p, "name", fmt.Sprintf("name has %d characters, over the limit of %d", n, MaxName), "shorten the name")
	}
	if s.Name == f.Value.Text && s.Name == s.Folder() && inPattern(s.Name) {
		return
	}
	fix := "for example " + Line(s.proposedName())
	if s.Name != s.Folder() {
		fix = s.folderFix() // one fix for both faults
	}
	switch {
	case s.Name != f.Value.Text:
		s.problem(frontmatter.NamePattern, p, "name", "name has white space around it", "write "+Line(s.proposedName()))
	case !inPattern(s.Name):
		s.problem(frontmatter.NamePattern, p, "name", display.Quote(s.Name)+" is not made of a-z, 0-9 and single inner hyphens", fix)
	}
	if s.Name != s.Folder() {
		s.problem(frontmatter.NameFolder, p, "name", "the folder is called "+quoteName(s.Folder())+", not "+quoteName(s.Name), fix)
	}
}

// isControl reports whether r is a control character or ends a line.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// quoteName quotes a name, with escapes if it has invisible characters or look-alike letters of
// two scripts.
func quoteName(name string) string {
	latin, other := false, false
	for _, r := range name {
		latin = latin || unicode.Is(unicode.Latin, r)
		other = other || unicode.Is(unicode.Cyrillic, r) || unicode.Is(unicode.Greek, r)
		if unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
			return display.Spelt(name)
		}
	}
	if latin && other {
		return display.Spelt(name)
	}
	return display.Quote(name)
}

// folderFix suggests how to make name and folder equal. It suggests to rename the folder, because
// agents and other skills use the name. It suggests a different fix if only the folder's name is
// valid, or if a folder with the name exists.
func (s *Skill) folderFix() string {
	switch {
	case s.taken(s.Name) && ValidName(s.Folder()):
		return "write " + Line(s.Folder()) + ", since there is a folder " + display.Quote(s.Name) + " already"
	case s.taken(s.Name):
		return "choose another name: there is a folder " + display.Quote(s.Name) + " already"
	case ValidName(s.Name):
		return "rename the folder to " + display.Quote(s.Name)
	case ValidName(s.Folder()):
		return "write " + Line(s.Folder())
	}
	if name := s.proposedName(); s.taken(name) {
		return "choose a name, and rename the folder to the same; there is a folder " + display.Quote(name) + " already"
	}
	return "write " + Line(s.proposedName()) + " and rename the folder to the same"
}

// taken reports whether there is a folder with this name beside the skill's folder. On a disk that
// ignores case, the skill's own folder may have the name in another case. So taken ignores names
// that differ only in case.
func (s *Skill) taken(name string) bool {
	by, can := s.FS.(interface{ Beside(name string) bool })
	return can && !strings.EqualFold(name, s.Folder()) && by.Beside(name)
}

// proposedName returns a replacement for an invalid name. It is the folder's name if that is valid.
func (s *Skill) proposedName() string {
	if ValidName(s.Folder()) {
		return s.Folder()
	}
	return Suggest(s.Name)
}

func hasRule(problems []Problem, id RuleID) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Rule == id })
}

// missing reports a missing field, and the key that was probably meant.
func (s *Skill) missing(d *frontmatter.Document, rule RuleID, field, fix string) {
	for _, f := range d.Fields {
		if f.Key != field && strings.EqualFold(strings.Trim(f.Key, " \t"), field) {
			s.problem(rule, f.KeyPosition, field, fmt.Sprintf("%s is missing; the key %s is a different key", field, display.Quote(f.Key)), "write the key in lower case: "+field+":")
			return
		}
	}
	if f, certain, ok := d.Meant(field); ok {
		relation := "is probably a misspelling of it"
		if certain {
			relation = "only looks like it"
		}
		s.problem(rule, f.KeyPosition, field, fmt.Sprintf("%s is missing; the key %s %s", field, quoteKey(f.Key), relation), "write the key as "+field+":")
		return
	}
	for _, f := range d.Fields {
		if isOtherScript(f.Key) {
			s.problem(rule, f.KeyPosition, field, fmt.Sprintf("%s is missing; the key %s is in another script, and no client knows it", field, display.Quote(f.Key)), "write the key "+field+": in English; "+fix)
			return
		}
	}
	s.problem(rule, frontmatterAt(d), field, field+" is missing", fix)
}

// isOtherScript reports whether the key has letters, but no Latin ones.
func isOtherScript(key string) bool {
	return strings.IndexFunc(key, unicode.IsLetter) >= 0 && strings.IndexFunc(key, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) < 0
}

// quoteKey quotes a key, with escapes if it contains look-alike characters.
func quoteKey(key string) string {
	if !display.IsASCII(key) && typo.Fold(key) != strings.ToLower(key) {
		return display.Spelt(key)
	}
	return display.Quote(key)
}

func (s *Skill) judgeDescription(d *frontmatter.Document) {
	const fix = "say in one or two sentences what the skill does and when to use it"
	f, ok := d.Field("description")
	if !ok {
		s.missing(d, frontmatter.DescriptionMissing, "description", "add a line description: that says what the skill does and when to use it")
		return
	}
	p := f.Value.Position
	switch {
	case f.Value.Kind == frontmatter.Null || f.Value.Kind == frontmatter.String && display.IsBlank(f.Value.Text),
		(f.Value.Kind == frontmatter.List || f.Value.Kind == frontmatter.Map) && display.IsBlank(plainText(f.Value)):
		s.problem(frontmatter.DescriptionMissing, p, "description", "description is empty", fix)
		return
	case f.Value.Kind != frontmatter.String:
		s.problem(frontmatter.DescriptionType, p, "description", "description is not a string in YAML; its text is used", "quote the description")
	}
	s.Description = strings.TrimSpace(plainText(f.Value))
	if len(f.Value.Text) <= MaxDescription {
		return // a text has at most as many characters as bytes
	}
	if n := utf8.RuneCountInString(f.Value.Text); n > MaxDescription {
		s.problem(frontmatter.DescriptionLength, p, "description", fmt.Sprintf("description has %d characters, over the limit of %d", n, MaxDescription), "move detail into the body")
	}
}

// plainText returns the text of a value. For a list or mapping, that is its scalars in order.
func plainText(v frontmatter.Value) string {
	switch v.Kind {
	case frontmatter.Null:
		return ""
	case frontmatter.List:
		parts := make([]string, 0, len(v.Items))
		for _, item := range v.Items {
			parts = append(parts, plainText(item))
		}
		return strings.Join(parts, ", ")
	case frontmatter.Map:
		parts := make([]string, 0, len(v.Fields))
		for _, f := range v.Fields {
			parts = append(parts, f.Key+": "+plainText(f.Value))
		}
		return strings.Join(parts, ", ")
	}
	return v.Text
}

func (s *Skill) judgeCompatibility(d *frontmatter.Document) {
	f, ok := d.Field("compatibility")
	if !ok {
		return
	}
	if n := utf8.RuneCountInString(f.Value.Text); f.Value.Kind != frontmatter.String || n < 1 || n > MaxCompatibility {
		s.problem(frontmatter.Compatibility, f.Value.Position, f.Key, "compatibility is not a string of 1 to 500 characters", "write one line of text")
	}
}

// readAsText reports whether a field was read as text because its value is not valid YAML.
func readAsText(d *frontmatter.Document, key string) bool {
	f, ok := d.Field(key)
	return ok && f.Value.Kind == frontmatter.String && slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Rule == frontmatter.YAMLSyntax && p.Field == key })
}

// maxMetadata bounds the problems with values of one skill's metadata.
const maxMetadata = 10

func (s *Skill) judgeMetadata(d *frontmatter.Document) {
	f, ok := d.Field("metadata")
	if !ok || readAsText(d, "metadata") {
		return // another problem reports its fault
	}
	if f.Value.Kind != frontmatter.Map {
		s.problem(frontmatter.Metadata, f.Value.Position, f.Key, "metadata is not a mapping", "write metadata as key: 'value' lines, or delete it")
		return
	}
	n := 0
	for _, m := range f.Value.Fields {
		if m.Value.Kind == frontmatter.String {
			continue
		}
		if n++; n > maxMetadata {
			return
		}
		fix := "write it as one text in quotes"
		if m.Value.Kind != frontmatter.List && m.Value.Kind != frontmatter.Map {
			fix = "put the value in quotes: " + display.OneLine(m.Key) + ": '" + display.OneLine(m.Value.Text) + "'"
		}
		s.problem(frontmatter.Metadata, m.Value.Position, f.Key, "the value of metadata."+display.Excerpt(m.Key)+" is not a string", fix)
	}
}

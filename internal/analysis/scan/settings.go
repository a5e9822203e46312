package scan

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// setting is a string in a settings file, with the keys that lead to it. Elements of a list have no
// key.
type setting struct {
	keys     []string
	value    string
	from, to int // offsets in the text, with the quotes
}

// settings judges the values of a settings file that start commands.
func (s *scanner) settings(p passage.Part) {
	// A letter in a key can be written as an escape.
	if !slices.ContainsFunc([]string{`"scripts"`, "hooks", "folderOpen", `\u`, `\x`}, func(word string) bool { return strings.Contains(p.Text, word) }) {
		return
	}
	isPackage := baseOf(p.File.Path) == "package.json"
	visit := func(v setting) {
		switch {
		case isPackage && len(v.keys) == 2 && v.keys[0] == "scripts":
			if slices.Contains(lifecycle, v.keys[1]) {
				s.Find(passage.InstallScript, p, v.from, v.to, "the script "+secrets.Quote(v.keys[1])+" runs when the package is installed: "+secrets.Quote(v.value))
			}
			s.commands.Shell(v.text(p), commands.String)
		case v.keys[0] == "hooks" && slices.Contains(v.keys[1:], "command"):
			s.Find(passage.Hooks, p, v.from, v.to, "a hook runs "+secrets.Quote(v.value))
			s.commands.Shell(v.text(p), commands.String)
		case v.value == "folderOpen" && v.keys[len(v.keys)-1] == "runOn":
			s.Find(passage.RunsUnasked, p, v.from, v.to, "a task runs when an editor opens the folder")
			s.Fact(passage.FactUnasked, p.File.Path)
		}
	}
	var err error
	switch extension(p.File.Path) {
	case ".toml":
	case ".yaml", ".yml":
		if topHooks().MatchString(p.Text) {
			err = walkYAML(p.File, visit)
		}
	default:
		err = walkJSON(p.Text, visit)
	}
	switch {
	case errors.Is(err, errSettingsLarge):
		s.TooLarge(p.File.Path, err.Error())
	case err != nil:
		s.unjudged(p.File.Path, err.Error())
	}
}

// topHooks matches a top-level key "hooks" in a YAML text, or the beginning of a text that can hide
// such a key.
var topHooks = lazyregexp.New(`(?m)^(\x{feff}?hooks\s*:|["'?{])`)

// lifecycle lists the scripts that npm runs when a package is installed (npm, scripts: life cycle
// scripts).
var lifecycle = []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"}

// text returns the value of a setting as a part. A value with escapes has one position for all its
// bytes.
func (v setting) text(p passage.Part) passage.Part {
	if v.to-v.from == len(v.value)+2 && p.Text[v.from+1:v.to-1] == v.value {
		return p.Slice(v.from+1, v.to-1)
	}
	return p.Decoded(v.value, v.from)
}

var (
	errSettings      = errors.New("it is not valid, so its commands are not known")
	errSettingsLarge = errors.New("it nests too deep or has too many values, so its commands are not known")
)

// walkJSON visits the strings of a JSON text that have a key. It accepts comments and trailing
// commas, as editors do.
func walkJSON(text string, visit func(setting)) error {
	plain := plainJSON(text)
	if strings.HasPrefix(plain, "\ufeff") {
		plain = "   " + plain[3:] // the mark has three bytes
	}
	d := json.NewDecoder(strings.NewReader(plain))
	d.UseNumber()
	type level struct {
		object bool
		isKey  bool // a key comes next
	}
	var levels []level
	var keys []string // one per level
	for {
		offset := int(d.InputOffset())
		t, err := d.Token()
		if errors.Is(err, io.EOF) && len(levels) == 0 {
			return nil
		}
		if err != nil {
			return errSettings
		}
		top := len(levels) - 1
		if text, ok := t.(string); ok && top >= 0 && levels[top].object && levels[top].isKey {
			keys[top], levels[top].isKey = text, false
			continue
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if len(levels) == bound.Levels {
				return errSettingsLarge
			}
			object := t == json.Delim('{')
			levels, keys = append(levels, level{object, object}), append(keys, "")
			continue
		case json.Delim('}'), json.Delim(']'):
			levels, keys = levels[:top], keys[:top]
			top--
		default:
			if value, ok := t.(string); ok && top >= 0 {
				offset += strings.IndexByte(plain[offset:], '"')
				if named := withoutEmpty(keys); len(named) > 0 {
					visit(setting{named, value, offset, int(d.InputOffset())})
				}
			}
		}
		if top >= 0 && levels[top].object {
			levels[top].isKey = true
		}
	}
}

func withoutEmpty(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" })
}

// plainJSON replaces comments, and commas before a closing bracket, with spaces. All offsets stay
// the same.
func plainJSON(text string) string {
	if !strings.Contains(text, "//") && !strings.Contains(text, "/*") && !strings.Contains(text, ",") {
		return text
	}
	b := []byte(text)
	comma := -1 // the last comma, if only space has followed it
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			comma = -1
		case c == '/' && i+1 < len(b) && b[i+1] == '/':
			for ; i < len(b) && b[i] != '\n'; i++ {
				b[i] = ' '
			}
		case c == '/' && i+1 < len(b) && b[i+1] == '*':
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return string(b) // the JSON is not valid
			}
			for end += i + 4; i < end; i++ {
				b[i] = ' '
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				b[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return string(b)
}

// walkYAML visits the strings of a YAML text that have a key.
func walkYAML(f *passage.File, visit func(setting)) error {
	if !bound.YAML.Fits(f.Text) {
		return errSettingsLarge
	}
	top, problems := frontmatter.ParseYAML(f.Text)
	if top.Kind == frontmatter.Null && len(problems) > 0 {
		return errSettings
	}
	var walk func(v frontmatter.Value, keys []string)
	walk = func(v frontmatter.Value, keys []string) {
		for _, item := range v.Items {
			walk(item, keys)
		}
		for _, field := range v.Fields {
			walk(field.Value, append(slices.Clone(keys), field.Key))
		}
		if v.Text != "" && len(keys) > 0 {
			from := f.Offset(v.Position)
			end := strings.IndexByte(f.Text[from:], '\n')
			if end < 0 {
				end = len(f.Text) - from
			}
			visit(setting{keys, v.Text, from, from + end})
		}
	}
	walk(top, nil)
	return nil
}

// runner returns a phrase about the program that runs a file when the file's folder is used. The
// phrase also tells when. It is "" for other files.
func runner(name string) string {
	switch name {
	case "sitecustomize.py", "usercustomize.py": // Python, site
		return "Python runs it when it starts"
	case ".envrc": // direnv
		return "direnv runs it when a shell enters its folder"
	}
	return ""
}

// unasked reports a file that runs when its folder is used.
func (s *scanner) unasked(f *passage.File) {
	if baseOf(f.Path) == "conftest.py" { // pytest runs it before the tests, as people expect
		s.Fact(passage.FactUnasked, f.Path)
	}
	why := runner(baseOf(f.Path))
	from, to := 0, 0
	if extension(f.Path) == ".pth" {
		// Python runs the lines that begin with import (Python, site).
		at := 0
		for line := range strings.Lines(f.Text) {
			if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "import\t") {
				from, to = at, at+len(strings.TrimSuffix(line, "\n"))
				why = "Python runs this line when it starts"
				break
			}
			at += len(line)
		}
	}
	if why == "" {
		return
	}
	s.Find(passage.RunsUnasked, f.Whole(), from, to, why)
	s.Fact(passage.FactUnasked, f.Path)
}

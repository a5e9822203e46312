package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// loaded returns a skill in a folder "a" with the given SKILL.md.
func loaded(text string) *Skill {
	return Load(&Bundle{Path: "x/a", Entry: MainFile, FS: fstest.MapFS{MainFile: {Data: []byte(text)}}})
}

func TestLoad(t *testing.T) {
	long := strings.Repeat("é", MaxDescription)
	for _, c := range []struct {
		block, name, description string
		available, published     bool
		problems                 []string
	}{
		{"name: a\ndescription: b", "a", "b", true, true, nil},
		{"name: ' a'\ndescription: ' b '", "a", "b", true, false, []string{"name-pattern@2:7 name: name has white space around it | write name: a"}},
		{"name: 8004\ndescription: b", "8004", "b", true, false, []string{
			"name-type@2:7 name: name is not a string in YAML; its text '8004' is used | quote the name",
			"name-folder@2:7 name: the folder is called 'a', not '8004' | rename the folder to '8004'"}},
		{"name: CI/CD Pipeline\ndescription: b", "CI/CD Pipeline", "b", true, false, []string{
			"name-pattern@2:7 name: 'CI/CD Pipeline' is not made of a-z, 0-9 and single inner hyphens | write name: a",
			"name-folder@2:7 name: the folder is called 'a', not 'CI/CD Pipeline' | write name: a"}},
		{"name: b\ndescription: b", "b", "b", true, true, []string{"name-folder@2:7 name: the folder is called 'a', not 'b' | rename the folder to 'b'"}},
		{"description: b", "", "b", false, false, []string{"name-missing@2:1 name: name is missing | add a line name: a"}},
		{"Name: a\ndescription: b", "", "b", false, false, []string{"name-missing@2:1 name: name is missing; the key 'Name' is a different key | write the key in lower case: name:"}},
		{"name:\ndescription: b", "", "b", false, false, []string{"name-missing@2:6 name: name is empty | write name: a"}},
		{"name: \"\\u202e \"\ndescription: b", "", "b", false, false, []string{"name-missing@2:7 name: name is empty | write name: a"}},
		{"name: [a]\ndescription: b", "", "b", false, false, []string{"name-syntax@2:7 name: name is not a text | write one line name: a"}},
		{"name: \"a\\0\"\ndescription: b", "", "b", false, false, []string{"name-control@2:7 name: name contains a control character or line break | delete it"}},
		{"name: \"a\\Lb\"\ndescription: b", "", "b", false, false, []string{"name-control@2:7 name: name contains a control character or line break | delete it"}},
		{"name: a", "a", "", false, false, []string{"description-missing@2:1 description: description is missing | add a line description: that says what the skill does and when to use it"}},
		{"name: a\ndescription: ''", "a", "", false, false, []string{"description-missing@3:14 description: description is empty | say in one or two sentences what the skill does and when to use it"}},
		{"name: a\ndescription: [b, c]", "a", "b, c", true, false, []string{"description-type@3:14 description: description is not a string in YAML; its text is used | quote the description"}},
		{"name: a\ndescription: " + long, "a", long, true, true, nil},
		{"name: a\ndescription: " + long + "x", "a", long + "x", true, false, []string{"description-length@3:14 description: description has 1025 characters, over the limit of 1024 | move detail into the body"}},
		{"name: a\ndescription: b\ncompatibility: ''", "a", "b", true, false, []string{"compatibility@4:16 compatibility: compatibility is not a string of 1 to 500 characters | write one line of text"}},
		{"name: a\ndescription: b\nmetadata:\n  v: 1\n  w: x\n  y: true\n  z: [b]", "a", "b", true, false, []string{
			"metadata@5:6 metadata: the value of metadata.v is not a string | put the value in quotes: v: '1'",
			"metadata@7:6 metadata: the value of metadata.y is not a string | put the value in quotes: y: 'true'",
			"metadata@8:6 metadata: the value of metadata.z is not a string | write it as one text in quotes",
		}},
		{"name: a\ndescription: b\nmetadata: x", "a", "b", true, false, []string{"metadata@4:11 metadata: metadata is not a mapping | write metadata as key: 'value' lines, or delete it"}},
		{"name: a\ndescription: b\nallowed-tools: [Read, 'Bash(a, b)']\nunknown: {x: 1}", "a", "b", true, true, nil},
	} {
		s := loaded("---\n" + c.block + "\n---\n")
		got := fmt.Sprintf("%q %q %v %v", s.Name, s.Description, s.Available, s.Publishable)
		difftest.Same(t, got, fmt.Sprintf("%q %q %v %v", c.name, c.description, c.available, c.published), c.block)
		difftest.Same(t, said(s.Problems), c.problems, c.block)
	}
}

func TestInvocable(t *testing.T) {
	for field, want := range map[string][2]bool{
		"x: y": {true, true}, "disable-model-invocation: true": {false, true}, "disable-model-invocation: 'True'": {false, true}, "disable-model-invocation: yes": {false, true}, "disable-model-invocation: On": {false, true}, "Disable-Model-Invocation: true": {false, true},
		"disable_model_invocation: true": {false, true}, "disable-model-invocation: maybe": {false, true}, "disable-model-invocation: [x]": {false, true},
		"disable-model-invocation: no": {true, true}, "disable-model-invocation:": {true, true}, "user-invocable: no": {true, false}, "User-Invocable: 'off'": {true, false},
		"user-invocable: maybe": {true, true},
		// An empty value has no effect, and zero means no in any notation.
		"disable-model-invocation: {}": {true, true}, "disable-model-invocation: []": {true, true}, "disable-model-invocation: ''": {true, true}, "disable-model-invocation: ~": {true, true},
		"disable-model-invocation: 0": {true, true}, "disable-model-invocation: 0.0": {true, true}, "disable-model-invocation: -0e5": {true, true}, "disable-model-invocation: 0x0": {true, true}, "disable-model-invocation: none": {true, true},
		"disable-model-invocation: 1": {false, true}, "disable-model-invocation: 0.1": {false, true}, "disable-model-invocation: .nan": {false, true}, "disable-model-invocation: {a: 0}": {false, true}, "disable-model-invocation: 'true '": {false, true},
		"user-invocable: {}": {true, true}, "user-invocable: ''": {true, true}, "user-invocable: 0.0": {true, false}, "user-invocable: none": {true, false},
		"disable-model-invocation:true": {false, true}, "Disable-Model-Invocation:true": {false, true}, "user-invocable:false": {true, false}, // no space after the colon
		"disable-model-invocation: false": {true, true}, "user-invocable: false": {true, false}, "user-invocable: \"FALSE\"": {true, false}, "user-invocable: true": {true, true}, "user-invocable: [false]": {true, true},
	} {
		s := loaded("---\nname: a\ndescription: b\n" + field + "\n---\n")
		difftest.Same(t, [2]bool{s.ModelInvocable, s.UserInvocable}, want, field)
	}
}

// TestInvocationIsSaid checks that the message has the value as written, and how knack reads it.
func TestInvocationIsSaid(t *testing.T) {
	for field, want := range map[string][2]string{
		"disable-model-invocation: true":   {"disable-model-invocation: true", ""},
		"disable-model-invocation: false":  {"", ""},
		"disable-model-invocation: maybe":  {"disable-model-invocation: maybe", "4:27 disable-model-invocation is maybe, which is neither true nor false: knack treats it as true, and clients differ (write disable-model-invocation: true)"},
		"disable-model-invocation: 'true'": {"disable-model-invocation: 'true'", "4:27 disable-model-invocation is 'true', which is neither true nor false: knack treats it as true, and clients differ (write disable-model-invocation: true)"},
		"disable-model-invocation: [x]":    {`disable-model-invocation: ["x"]`, `4:27 disable-model-invocation is ["x"], which is neither true nor false: knack treats it as true, and clients differ (write disable-model-invocation: true)`},
		"disable-model-invocation: {}":     {"", "4:27 disable-model-invocation is {}, which is neither true nor false: knack treats it as false, and clients differ (write disable-model-invocation: false)"},
		"disable-model-invocation: 0.0":    {"", "4:27 disable-model-invocation is 0.0, which is neither true nor false: knack treats it as false, and clients differ (write disable-model-invocation: false)"},
		"disable-model-invocation: none":   {"", "4:27 disable-model-invocation is none, which is neither true nor false: knack treats it as false, and clients differ (write disable-model-invocation: false)"},
		"Disable_Model_Invocation: true":   {"Disable_Model_Invocation: true", "4:1 the key 'Disable_Model_Invocation' is read as disable-model-invocation; other clients do not know it (write disable-model-invocation: true)"},
		"user-invocable: ''":               {"", "4:17 user-invocable is '', which is neither true nor false: knack treats it as true, and clients differ (write user-invocable: true)"},
	} {
		s := loaded("---\nname: a\ndescription: b\n" + field + "\n---\n")
		said := ""
		for _, p := range s.Problems {
			if p.Rule == frontmatter.Invocation {
				said += p.Position.String() + " " + p.Message + " (" + p.Fix + ")"
			}
		}
		difftest.Same(t, [2]string{s.Disabled, said}, want, field)
	}
}

// TestEmptyByComment checks the message about a value that YAML reads as a comment, which its
// author did not mean.
func TestEmptyByComment(t *testing.T) {
	for block, want := range map[string]string{
		"name: a\ndescription: #1 tool, use it": "3:14 description is empty: a # begins a comment | put the value in quotes: description: '…'",
		"name: #a\ndescription: d":              "2:7 name is empty: a # begins a comment | write name: a",
		"name: a\ndescription:":                 "3:13 description is empty | say in one or two sentences what the skill does and when to use it",
	} {
		b := &Bundle{Path: "a", Entry: MainFile}
		problems := (&Skill{Bundle: b}).Parsed(fenced(block), Stamp{}).Problems
		got := ""
		for _, p := range problems {
			if p.Rule == frontmatter.NameMissing || p.Rule == frontmatter.DescriptionMissing {
				got += p.Position.String() + " " + p.Message + " | " + p.Fix
			}
		}
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", block, got, want)
		}
	}
}

// TestLoadFaults checks that every failure to read a file has a reason and a fix.
func TestLoadFaults(t *testing.T) {
	file := func(text string) fs.FS { return fstest.MapFS{"SKILL.md": {Data: []byte(text)}} }
	for _, c := range []struct {
		b    *Bundle
		want RuleID
	}{
		{&Bundle{FS: file(""), Extra: &Extra{Others: []string{"sKiLl.md"}}}, frontmatter.FileName},
		{&Bundle{Entry: MainFile, FS: file(""), Extra: &Extra{Fault: fmt.Errorf("link: %w", ErrOutside)}}, frontmatter.FileOutside},
		{&Bundle{Entry: MainFile, FS: file(""), Extra: &Extra{Fault: ErrNotRegular}}, frontmatter.FileNotRegular},
		{&Bundle{Entry: MainFile, FS: fstest.MapFS{"SKILL.md": {Mode: fs.ModeNamedPipe}}}, frontmatter.FileNotRegular},
		{&Bundle{Entry: MainFile, FS: fstest.MapFS{}}, frontmatter.FileGone},
		{&Bundle{Entry: MainFile, FS: file(""), Extra: &Extra{Fault: fs.ErrPermission}}, frontmatter.FilePermission},
		{&Bundle{Entry: MainFile, FS: file(strings.Repeat("x", MaxSkillMD+1))}, frontmatter.FileTooLarge},
		{&Bundle{Entry: MainFile, FS: file(""), Extra: &Extra{Fault: ErrUnstable}}, frontmatter.FileUnstable},
		{&Bundle{Entry: MainFile, FS: file(""), Extra: &Extra{Fault: errors.New("disk on fire")}}, frontmatter.FileUnreadable},
		{&Bundle{Entry: MainFile, FS: file("\xff")}, frontmatter.FileEncoding},
		{&Bundle{Entry: MainFile, FS: file("")}, frontmatter.FileEmpty},
	} {
		s := Load(c.b)
		p, ok := s.SkipReason()
		if !ok || s.Available || s.Publishable || p.Rule != c.want || p.Message == "" || p.Fix == "" || s.Frontmatter != nil {
			t.Errorf("%s: available %v: %+v", c.want, s.Available, s.Problems)
		}
	}
}

func TestSpellings(t *testing.T) {
	text := &fstest.MapFile{Data: []byte("---\nname: a\ndescription: b\n---\n")}
	s := Load(&Bundle{Path: "a", Entry: "skill.md", FS: fstest.MapFS{"skill.md": text, "SKILL.MD": {}}, Extra: &Extra{Others: []string{"SKILL.MD"}}})
	difftest.Same(t, said(s.Problems), []string{
		"file-spelling@ the file is spelt skill.md | rename it to SKILL.md",
		"file-variants@ the folder also contains SKILL.MD, which is not read | delete or rename it"}, "problems")
	if !s.Available || !s.Publishable || s.Size != int32(len(text.Data)) || s.Digest != DigestOf(text.Data) {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{MainFile, "skill.md"} {
		if data, _, err := s.ReadServed(name, MaxFile); err != nil || string(data) != string(text.Data) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

func TestRead(t *testing.T) {
	files := fstest.MapFS{MainFile: {Data: []byte("no frontmatter")}}
	s := Load(&Bundle{Entry: MainFile, FS: files})
	if data, stamp, err := s.Read(); string(data) != "no frontmatter" || stamp.Size != 14 || err != nil {
		t.Errorf("%q, %+v, %v", data, stamp, err)
	}
	files[MainFile] = &fstest.MapFile{Data: []byte("\xff")}
	if _, _, err := s.Read(); !errors.Is(err, ErrNotUTF8) {
		t.Errorf("not UTF-8: %v", err)
	}
	s.Extra = &Extra{Fault: ErrOutside}
	if _, _, err := s.Read(); !errors.Is(err, ErrOutside) {
		t.Errorf("a fault: %v", err)
	}
}

// TestBundleIsShared checks that a skill shares its bundle with the source, and does not
// change it if the file has another stamp when it is read.
func TestBundleIsShared(t *testing.T) {
	scanned := Stamp{Size: 3}
	b := &Bundle{Path: "a", Entry: MainFile, Stamp: scanned, FS: fstest.MapFS{MainFile: {Data: []byte("one"), ModTime: time.Unix(0, 1)}}}
	if s := (&Skill{Bundle: b}).Parsed([]byte("one"), scanned); s.Bundle != b {
		t.Error("a skill has a bundle of its own without need")
	}
	later := Stamp{Size: 3, MTime: 1}
	for how, s := range map[string]*Skill{"loaded": Load(b), "parsed": (&Skill{Bundle: b}).Parsed([]byte("one"), later)} {
		if s.Stamp != later || s.Path != "a" || b.Stamp != scanned {
			t.Errorf("%s: %+v, and the bundle %+v", how, s.Bundle, b)
		}
	}
}

// TestRules checks that the table of rules is complete: its ids are unique, each rule has its
// texts, and a rule that skips also unpublishes.
func TestRules(t *testing.T) {
	for _, r := range rules {
		if r.ID == "" || r.Title == "" || r.Source == "" || r.Severity == "" || r.Skips && (!r.Unpublishes || r.Severity != SeverityError) || RuleOf(r.ID) != r {
			t.Errorf("%+v", r)
		}
	}
	if len(ruleByID) != len(rules) {
		t.Errorf("%d rules, %d ids", len(rules), len(ruleByID))
	}
	difftest.Same(t, RuleOf("x"), Rule{ID: "x", Severity: SeverityWarning}, "unknown")
}

func TestParsedAllocates(t *testing.T) {
	if alloctest.Raced {
		t.Skip("the race detector allocates")
	}
	data := fenced("name: a\ndescription: Does a thing. Use it when the thing is to be done.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n")
	s := &Skill{Bundle: &Bundle{Path: "a", Entry: MainFile}}
	// The allocations are for the skill, its document, its frontmatter, two lists of fields, and
	// the judging.
	if n := alloctest.Least(100, func() { s.Parsed(data, Stamp{}) }); n > 7 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkParsed(b *testing.B) {
	data := append(fenced("name: a\ndescription: Does a thing. Use it when the thing is to be done, or somebody asks for it.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n  author: me\n"), strings.Repeat("A line of the body of the skill.\n", 180)...)
	s := &Skill{Bundle: &Bundle{Path: "a", Entry: MainFile}}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s.Parsed(data, Stamp{})
	}
}

func BenchmarkLoad(b *testing.B) {
	data := append(fenced("name: a\ndescription: Does a thing."), strings.Repeat("A line of the body of the skill.\n", 180)...)
	bundle := &Bundle{Path: "a", Entry: MainFile, FS: fstest.MapFS{MainFile: {Data: data}}}
	b.ReportAllocs()
	for b.Loop() {
		Load(bundle)
	}
}

// TestSkillIsSmall checks the size of a Skill, since there are many. Another field, or another
// order of fields, can cost more than the field's size, since the allocator has classes of 144 and
// 160 bytes.
func TestSkillIsSmall(t *testing.T) {
	if n := reflect.TypeFor[Skill]().Size(); n > 144 {
		t.Errorf("a skill takes %d bytes, not 144", n)
	}
}

package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/source/dir"
)

// fails is a folder in which opening any file fails.
type fails struct{ err error }

func (f fails) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
}

// restless is a folder whose SKILL.md has a different modification time each time it is checked.
type restless struct {
	fstest.MapFS
	looks *int64
}

func (r restless) Open(name string) (fs.File, error) {
	f, err := r.MapFS.Open(name)
	return restlessFile{f, r.looks}, err
}

type restlessFile struct {
	fs.File
	looks *int64
}

func (f restlessFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	*f.looks++
	return later{info, time.Unix(*f.looks, 0)}, err
}

type later struct {
	fs.FileInfo
	at time.Time
}

func (l later) ModTime() time.Time { return l.at }

func fileOf(text string) fstest.MapFS { return fstest.MapFS{"SKILL.md": {Data: []byte(text)}} }

func named(name string) string { return "---\nname: " + name + "\ndescription: Use when asked.\n---\n" }

// textRules lists the rules of package skill about the text of SKILL.md, each with a text that
// breaks it and a similar text that does not.
var textRules = map[skill.RuleID]struct{ bad, good string }{
	frontmatter.FileTooLarge: {sound + strings.Repeat("x", skill.MaxSkillMD), sound + strings.Repeat("x", skill.MaxSkillMD-len(sound))},
	frontmatter.FileEncoding: {with("", "caf\xe9"), with("", "caf\u00e9")},
	frontmatter.FileEmpty:    {" \n", sound},
	frontmatter.TextBOM:      {"\ufeff" + sound, sound},
	frontmatter.TextControl:  {with("", "a\x1bb"), with("", "a\tb\r\nc")},

	frontmatter.FenceMissing:  {"# Git\n", sound},
	frontmatter.FenceOpener:   {"name: git\ndescription: d\n---\n", sound},
	frontmatter.FenceUnclosed: {"---\nname: git\ndescription: d\n", "---\nname: git\ndescription: d\n---"},
	frontmatter.FenceTooLong:  {with("x: "+strings.Repeat("x", frontmatter.MaxSize)+"\n", ""), with("x: "+strings.Repeat("x", frontmatter.MaxSize-100)+"\n", "")},
	frontmatter.FenceLate:     {"\n" + sound, sound + "\n---\n"},
	frontmatter.FenceBlanks:   {"--- \nname: git\ndescription: d\n---\n", "---\nname: git\ndescription: d\n--- \n"},
	frontmatter.FenceGlued:    {"---\nname: git\ndescription: d\n---# Git\n", "---\nname: git\ndescription: d\n---\n---# Git\n"},

	frontmatter.YAMLSyntax:    {with("a: b: c\n", ""), with("a: b:c\n", "")},
	frontmatter.YAMLControl:   {with("a: \x00\n", ""), with("", "\x00")},
	frontmatter.YAMLDuplicate: {with("name: git\n", ""), with("metadata:\n  name: git\n", "")},
	frontmatter.YAMLKeyType:   {with("1: a\n", ""), with("'1': a\n", "")},
	frontmatter.YAMLNotJSON:   {with("a: .nan\n", ""), with("a: nan\n", "")},
	frontmatter.YAMLMapping:   {"---\n- name: git\n---\n", sound},

	frontmatter.NameMissing: {"---\ndescription: d\n---\n", named("git")},
	frontmatter.NameSyntax:  {named("a: b"), named("'a: b'")},
	frontmatter.NameControl: {named("\"a\\tb\""), named("\"a b\"")},
	frontmatter.NameType:    {named("8004"), named("'8004'")},
	frontmatter.NamePattern: {named("my--git"), named("my-git")},
	frontmatter.NameLength:  {named(strings.Repeat("x", 65)), named(strings.Repeat("x", 64))},
	frontmatter.NameFolder:  {named("Git"), named("git")},

	frontmatter.DescriptionMissing: {"---\nname: git\ndescription: ''\n---\n", described("d")},
	frontmatter.DescriptionType:    {described("42"), described("'42'")},
	frontmatter.DescriptionLength:  {described(strings.Repeat("é", 1025)), described(strings.Repeat("é", 1024))},
	frontmatter.Compatibility:      {with("compatibility: ["+strings.Repeat("x", 500)+"]\n", ""), with("compatibility: "+strings.Repeat("x", 500)+"\n", "")},
	frontmatter.Invocation:         {with("disable-model-invocation: yes\n", ""), with("disable-model-invocation: true\nuser-invocable: false\n", "")},
	frontmatter.Metadata:           {with("metadata:\n  version: 1.0\n", ""), with("metadata:\n  version: '1.0'\n", "")},
}

// bundleRules lists the rules of package skill about the folder, each with a folder that breaks it
// and one that does not.
var bundleRules = map[skill.RuleID]struct{ bad, good *skill.Bundle }{
	frontmatter.FileOutside:    {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fstest.MapFS{}, Extra: &skill.Extra{Fault: skill.ErrOutside}}, bundleOf(fileOf(sound), "git")},
	frontmatter.FileNotRegular: {bundleOf(fstest.MapFS{"SKILL.md": {Mode: fs.ModeNamedPipe}}, "git"), bundleOf(fileOf(sound), "git")},
	frontmatter.FileGone:       {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{fs.ErrNotExist}}, bundleOf(fileOf(sound), "git")},
	frontmatter.FilePermission: {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{fs.ErrPermission}}, bundleOf(fileOf(sound), "git")},
	frontmatter.FileUnreadable: {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{syscall.EIO}}, &skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{fs.ErrPermission}}},
	frontmatter.FileUnstable:   {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: restless{fileOf(sound), new(int64)}}, bundleOf(fileOf(sound), "git")},
	frontmatter.HeldBack:       {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{&skill.HeldError{Message: "held back: not approved", Fix: "approve it"}}}, bundleOf(fileOf(sound), "git")},
	frontmatter.FileLocked:     {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{&skill.LockError{Message: "not locked", Fix: "lock it"}}}, bundleOf(fileOf(sound), "git")},
	frontmatter.StoreDamaged:   {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{&skill.StoreError{Damaged: true, Message: "damaged", Fix: "wait"}}}, bundleOf(fileOf(sound), "git")},
	frontmatter.StoreRefused:   {&skill.Bundle{Path: "git", Entry: "SKILL.md", FS: fails{&skill.StoreError{Message: "a link", Fix: "tell the author"}}}, bundleOf(fileOf(sound), "git")},
	frontmatter.FileName:       {bundleOf(fstest.MapFS{"sKILL.md": {Data: []byte(sound)}}, "git"), bundleOf(fstest.MapFS{"skill.md": {Data: []byte(sound)}}, "git")},
	frontmatter.FileSpelling:   {bundleOf(fstest.MapFS{"skill.md": {Data: []byte(sound)}}, "git"), bundleOf(fileOf(sound), "git")},
	frontmatter.FileVariants:   {bundleOf(fstest.MapFS{"SKILL.md": {Data: []byte(sound)}, "skill.md": {}}, "git"), bundleOf(fstest.MapFS{"SKILL.md": {Data: []byte(sound)}, "skills.md": {}}, "git")},
	frontmatter.FolderName:     {&skill.Bundle{Path: "a\\b/git", Entry: "SKILL.md", FS: fileOf(sound)}, &skill.Bundle{Path: "a b/g\\t", Entry: "SKILL.md", FS: fileOf(sound)}},
}

// TestSkillRules checks that each rule of package skill produces its finding.
func TestSkillRules(t *testing.T) {
	try := func(id skill.RuleID, bad, good *skill.Bundle) {
		got := found(load(t.Context(), bad), id)
		if len(got) == 0 {
			t.Errorf("%s: does not find what breaks it", id)
			return
		}
		if f, want := got[0], skill.RuleOf(id); f.Severity != want.Severity || f.Message == "" || f.Fix == "" {
			t.Errorf("%s: incomplete: %+v", id, f)
		}
		if got := found(load(t.Context(), good), id); len(got) > 0 {
			t.Errorf("%s: finds %+v in what is sound", id, got)
		}
	}
	for id, c := range textRules {
		try(id, bundleOf(fileOf(c.bad), "git"), bundleOf(fileOf(c.good), "git"))
	}
	for id, c := range bundleRules {
		try(id, c.bad, c.good)
	}
}

// TestEveryRuleIsTested checks that every rule has a test with an example that breaks it and one
// that does not, and that every rule that --fix repairs has a test of the fix. It fails for a new
// rule until these tests exist.
func TestEveryRuleIsTested(t *testing.T) {
	tested := map[skill.RuleID]bool{
		// TestFileRules, TestFilesIncomplete, TestLimits, TestDuplicate, and TestJudge of package doctor
		ruleFileWindows: true, ruleFileCase: true, ruleSizeFile: true, frontmatter.FilesMany: true, frontmatter.FilesLarge: true, ruleFilesIncomplete: true, ruleNameDuplicate: true, ruleURIName: true,
	}
	for _, c := range ruleCases {
		tested[c.rule] = len(c.bad) > 0 && len(c.good) > 0
	}
	for id, c := range textRules {
		tested[id] = c.bad != "" && c.good != ""
	}
	for id := range bundleRules {
		tested[id] = true
	}
	for _, r := range dir.Rules {
		tested[r.ID] = scanTests(t)[r.ID] // those tests compare all notices, so a rule that is not in a list has no finding there
	}
	for _, r := range plugin.Rules {
		tested[skill.RuleID(r.ID)] = true // TestCheckPlugins of package cli requires it
	}
	for _, r := range scan.Rules {
		tested[r.ID] = r.Fires() != "" && r.Quiet() != "" // TestScanned
	}
	for _, r := range Rules {
		if !tested[r.ID] {
			t.Errorf("%s: no test breaks it, or none keeps it", r.ID)
		}
	}
	fixed := map[skill.RuleID]bool{}
	for _, c := range fixes {
		fixed[c.rule] = true
	}
	script, err := os.ReadFile("../../cli/testdata/script/check_fix.txtar")
	if err != nil {
		t.Fatal(err)
	}
	// The command renames the file, so the text has no fix.
	near, err := os.ReadFile("../../cli/testdata/script/check_near.txtar")
	if err != nil {
		t.Fatal(err)
	}
	named := []skill.RuleID{frontmatter.FileSpelling, frontmatter.FileName, "near-miss"}
	for _, id := range named {
		fixed[id] = strings.Contains(string(script), `renamed to SKILL.md \[`+string(id)+`\]`) || strings.Contains(string(near), "renamed to SKILL.md ["+string(id)+"]")
	}
	for _, id := range append(fixableRules(t), named...) {
		if !fixed[id] {
			t.Errorf("%s: no test of its fix", id)
		}
	}
}

// scanTests returns the rules of the notices that the tests of source/dir expect.
func scanTests(t *testing.T) map[skill.RuleID]bool {
	t.Helper()
	files, err := filepath.Glob("../../../source/dir/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the source: %v", err)
	}
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	out := map[skill.RuleID]bool{}
	for _, r := range dir.Rules {
		out[r.ID] = strings.Contains(text.String(), " "+string(r.ID)+`"`) || strings.Contains(text.String(), " "+string(r.ID)+" ")
	}
	out["notices-cut"] = strings.Contains(text.String(), "ruleNoticesCut")
	out["folder-unreadable"] = strings.Contains(text.String(), "folder-unreadable]")
	return out
}

// fixableRules returns the rules for which the source code of candidates has a fix.
func fixableRules(t *testing.T) (out []skill.RuleID) {
	t.Helper()
	ids := map[string]skill.RuleID{}
	for _, file := range []string{"rules.go", "../../../skill/frontmatter/ruleid.go"} {
		ast.Inspect(parsed(t, file), func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					id, _ := strconv.Unquote(lit.Value)
					ids[v.Names[0].Name] = skill.RuleID(id)
				}
			}
			return true
		})
	}
	for _, d := range parsed(t, "fix_candidates.go").Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "candidates" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && ids[name.Name] != "" {
				out = append(out, ids[name.Name])
			}
			return true
		})
	}
	if len(out) < 11 {
		t.Errorf("only %q have fixes: is candidates still the function that proposes them?", out)
	}
	return out
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

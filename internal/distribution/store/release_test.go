package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

// digestOf returns the digest of a text, in the form that releases have.
func digestOf(text string) string { return skill.DigestOf([]byte(text)).String() }

// release records a release with skills in the folders a, b and so on.
func release(t *testing.T, s *Store, name string, skills ...Skill) Release {
	t.Helper()
	r := Release{Digest: digestOf(name), At: s.o.Now().UTC().Truncate(time.Second)}
	for i, k := range skills {
		r.Skills = append(r.Skills, Member{Path: string(rune('a' + i)), Skill: k.Digest})
	}
	if err := s.Record(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "knack")
	s := open(t, dir, Options{})
	if _, err := s.Release(digestOf("1")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := s.Head("oci://x.example/y:prod"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := s.SetHead("oci://x.example/y:prod", Head{Release: digestOf("1")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a head without a release: %v", err)
	}
	missing := Release{Digest: digestOf("1"), Skills: []Member{{Path: "a"}}}
	if err := s.Record(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a release without its skill: %v", err)
	}
	k := put(t, s, "SKILL.md")
	r := Release{
		Digest: digestOf("1"), Revision: "oci:" + digestOf("1"),
		Layers: []string{digestOf("layer")}, At: time.Now().UTC(),
		Skills: []Member{{Path: ".", Skill: k.Digest}, {Path: "bad", Fault: "a \"link\"\n\xff\tin it"}, k.Member("good")},
	}
	if err := s.Record(r); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, Options{})
	got, err := again.Release(r.Digest)
	if diff := cmp.Diff(r, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	h := Head{Release: r.Digest, Previous: digestOf("0"), Since: r.At, Judged: Judged{Version: "1.2.0", Signer: "key:ab", Signature: "signed"}, Highest: map[string]string{"": "1.2.0"}}
	for range 2 {
		if err := s.SetHead("oci://x.example/y:prod", h); err != nil {
			t.Fatal(err)
		}
	}
	h.Source = "oci://x.example/y:prod"
	now, err := again.Head(h.Source)
	if diff := cmp.Diff(h, now); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := os.Stat(s.Folder(k.Digest)); err != nil {
		t.Error(err)
	}
	r.Skills = append(r.Skills, r.Skills[0])
	if err := s.Record(r); err == nil || !strings.Contains(err.Error(), "two skills in .") {
		t.Error(err)
	}
	r.Digest = "1.2.0"
	if err := s.Record(r); err == nil {
		t.Error("a release without a digest")
	}
}

// reseal gives a changed record the digest of its new text.
func reseal(record string) string {
	_, text, _ := strings.Cut(record, "\n")
	return digestOf(text) + "\n" + text
}

// TestFlippedRecord checks that a changed byte in any record is found. A release or a layer then
// counts as missing, and a head returns an error. Recording each again replaces it.
func TestFlippedRecord(t *testing.T) {
	const source = "oci://x.example/y:prod"
	dir := filepath.Join(t.TempDir(), "knack")
	s := open(t, dir, Options{})
	k := put(t, s, "SKILL.md")
	l, r := layer(t, s, "layer", k), release(t, s, "1", k)
	h := Head{Release: r.Digest, Highest: map[string]string{"": "1.4.0"}}
	if err := s.SetHead(source, h); err != nil {
		t.Fatal(err)
	}
	ofLayer, _ := s.layerFile(l.Digest)
	ofRelease, _ := s.releaseFile(r.Digest)
	for at, old := range map[string]string{ofLayer: "\ta\t", ofRelease: "\ta\t", s.headFile(source): "1.4."} {
		whole, err := os.ReadFile(at)
		if err != nil || !strings.Contains(string(whole), old) {
			t.Fatal(at, string(whole), err)
		}
		flipped := strings.Replace(string(whole), old, strings.NewReplacer("a", "b", "4", "3").Replace(old), 1)
		if err := os.WriteFile(at, []byte(flipped), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, dir, Options{})
	if got, err := again.Layer(l.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := again.Release(r.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := again.Head(source); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is damaged: remove heads/") {
		t.Errorf("%v, %v", got, err)
	}
	layer(t, again, "layer", k)
	if _, err := again.Layer(l.Digest); err != nil {
		t.Error(err)
	}
	if err := again.Record(r); err != nil {
		t.Error(err)
	}
	if err := again.SetHead(source, h); err != nil {
		t.Error(err)
	}
	if got, err := again.Head(source); err != nil || got.Highest[""] != "1.4.0" {
		t.Error(got, err)
	}
}

// TestDamagedRecord checks that a record counts as missing if a crash has cut it, or if it is the
// record of something else.
func TestDamagedRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "knack")
	s := open(t, dir, Options{})
	r := release(t, s, "1", put(t, s, "SKILL.md"))
	at, _ := s.releaseFile(r.Digest)
	whole, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	digits := strings.TrimPrefix(r.Skills[0].Skill.String(), "sha256:")
	for name, text := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)/2]), "zeros": strings.Repeat("\x00", len(whole)),
		"another": reseal(strings.Replace(string(whole), r.Digest, digestOf("2"), 1)),
		"a path":  reseal(strings.Replace(string(whole), "\ta\t", "\t../a\t", 1)),
		"a skill": reseal(strings.Replace(string(whole), digits, digits[:62], 1)),
		"digits":  reseal(strings.Replace(string(whole), digits, digits[:63]+"g", 1)),
		"neither": reseal(strings.Replace(string(whole), digits, "", 1)),
		"a main":  reseal(strings.Replace(string(whole), "\t\ta\t", "\tSKILL.md\ta\t", 1)),
		"a fault": reseal(strings.Replace(string(whole), "\ta\t", "\ta\t\"", 1)),
		"fields":  reseal(strings.Replace(string(whole), "\ta\t", "\ta\t\t", 1)),
		"fewer":   reseal(strings.Replace(string(whole), "\n1\n", "\n2\n", 1)),
		"more":    reseal(strings.Replace(string(whole), "\n1\n", "\n0\n", 1)),
		"many":    reseal(strings.Replace(string(whole), "\n1\n", "\n9223372036854775807\n", 1)),
		"none":    reseal(strings.Replace(string(whole), "\n1\n", "\n-1\n", 1)),
		"before":  reseal("\n" + strings.SplitAfter(string(whole), "\n")[1]), // the count and the lines are missing
		"a byte":  strings.Replace(string(whole), "\ta\t", "\tb\t", 1),
	} {
		if text == string(whole) {
			t.Fatal(name)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir, Options{})
		if got, err := again.Release(r.Digest); !errors.Is(err, fs.ErrNotExist) || !cmp.Equal(got, Release{}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := again.Record(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := again.Release(r.Digest); err != nil || !cmp.Equal(got, r) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// layer records a layer with one skill.
func layer(t *testing.T, s *Store, name string, k Skill) Layer {
	t.Helper()
	b := begin(t, s)
	defer b.Close()
	l := Layer{Digest: digestOf(name), Skills: []Member{{Path: "a", Skill: k.Digest}}}
	for range 2 {
		if err := b.Layer(l); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestLayer checks when a layer counts as stored. A skill that no recorded release names is hashed
// before. A recorded skill only needs its folder.
func TestLayer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "knack")
	s := open(t, dir, Options{})
	if _, err := s.Layer(digestOf("l")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	spoil := func(k Skill) {
		at := filepath.Join(s.Folder(k.Digest), "SKILL.md")
		if err := errors.Join(os.Chmod(at, 0o600), os.WriteFile(at, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	k := put(t, s, "SKILL.md")
	l := layer(t, s, "l", k)
	if got, err := s.Layer(l.Digest); err != nil || !cmp.Equal(got, l) {
		t.Errorf("%v, %v", got, err)
	}
	spoil(k)
	if _, err := s.Layer(l.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a hollow skill: %v", err)
	}
	if _, err := os.Lstat(s.Folder(k.Digest)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	release(t, s, "1", put(t, s, "SKILL.md"))
	spoil(k)
	again := open(t, dir, Options{})
	if _, err := again.Layer(l.Digest); err != nil {
		t.Errorf("a recorded skill was read: %v", err)
	}
	if err := again.Remove(k.Digest); err != nil {
		t.Error(err)
	}
	if err := again.Remove(k.Digest); err != nil {
		t.Error(err)
	}
	if _, err := again.Layer(l.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed skill: %v", err)
	}
}

// TestReleaseAllocations checks that reading the record of a release takes one allocation for each
// skill, for its path. A server that starts, and a pull without news, read that record.
func TestReleaseAllocations(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "knack"), Options{})
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	r := Release{Digest: digestOf("1"), At: time.Now().UTC()}
	for i := range n {
		d := skill.DigestOf(fmt.Append(nil, i))
		r.Skills = append(r.Skills, Member{Path: fmt.Sprintf("team/skill-%04d", i), Skill: d, Main: "SKILL.md", MainDigest: d})
	}
	at, _ := s.releaseFile(r.Digest)
	if err := s.keep(at, &r); err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(5, func() {
		if _, err := s.Release(r.Digest); err != nil {
			t.Fatal(err)
		}
	})
	if got > n+100 {
		t.Errorf("%.0f allocations for %d skills", got, n)
	} else {
		t.Logf("%.0f allocations for %d skills", got, n)
	}
}

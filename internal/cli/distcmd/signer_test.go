package distcmd

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// signing is a registry with releases of acme/skills, and the project of a user with trust rules.
type signing struct {
	*shell
	host string
	keys map[string]crypto.Signer
	ids  map[string]string // maps a name to the ID of its key
	said *strings.Replacer
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	s := &signing{shell: newShell(t), host: registrytest.Start(t).Host, keys: map[string]crypto.Signer{}, ids: map[string]string{}}
	a, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for name, key := range map[string]crypto.Signer{"a": a, "b": b} {
		s.keys[name] = key
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		s.put("home/.config/knack/"+name+".pub", string(public))
		parsed, err := trust.ParsePublic(name, public)
		if err != nil {
			t.Fatal(err)
		}
		s.ids[name] = parsed.ID
		said = append(said, parsed.ID, "KEY-"+name, trust.ShortID(parsed.ID), "key-"+name)
	}
	s.said = strings.NewReplacer(append(said, s.host, "HOST")...)
	return s
}

// rule writes the user's knack.yaml with a trust rule for the keys.
func (s *signing) rule(keys string, require bool) {
	text := "trust:\n  - from: oci://" + s.host + "/acme/**\n    keys: [" + keys + "]\n"
	if require {
		text += "    require: true\n"
	}
	s.put("home/.config/knack/knack.yaml", text)
}

// release pushes a release of one skill under the tag prod, and signs it with the given keys.
func (s *signing) release(text string, keys ...string) (digest string) {
	s.t.Helper()
	digest = registrytest.Release(s.t, s.host, "acme/skills", "prod", 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", text)}, nil)
	for _, name := range keys {
		s.sign(digest, digest, name)
	}
	return digest
}

func (s *signing) sign(beside, about, key string) {
	s.t.Helper()
	bundle, err := trust.Sign(s.keys[key], about)
	if err != nil {
		s.t.Fatal(err)
	}
	registrytest.Attach(s.t, s.host, "acme/skills", beside, trust.Bundle, bundle)
}

// expect runs a command, and checks its status, a part of its output, and the signer in the lock.
func (s *signing) expect(status int, want, signer string, args ...string) {
	s.t.Helper()
	for i, a := range args {
		if a == "SOURCE" {
			args[i] = "oci://" + s.host + "/acme/skills:prod"
		}
	}
	stdout, stderr, got := s.run(args...)
	text := s.said.Replace(stdout + stderr)
	if got != status || !strings.Contains(text, want) {
		s.t.Errorf("knack %s: status %d\n%s\nwant %d\n%s", strings.Join(args, " "), got, text, status, want)
	}
	if recorded := s.signer(); recorded != signer {
		s.t.Errorf("after knack %s, the signer in the lock is %q, want %q", strings.Join(args, " "), recorded, signer)
	}
}

// signer returns the signer in the lock.
func (s *signing) signer() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "p", "knack.lock"))
	_, after, _ := strings.Cut(string(data), `"signer": "`)
	id, _, _ := strings.Cut(after, `"`)
	return s.said.Replace(id)
}

// skill returns the last line of the installed skill.
func (s *signing) skill() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "p", ".agents", "skills", "pdf", "SKILL.md"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}

// TestSigners checks which releases update and add install as the signatures of a skill's releases
// change.
func TestSigners(t *testing.T) {
	s := newSigning(t)
	s.release("1")
	s.expect(0, "added pdf from oci://HOST/acme/skills (", "", "add", "SOURCE")
	s.release("2", "a")
	s.expect(0, "1 file, signed by a key that is not trusted here\n", "", "update")

	// Once the key is trusted, update records the signer of the installed skill, and then requires
	// it.
	s.rule("a.pub, b.pub", false)
	s.expect(0, "locked pdf from oci://HOST/acme/skills", "KEY-a", "update")
	s.expect(0, "1 skill up to date", "KEY-a", "update")
	s.release("3", "a")
	s.expect(0, "1 file, signed by key-a\n", "KEY-a", "update")
	s.release("4", "b")
	s.expect(1, "left pdf (.agents/skills/pdf): the lock says that key-a signed it, and now key-b does\n", "KEY-a", "update")
	s.expect(1, "if its publisher says so, --accept-signer takes it", "KEY-a", "update", "--check")
	s.expect(1, "and now key-b does\n", "KEY-a", "add", "SOURCE")
	if got := s.skill(); got != "3" {
		t.Errorf("the skill of another signer is installed: %s", got)
	}
	s.release("5", "b", "a") // both keys sign while one replaces the other
	s.expect(0, "signed by key-a\n", "KEY-a", "update")
	s.release("6", "b")
	s.expect(0, "1 file, signed by key-b, before by key-a\n", "KEY-b", "update", "--accept-signer")
	s.release("6a", "a", "b") // the locked signer is not the first key of the rule
	s.expect(0, "signed by key-b\n", "KEY-b", "update")
	s.release("7")
	s.expect(1, "left pdf (.agents/skills/pdf): the lock says that key-b signed it, and now it is not signed\n", "KEY-b", "update")
	s.expect(0, "1 file, not signed, before by key-b\n", "", "add", "SOURCE", "--accept-signer")

	// Without the trusted key, update still does not replace a release with a locked signer.
	s.release("8", "b")
	s.expect(0, "signed by key-b\n", "KEY-b", "update")
	s.put("home/.config/knack/knack.yaml", "")
	s.release("9", "b")
	s.expect(1, "the lock says that key-b signed it, and your knack.yaml has no key under trust to check that with\n", "KEY-b", "update")
	s.expect(0, "1 skill as locked", "KEY-b", "verify")
	if got := s.skill(); got != "8" {
		t.Errorf("a release that cannot be checked is installed: %s", got)
	}
}

// TestRequire checks that no command accepts an unsigned release if a rule requires a signature. It
// also checks that no command ever accepts an invalid signature.
func TestRequire(t *testing.T) {
	s := newSigning(t)
	const refusal = "is not signed, and ~/.config/knack/knack.yaml:2 takes only releases that a.pub signed\n"
	s.release("1")
	s.rule("a.pub", true)
	s.expect(1, refusal, "", "add", "SOURCE")
	s.expect(1, refusal, "", "add", "SOURCE", "--accept-signer")
	s.expect(1, "signature  none\n", "", "verify", "SOURCE")
	s.release("2", "b")
	s.expect(1, "is signed by another key than a.pub, and ~/.config/knack/knack.yaml:2 takes only releases that a.pub signed\n", "", "add", "SOURCE")

	// A skill that was locked before the rule existed is neither restored nor verified.
	s.put("home/.config/knack/knack.yaml", "")
	s.release("3")
	s.expect(0, "not signed\n", "", "add", "SOURCE")
	s.rule("a.pub", true)
	const locked = "pdf (.agents/skills/pdf): no signer is recorded for it, and ~/.config/knack/knack.yaml:2 takes only releases that a.pub signed\n"
	s.expect(1, "differs: "+locked, "", "verify")
	s.expect(1, "left "+locked, "", "sync")
	if err := os.RemoveAll(filepath.Join(s.dir, "p", ".agents")); err != nil {
		t.Fatal(err)
	}
	s.expect(1, "left "+locked, "", "sync")
	s.expect(1, refusal, "", "update")
	if s.skill() != "" {
		t.Error("sync or update wrote a skill that is not signed")
	}

	// Once a release is signed, update installs it, and sync restores the skill.
	digest := s.release("3", "a")
	s.expect(0, "restored pdf from oci://HOST/acme/skills (", "KEY-a", "update")
	s.expect(0, "1 skill as locked", "KEY-a", "verify")
	for _, offline := range []bool{true, false} {
		if err := os.RemoveAll(filepath.Join(s.dir, "p", ".agents")); err != nil {
			t.Fatal(err)
		}
		if !offline { // delete the store
			if err := os.RemoveAll(filepath.Join(s.dir, "home", ".cache")); err != nil {
				t.Fatal(err)
			}
			s.expect(0, "restored pdf from", "KEY-a", "sync")
			break
		}
		s.expect(0, "restored pdf from", "KEY-a", "sync", "--offline")
	}

	// The signer in the lock is no proof. Without the store, sync checks the signature of the
	// release.
	s.release("4")
	lock, err := os.ReadFile(filepath.Join(s.dir, "p", "knack.lock"))
	if err != nil {
		t.Fatal(err)
	}
	other := newSigning(t)
	other.host, other.said = s.host, s.said
	other.rule("a.pub", true) // a different pair of keys
	other.put("p/knack.lock", strings.Replace(string(lock), s.ids["a"], other.ids["a"], 1))
	other.expect(1, "is signed by another key than a.pub", other.ids["a"], "sync")

	// No command accepts the signature of another release, with or without rules.
	s.put("home/.config/knack/knack.yaml", "")
	moved := s.release("5")
	s.sign(moved, digest, "a")
	for _, args := range [][]string{{"add", "SOURCE"}, {"update"}, {"update", "--accept-signer"}, {"verify", "SOURCE"}} {
		s.expect(1, "has a signature that is of another release", "KEY-a", args...)
	}
	if got := s.skill(); got != "3" {
		t.Errorf("the skill with an invalid signature is installed: %s", got)
	}
}

// TestPinnedSigner checks that update records the signer of a pinned skill, which it does not move.
func TestPinnedSigner(t *testing.T) {
	s := newSigning(t)
	digest := s.release("1", "a")
	s.expect(0, "added pdf", "", "add", "oci://"+s.host+"/acme/skills@"+digest)
	s.expect(0, "pinned pdf", "", "update")
	s.rule("a.pub", true)
	s.expect(0, "locked pdf", "KEY-a", "update")
	s.expect(0, "pinned pdf", "KEY-a", "update")
}

// TestSameContentSigner checks that the lock names no signer for a revision that the signer did not
// sign, even if its files are the same.
func TestSameContentSigner(t *testing.T) {
	s := newSigning(t)
	s.rule("a.pub", false)
	tag := func(name string) string {
		return registrytest.Release(t, s.host, "acme/skills", name, 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "1")}, map[string]string{"for": name})
	}
	locked := func(digest string) {
		t.Helper()
		if data, err := os.ReadFile(filepath.Join(s.dir, "p", "knack.lock")); err != nil || !strings.Contains(string(data), digest) {
			t.Errorf("%v: the lock does not name %s\n%s", err, digest, data)
		}
	}
	first := tag("v1.0.0")
	s.sign(first, first, "a")
	s.expect(0, "signed by key-a\n", "KEY-a", "add", "oci://"+s.host+"/acme/skills:v1.0.0")
	second := tag("v1.1.0")
	s.expect(0, "1 skill up to date", "KEY-a", "update")
	locked(first)
	s.sign(second, second, "a")
	s.expect(0, "", "KEY-a", "update")
	locked(second)
}

// TestBrokenTrust checks that no skill is installed if the rules cannot be read.
func TestBrokenTrust(t *testing.T) {
	s := newSigning(t)
	s.release("1", "a")
	s.rule("none.pub", false)
	for _, args := range [][]string{{"add", "SOURCE"}, {"verify", "SOURCE"}, {"update"}, {"sync"}, {"verify"}} {
		s.expect(2, "~/.config/knack/knack.yaml:3:12: the key none.pub cannot be used: there is no such file", "", args...)
	}
	s.expect(1, "so no skill 'none' is installed", "", "remove", "none") // needs no trust rules
	s.put("home/.config/knack/knack.yaml", "truts: []\n")
	s.expect(2, "~/.config/knack/knack.yaml:1:1: there is no key 'truts'\ndid you mean trust?", "", "add", "SOURCE")
	s.put("mine.yaml", "trust:\n  - {from: \"**\", keys: [home/.config/knack/a.pub], require: true}\n")
	s.expect(0, "signed by key-a\n", "KEY-a", "add", "SOURCE", "--config", "../mine.yaml")
	s.expect(1, "a source of this kind has no signatures, as only registries have them, and ../mine.yaml:2 takes only releases that home/.config/knack/a.pub signed", "KEY-a", "add", "../src", "--skill", "xlsx", "--config", "../mine.yaml")
}

// TestSilentRegistry checks that a registry that does not list signatures causes a warning, or an
// error if a rule requires a signature.
func TestSilentRegistry(t *testing.T) {
	s := newSigning(t)
	s.release("1", "a")
	proxy := registrytest.NewProxy(t, s.host)
	proxy.Set(registrytest.If(func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/referrers/") || strings.Contains(r.URL.Path, "/manifests/sha256-")
	}, 1000, registrytest.Status(http.StatusForbidden)))
	source := "oci://" + proxy.Host + "/acme/skills:prod"
	stdout, stderr, status := s.run("add", source)
	if status != 0 || !strings.Contains(stdout, "not known whether it is signed") || !strings.Contains(stderr, "it is not known whether "+source+" is signed: ") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	real := s.host
	s.host = proxy.Host
	s.rule("a.pub", false)
	s.host = real
	if err := os.Remove(filepath.Join(s.dir, "p", "knack.lock")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status = s.run("add", source)
	if status != 3 || !strings.Contains(stderr, "it is not known whether "+source+" is signed: ") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// TestHiddenSignatures checks that a signature is found even if the registry's list lacks it or
// gives it another type.
func TestHiddenSignatures(t *testing.T) {
	s := newSigning(t)
	digest := s.release("1", "a")
	registrytest.Attach(t, s.host, "acme/skills", digest, "application/spdx+json", []byte("{}"))
	proxy := registrytest.NewProxy(t, s.host)
	tagged := func(kind string) (entry string) { // an entry of the index under the fallback tag
		r := httptest.NewRequest(http.MethodGet, "/v2/acme/skills/manifests/"+strings.Replace(digest, ":", "-", 1), nil)
		r.Header.Set("Accept", "application/vnd.oci.image.index.v1+json")
		answer := proxy.Answer(r)
		var index struct {
			Manifests []struct{ ArtifactType, Digest string }
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &index); err != nil {
			t.Fatal(err, answer.Code)
		}
		for _, m := range index.Manifests {
			if m.ArtifactType == kind {
				return fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"TYPE","digest":%q,"size":9}`, m.Digest)
			}
		}
		t.Fatal(answer.Body)
		return ""
	}
	signature, bill := tagged(trust.Bundle), tagged("application/spdx+json")
	typed := func(entry, kind string) string { return strings.Replace(entry, "TYPE", kind, 1) }
	real := s.host
	s.host = proxy.Host
	s.rule("a.pub", true)
	s.host = real
	for name, c := range map[string]struct {
		list   string
		tagged bool // the fallback tag exists
		signed bool
	}{
		"an empty list":          {"", true, true},
		"other types alone":      {typed(bill, "application/spdx+json"), true, true},
		"the configuration's":    {typed(bill, "application/spdx+json") + "," + typed(signature, "application/vnd.oci.empty.v1+json"), false, true},
		"no type":                {typed(signature, ""), false, true},
		"the configuration's, 2": {typed(signature, "application/vnd.oci.empty.v1+json"), true, true},
		"no signature":           {typed(bill, ""), false, false},
	} {
		requests := 0
		proxy.Set(func(w http.ResponseWriter, r *http.Request, _ *registrytest.Proxy, _ int) bool {
			requests++
			switch {
			case strings.Contains(r.URL.Path, "/referrers/"):
				w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
				fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}`, c.list)
				return true
			case !c.tagged && strings.HasSuffix(r.URL.Path, "/manifests/"+strings.Replace(digest, ":", "-", 1)):
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			return false
		})
		stdout, stderr, status := s.run("verify", "oci://"+proxy.Host+"/acme/skills:prod")
		if (status == 0) != c.signed || requests > 12 {
			t.Errorf("%s: status %d, %d requests\n%s%s", name, status, requests, stdout, stderr)
		}
	}
}

// TestVerifySource checks the JSON of verify for a release.
func TestVerifySource(t *testing.T) {
	s := newSigning(t)
	digest := s.release("1", "a", "b")
	s.rule("b.pub, a.pub", true)
	source := "oci://" + s.host + "/acme/skills:prod"
	stdout, _, status := s.run("verify", source, "--json")
	var got releaseJSON
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err, stdout)
	}
	signers := s.said.Replace(strings.Join(got.Signers, " "))
	if status != 0 || got.Source != source || got.Revision != "oci:"+digest || got.Signature != "signed" || s.said.Replace(got.Signer) != "KEY-b" || signers != "KEY-b KEY-a" || len(got.Skills) != 1 || got.Skills[0].Name != "pdf" || !strings.HasPrefix(got.Skills[0].Digest, "sha256:") || got.Skills[0].Files != 1 {
		t.Errorf("%d %s", status, stdout)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "p", ".agents")); err == nil {
		t.Error("verify installed something")
	}
	s.release("2")
	stdout, _, status = s.run("verify", source, "--json")
	got = releaseJSON{}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 1 || got.Status != 1 || got.Signature != "unsigned" || !strings.Contains(got.Reason, "is not signed") || got.Fix == "" || got.Skills == nil {
		t.Errorf("%d %s %v", status, stdout, err)
	}
	for _, args := range [][]string{{"verify", source, "pdf"}, {"verify", "oci://" + s.host}} {
		if _, stderr, status := s.run(args...); status != 2 || stderr == "" {
			t.Errorf("%v: %d %s", args, status, stderr)
		}
	}
	if _, stderr, status := s.run("verify", source, "--offline"); status != 3 || !strings.Contains(stderr, "knack is offline") {
		t.Errorf("%d %s", status, stderr)
	}
}

// TestRequireSpelled checks that a rule applies to every spelling of a registry.
func TestRequireSpelled(t *testing.T) {
	s := newSigning(t)
	s.release("1")
	s.rule("a.pub", true)
	name, port, _ := strings.Cut(s.host, ":")
	for _, host := range []string{name + ":0" + port, name + ":000" + port} {
		for _, args := range [][]string{{"add"}, {"pull"}, {"verify"}} {
			stdout, stderr, status := s.run(append(args, "oci://"+host+"/acme/skills:prod")...)
			if status != 1 || !strings.Contains(stdout+stderr, "takes only releases that a.pub signed") {
				t.Errorf("%s %s: %d\n%s%s", args, host, status, stdout, stderr)
			}
		}
	}
}

// Package cosign checks that knack and cosign accept each other's signatures.
package cosign

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/registrytest"
)

// bench is a folder with keys and programs, and two registries.
type bench struct {
	t               *testing.T
	dir, programs   string
	here, elsewhere string
}

// run runs a program in the folder, and returns its output and whether it succeeded.
func (b *bench) run(program string, args ...string) (string, bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(b.programs, program), args...)
	cmd.Dir = b.dir
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "COSIGN_PASSWORD="}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// must runs a program and fails the test if the program fails.
func (b *bench) must(program string, args ...string) string {
	b.t.Helper()
	out, ok := b.run(program, args...)
	if !ok {
		b.t.Fatalf("%s %s:\n%s", program, strings.Join(args, " "), out)
	}
	return out
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	at := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// key writes a new key in three forms: NAME.key, NAME.pub and, in cosign's format, NAME-cosign.key.
// It also writes NAME.yaml, with a rule that requires this key.
func (b *bench) key(name string, key crypto.Signer) {
	b.t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		b.t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	b.put(name+".pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
	b.must("cosign", "import-key-pair", "--key", name+".key", "--output-key-prefix", name+"-cosign", "-y")
	b.put(name+".yaml", "trust:\n  - {from: oci://**, keys: ["+name+".pub], require: true}\n")
}

// cosignAccepts requires that cosign accepts a manifest's signature with the right key, and rejects
// it with another key.
func (b *bench) cosignAccepts(ref, key, other string, old bool) {
	b.t.Helper()
	args := []string{"verify", "--allow-http-registry", "--insecure-ignore-tlog=true", ref}
	if old {
		args = append(args, "--new-bundle-format=false")
	}
	b.must("cosign", append(args, "--key", key+".pub")...)
	if out, ok := b.run("cosign", append(args, "--key", other+".pub")...); ok {
		b.t.Errorf("cosign accepts %s with another key:\n%s", ref, out)
	}
}

// knackAccepts requires that knack accepts a manifest's signature with the right key, and rejects
// it with another key.
func (b *bench) knackAccepts(ref, key, other string) {
	b.t.Helper()
	if out := b.must("knack", "verify", "oci://"+ref, "--config", key+".yaml"); !strings.Contains(out, "signature  by key:") {
		b.t.Errorf("knack verify %s:\n%s", ref, out)
	}
	if out, ok := b.run("knack", "verify", "oci://"+ref, "--config", other+".yaml"); ok {
		b.t.Errorf("knack accepts %s with another key:\n%s", ref, out)
	}
}

// TestCosign checks that cosign 3.1.3 accepts signatures by knack, and knack those by cosign. It
// verifies them again after oras 1.3.0 has copied the release to another registry. make cosign
// builds both programs.
func TestCosign(t *testing.T) {
	programs := os.Getenv("KNACK_COSIGN")
	if programs == "" {
		t.Skip("make cosign builds cosign, which takes minutes, and runs this")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if programs, err = filepath.Abs(programs); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, programs: programs, here: registrytest.Start(t).Host, elsewhere: registrytest.Start(t).Host}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(programs, "knack"), "../../cmd/knack").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b.key("p256", p256)
	b.key("ed25519", ed)
	for _, name := range []string{"one", "two"} {
		b.put("lib/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does what the word "+name+" says. Use when it is asked for.\n---\n\nText.\n")
	}
	digestOf := func(ref string) string {
		return strings.TrimSpace(b.must("oras", "resolve", "--plain-http", ref))
	}
	copied := func(ref string) string {
		b.must("oras", "cp", "-r", "--from-plain-http", "--to-plain-http", b.here+ref, b.elsewhere+ref)
		return b.elsewhere + ref
	}
	for key, other := range map[string]string{"p256": "ed25519", "ed25519": "p256"} {
		t.Run(key, func(t *testing.T) {
			b := *b
			b.t = t
			ours := "/" + key + "/ours:1.0.0"
			b.must("knack", "publish", "./lib", "oci://"+b.here+ours, "--sign-key", key+".key")
			for _, ref := range []string{b.here + ours, copied(ours)} {
				b.cosignAccepts(ref, key, other, false)
				b.knackAccepts(ref, key, other)
			}
			for form, flags := range map[string][]string{"bundle": nil, "old": {"--new-bundle-format=false"}} {
				theirs := "/" + key + "/" + form + ":1.0.0"
				b.must("knack", "publish", "./lib", "oci://"+b.here+theirs)
				ref, _, _ := strings.Cut(theirs, ":")
				b.must("cosign", append([]string{"sign", "--tlog-upload=false", "--use-signing-config=false", "--allow-http-registry", "-y", "--key", key + "-cosign.key", b.here + ref + "@" + digestOf(b.here+theirs)}, flags...)...)
				if key == "p256" { // cosign 3.1.3 rejects even its own signatures by an Ed25519 key
					b.cosignAccepts(b.here+theirs, key, other, form == "old")
				}
				b.knackAccepts(b.here+theirs, key, other)
				if form == "bundle" { // oras does not copy the tag that contains a signature of the older form
					b.knackAccepts(copied(theirs), key, other)
				}
			}
		})
	}
}

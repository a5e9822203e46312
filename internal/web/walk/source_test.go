package walk

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestWalkSource follows a signed source with forward-only. It checks that a browser sees the first
// release, then the next one, and then the reason why a third one is refused.
func TestWalkSource(t *testing.T) {
	chromium := driven(t, "source.mjs")
	registry := registrytest.Start(t)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKIXPublicKey(public)
	must(t, err)
	root := t.TempDir()
	write(t, root, map[string]string{"acme.pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))})
	publish := func(version string) (digest string) {
		t.Helper()
		digest = registrytest.Release(t, registry.Host, "acme/skills", version, 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "Of "+version+".")}, map[string]string{"org.opencontainers.image.version": version})
		bundle, err := trust.Sign(private, digest)
		must(t, err)
		registrytest.Attach(t, registry.Host, "acme/skills", digest, trust.Bundle, bundle)
		registrytest.Tag(t, registry.Host, "acme/skills", digest, "prod") // after it was signed
		return digest
	}
	digest := publish("1.0.0")
	url := serveFile(t, root, fmt.Sprintf(`sources:
  - {name: acme, from: "oci://%[1]s/acme/skills:prod", forward-only: true}
store: {dir: %[2]q}
poll: 1s
trust: [{from: "oci://%[1]s/acme/**", keys: [%[3]q], require: true}]
`, registry.Host, filepath.Join(root, "store"), filepath.Join(root, "acme.pub")))
	sees := func(name, wait string, row ...string) {
		t.Helper()
		shows(t, url+"/health", wait)
		from := "oci://" + registry.Host + "/acme/skills:prod"
		version := row[0]
		var report report
		run(t, "source.mjs", map[string]any{
			"url": url, "chromium": chromium, "shots": os.Getenv("KNACK_SHOTS"), "name": name, "skill": "/skills/acme/pdf/",
			"row": append(row, "acme", from, strings.TrimPrefix(digest, "sha256:")[:12], "signed by key:"), "says": []string{from, version, digest, "signed by key:"},
		}, &report)
		for _, fault := range report.Faults {
			t.Error(fault)
		}
		if len(report.Done) != 8 {
			t.Errorf("%d pages were looked at: %q", len(report.Done), report.Done)
		}
	}
	sees("source", "1.0.0", "1.0.0", "current")
	digest = publish("1.1.0")
	sees("source-next", "1.1.0 <", "1.1.0", "current")
	publish("1.0.1")
	const why = "the version 1.0.1 is lower than 1.1.0, which was served before, and forward-only is set"
	sees("source-refused", why, "1.1.0", "refused", why)
}

// shows waits until a page has a text.
func shows(t *testing.T, url, text string) {
	t.Helper()
	page := ""
	testwait.Until(t, func() bool {
		resp, err := http.Get(url)
		must(t, err)
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		page = string(data)
		return err == nil && strings.Contains(page, text)
	}, text, "in", url, func() string { return page })
}

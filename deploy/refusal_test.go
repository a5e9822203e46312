//go:build linux

package deploy

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestRefusals has a registry offer releases that a replica must refuse, one for each reason. It
// checks that the metrics, the page /health and the audit log have the reason, and that the
// previous release is served. The same must hold while the registry does not answer.
func TestRefusals(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	t.Parallel()
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	proxy.Set(nil)
	released(t, registry, 1)
	second := released(t, registry, 2)
	r := newReplica(t, "oci://"+proxy.Host+"/"+repository+":prod", "    forward-only: true\npoll: 1s\n")
	small := filepath.Join(r.dir, "private", "state")
	noMount := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=16m")
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	r.start()
	r.ready()
	r.serves(second)

	// manifest returns a fault in which the registry has a manifest whose layers it lacks.
	manifest := func(layers int, size int64) registrytest.Fault {
		var all []string
		for n := range layers {
			all = append(all, fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:%064x","size":%d}`, n+1, size))
		}
		text := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"` + digestOf("{}") + `","size":2},"annotations":{"io.github.knack-dev.release":"1","org.opencontainers.image.version":"2.0.0"},"layers":[` + strings.Join(all, ",") + `]}`
		return registrytest.If(registrytest.IsManifest, 1<<20, func(w http.ResponseWriter, q *http.Request, _ *registrytest.Proxy, _ int) bool {
			if strings.Contains(q.URL.Path, "/manifests/sha256-") { // a tag for signatures
				return false
			}
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", digestOf(text))
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			if q.Method != http.MethodHead {
				_, _ = w.Write([]byte(text))
			}
			return true
		})
	}
	logged := func() int {
		return strings.Count(r.said(), `"msg":"the release of the source is not taken; the last one stays"`)
	}
	for _, c := range []struct {
		reason string
		begin  func()
	}{
		{"gone", func() {
			proxy.Set(registrytest.If(registrytest.IsManifest, 1<<20, registrytest.Status(http.StatusNotFound)))
		}},
		{"limit", func() { proxy.Set(manifest(1, 300<<20)) }},
		{"no-skills", func() {
			digest := registrytest.Image(t, registry.Host, repository, "none", map[string]string{"org.opencontainers.image.version": "3.0.0"}, registrytest.Pack(t, registrytest.Skills{"etc/motd": "hello\n"}))
			registrytest.Tag(t, registry.Host, repository, digest, "prod")
		}},
		{"version", func() { released(t, registry, 1) }},
		{"signature", func() {
			digest := registrytest.Release(t, registry.Host, repository, "bad", 8, few(4), map[string]string{"org.opencontainers.image.version": "1.4.0"})
			registrytest.Attach(t, registry.Host, repository, digest, trust.Bundle, []byte("{"))
			registrytest.Tag(t, registry.Host, repository, digest, "prod")
		}},
		{"disk", func() { proxy.Set(manifest(2, 100<<20)) }},
	} {
		if c.reason == "disk" && noMount != nil {
			t.Log("mounting a small file system needs an administrator: ", noMount)
			continue
		}
		lines := logged()
		c.begin()
		testwait.Until(t, func() bool { return metric(r, `knack_source_refused{source="acme",reason="`+c.reason+`"}`) == 1 }, "the metrics do not say "+c.reason, r.said)
		if _, page := r.get("/health"); !strings.Contains(page, `<span class="badge bad">refused</span>`) {
			t.Errorf("%s: the health page says nothing", c.reason)
		}
		testwait.Until(t, func() bool {
			for _, a := range r.actions() {
				if a.Method == "refuse" && a.Result == "refused" && strings.HasPrefix(a.Reason, c.reason+": ") && a.From == second {
					return true
				}
			}
			return false
		}, "the audit log does not say "+c.reason, r.said)
		testwait.Until(t, func() bool { return logged() == lines+1 }, "the log does not say "+c.reason, r.said)
		text, err := contents(http.DefaultClient, r.url, "skill://acme/changing/SKILL.md")
		if err != nil || !strings.Contains(text, "release 2\n") {
			t.Errorf("%s: %v %q", c.reason, err, text)
		}
		proxy.Set(nil)
		registrytest.Tag(t, registry.Host, repository, second, "prod")
		testwait.Until(t, func() bool { return metric(r, `knack_source_refused{source="acme",reason="`+c.reason+`"}`) == 0 }, "it is still refused for "+c.reason, r.said)
	}
	registry.Stop()
	testwait.Until(t, func() bool {
		_, page := r.get("/health")
		return strings.Contains(page, `<span class="badge warn">not answering</span>`)
	}, "the health page does not say that the source is silent", r.said)
	if age := metric(r, `knack_source_age_seconds{source="acme"}`); age <= 0 {
		t.Errorf("the source is silent for %g s", age)
	}
}

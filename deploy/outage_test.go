//go:build linux

package deploy

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// few returns a small library for tests in which the size does not matter. Each release changes one
// of its skills.
func few(release int) registrytest.Skills {
	files := registrytest.Skills{"changing/SKILL.md": registrytest.Skill("changing", fmt.Sprint("release ", release))}
	for n := range 20 {
		name := fmt.Sprintf("stable-%02d", n)
		files[name+"/SKILL.md"] = registrytest.Skill(name, strings.Repeat(fmt.Sprintf("line %d\n", n*7919), 500))
	}
	return files
}

// released pushes a release with few skills under the tag prod.
func released(t *testing.T, registry *registrytest.Registry, release int) (digest string) {
	t.Helper()
	digest = registrytest.Release(t, registry.Host, repository, fmt.Sprint("r", release), 8, few(release), map[string]string{"org.opencontainers.image.version": fmt.Sprintf("1.%d.0", release)})
	registrytest.Tag(t, registry.Host, repository, digest, "prod")
	return digest
}

// watched calls a replica repeatedly until the returned function is called, which returns the
// number of calls. It checks that each call gets the text of one of the given releases.
func watched(r *replica, releases ...int) func() int64 {
	var calls atomic.Int64
	stop := make(chan struct{})
	var ends sync.WaitGroup
	url := r.url
	ends.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			text, err := contents(http.DefaultClient, url, "skill://acme/changing/SKILL.md")
			known := false
			for _, n := range releases {
				known = known || strings.Contains(text, fmt.Sprintf("release %d\n", n))
			}
			if err != nil || !known {
				r.Errorf("a call during the outage: %v %q", err, text)
				return
			}
			calls.Add(1)
		}
	})
	end := sync.OnceFunc(func() { close(stop); ends.Wait() })
	r.Cleanup(end) // in case the test fails before
	return func() int64 {
		end()
		return calls.Load()
	}
}

// TestReplicaAlone checks a replica without its registry. With an empty store, the replica is
// ready, names the missing source, logs the reason once, and serves the release once the registry
// is back. With a store, it is ready immediately, and no call fails while the registry is down.
func TestReplicaAlone(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	t.Parallel()
	registry := registrytest.Start(t)
	released(t, registry, 1)
	registry.Stop()
	r := newReplica(t, "oci://"+registry.Host+"/"+repository+":prod", "poll: 1s\n")
	doctor := func() string {
		out, err := exec.CommandContext(t.Context(), knack(t), "doctor", "--no-builtin", "--config", filepath.Join(r.dir, "knack.yaml")).CombinedOutput()
		if err != nil {
			t.Errorf("doctor: %v\n%s", err, out)
		}
		return string(out)
	}
	if out := doctor(); !strings.Contains(out, "  acme (oci://"+registry.Host+"/"+repository+":prod): nothing of it is here yet (the next 'knack serve' with these settings fetches it; ") {
		t.Errorf("doctor without a release: %s", out)
	}
	r.start()
	var why string
	testwait.Until(t, func() bool {
		var code int
		code, why = r.get("/readyz")
		return code == http.StatusOK && strings.Contains(why, "skills of acme are missing: unreachable since ")
	}, "readyz does not name the source", func() string { return why + r.said() })
	testwait.Until(t, func() bool { return strings.Contains(r.said(), registry.Host) }, "the log does not say why", r.said)
	if code, _ := r.get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
	for range 3 { // further polls
		before := polls(r, "failed")
		testwait.Until(t, func() bool { return polls(r, "failed") > before }, "there are no further polls", r.said)
	}
	if n := strings.Count(r.said(), "cannot be reached"); n != 1 {
		t.Errorf("the log has %d lines about the registry:\n%s", n, r.said())
	}
	registry.Start()
	begun := time.Now()
	r.ready()
	t.Logf("without a release: %s; served %s after the registry was back, at a poll of 1 s", strings.TrimSpace(why), time.Since(begun).Round(10*time.Millisecond))
	testwait.Until(t, func() bool { return metric(r, "knack_store_bytes") > 20*4500 }, "the metrics have no size of the store", r.said)
	if out := doctor(); !strings.Contains(out, ":prod): 21 skills, version 1.1.0, sha256:") || !strings.Contains(out, "\n  changing  acme/changing/SKILL.md\n") {
		t.Errorf("doctor beside the server: %s", out)
	}
	r.end()

	registry.Stop()
	begun = time.Now()
	r.start()
	r.ready()
	t.Logf("ready %s after a start with a store and without the registry", time.Since(begun).Round(10*time.Millisecond))
	watch := watched(r, 1, 2)
	testwait.Until(t, func() bool { return polls(r, "failed") >= 2 }, "there are no polls", r.said)
	registry.Start()
	second := released(t, registry, 2)
	must(t, r.cmd.Process.Signal(syscall.SIGHUP)) // does not wait for the next poll
	r.serves(second)
	if n := watch(); n == 0 {
		t.Error("nobody called")
	}
	if took := r.end(); took > 20*time.Second {
		t.Errorf("the replica took %s to end", took)
	}
}

// polls returns the number of a replica's polls with the given outcome.
func polls(r *replica, outcome string) int {
	return int(metric(r, `knack_source_polls_total{source="acme",outcome="`+outcome+`"}`))
}

// metric returns the value of a metric of a replica.
func metric(r *replica, series string) float64 {
	r.Helper()
	_, text := r.get("/metrics")
	_, rest, ok := strings.Cut(text, "\n"+series+" ")
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(line, 64)
	must(r.T, err)
	return n
}

// TestPullFaults checks a replica that fetches a release during each fault of a registry. It must
// serve the previous release meanwhile, and the new one when the fault ends. No file, descriptor or
// goroutine may be left over.
func TestPullFaults(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	t.Parallel()
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	released(t, registry, 1)
	release := 1
	always := 1 << 20 // until the fault is removed
	for _, c := range []struct {
		name    string
		matches func(*http.Request) bool
		times   int // for each path
		fault   registrytest.Fault
	}{
		{"500", all, always, registrytest.Status(500)},
		{"429", all, always, registrytest.Status(429)},
		{"429 with Retry-After", all, always, registrytest.Status(429, "Retry-After", "1")},
		{"401", all, always, registrytest.Status(401, "Www-Authenticate", `Basic realm="x"`)},
		{"404", all, always, registrytest.Status(404)},
		{"everything cut", all, always, registrytest.Cut(0)},
		{"cut layers", registrytest.IsBlob, 2, registrytest.Cut(100)},
		{"flipped bits in layers", registrytest.IsBlob, 2, registrytest.Flip},
		{"flipped bits in manifests", registrytest.IsManifest, always, registrytest.Flip},
		{"wrong digests", registrytest.IsManifest, always, registrytest.WrongDigest},
		{"redirects to a private address", registrytest.IsBlob, always, registrytest.Redirect("http://10.255.255.1/")},
		{"silent layers", registrytest.IsBlob, always, registrytest.Silence},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "silent layers" && os.Getenv("KNACK_FLEET") == "" {
				t.Skip("waits for half a minute; make fleet runs it")
			}
			proxy.Set(nil)
			r := newReplica(t, "oci://"+proxy.Host+"/"+repository+":prod", "poll: 1s\n")
			r.start()
			r.ready()
			watch := watched(r, release, release+1)
			testwait.Until(t, func() bool { return polls(r, "unchanged") > 0 }, "there are no polls", r.said)
			files, goroutines := descriptors(r), metric(r, "go_goroutines")
			var met atomic.Int64
			proxy.Set(registrytest.If(c.matches, c.times, func(w http.ResponseWriter, r *http.Request, p *registrytest.Proxy, n int) bool {
				met.Add(1)
				return c.fault(w, r, p, n)
			}))
			release++
			digest := released(t, registry, release)
			testwait.Until(t, func() bool { return met.Load() > 0 }, "the fault meets no request", r.said)
			if c.times == always {
				proxy.Set(nil)
				must(t, r.cmd.Process.Signal(syscall.SIGHUP))
			}
			r.serves(digest)
			if n := watch(); n == 0 {
				t.Error("nobody called")
			}
			left, err := os.ReadDir(filepath.Join(r.dir, "state", "store", "tmp"))
			if err == nil && len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			proxy.Set(nil)
			testwait.Until(t, func() bool {
				return descriptors(r) <= files+2 && metric(r, "go_goroutines") <= goroutines+2
			}, "descriptors or goroutines stay", func() string {
				return fmt.Sprintf("%d of %d descriptors, %g of %g goroutines", descriptors(r), files, metric(r, "go_goroutines"), goroutines)
			})
			if secret := regexp.MustCompile(`(?i)basic [a-z0-9+/=]{8,}`).FindString(r.said()); secret != "" {
				t.Errorf("the log has %q", secret)
			}
			r.end()
		})
	}
}

func all(*http.Request) bool { return true }

// descriptors returns the number of open files of a replica.
func descriptors(r *replica) (n int) {
	r.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid))
	must(r.T, err)
	return len(all)
}

//go:build linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestSourceBoard has a real Prometheus fetch the metrics of a replica that follows a registry. It
// checks that each query of the dashboard about sources gives a number.
func TestSourceBoard(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	if _, err := exec.LookPath("prometheus"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no prometheus; .ci/programs installs it")
		}
		t.Skip("no prometheus; .ci/programs installs it")
	}
	t.Parallel()
	registry := registrytest.Start(t)
	released(t, registry, 1)
	r := newReplica(t, "oci://"+registry.Host+"/"+repository+":prod", "poll: 1s\n")
	r.start()
	r.ready()
	m := &machine{T: t, root: t.TempDir(), prometheus: freePort(t)}
	file := filepath.Join(m.root, "prometheus.yml")
	put(t, file, "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n  - job_name: knack\n    static_configs: [{targets: ['"+strings.TrimPrefix(r.url, "http://")+"']}]\n")
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(m.root, "data"), "--web.listen-address=127.0.0.1:"+m.prometheus)
	cmd.WaitDelay = 30 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	testwait.Until(t, func() bool {
		code, _, err := get(t.Context(), insecure(t), "http://127.0.0.1:"+m.prometheus+"/-/ready", "")
		return err == nil && code == 200
	}, "Prometheus does not start")
	checked := 0
	for expr, panel := range queriesOf(t) {
		if !aboutSources(expr) {
			continue
		}
		checked++
		var answer string
		testwait.Until(t, func() bool {
			var some bool
			some, answer = m.query(strings.NewReplacer("$__rate_interval", "20s", "$instance", ".*").Replace(expr))
			return some
		}, panel, expr, func() string { return answer })
	}
	if checked < 6 {
		t.Errorf("the dashboard has only %d queries about sources", checked)
	}
}

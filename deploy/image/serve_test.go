//go:build linux

package main

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// deployment reads deploy/kubernetes.yaml. It fails the test for a key that Kubernetes does not
// have.
func deployment(t *testing.T) (d appsv1.Deployment, s corev1.Service) {
	t.Helper()
	data, err := os.ReadFile("../kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(data), "\n---\n")
	if len(documents) != 2 {
		t.Fatalf("%d documents", len(documents))
	}
	for i, into := range []any{&d, &s} {
		asJSON, err := yaml.YAMLToJSONStrict([]byte(documents[i]))
		if err != nil {
			t.Fatal(err)
		}
		// The API server of Kubernetes decodes in this way; encoding/json would accept keys in
		// another case.
		if unknown, err := json.UnmarshalStrict(asJSON, into); err != nil || len(unknown) > 0 {
			t.Fatal(unknown, err)
		}
	}
	return d, s
}

// TestKubernetes checks that the manifest has the settings of Kubernetes' restricted profile, and
// that its parts refer to each other.
func TestKubernetes(t *testing.T) {
	d, s := deployment(t)
	if fmt.Sprint(d.APIVersion, d.Kind, s.APIVersion, s.Kind) != "apps/v1Deploymentv1Service" {
		t.Errorf("%s %s, %s %s", d.APIVersion, d.Kind, s.APIVersion, s.Kind)
	}
	pod := d.Spec.Template.Spec
	p := pod.SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser != user || *p.RunAsGroup != user || *p.FSGroup != user || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *pod.AutomountServiceAccountToken {
		t.Errorf("pod: %+v", p)
	}
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	c := pod.Containers[0]
	if s := c.SecurityContext; *s.AllowPrivilegeEscalation || *s.Privileged || !*s.ReadOnlyRootFilesystem || fmt.Sprint(s.Capabilities.Drop, s.Capabilities.Add) != "[ALL] []" {
		t.Errorf("container: %+v", s)
	}
	if c.Command != nil || c.Args != nil {
		t.Error("the arguments are those of the image")
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	mounts := ""
	for _, m := range c.VolumeMounts {
		if !m.ReadOnly || !volumes[m.Name] {
			t.Errorf("mount %+v", m)
		}
		mounts += m.MountPath + " "
	}
	if mounts != "/etc/knack /skills " {
		t.Errorf("mounts %s", mounts)
	}
	label := d.Spec.Selector.MatchLabels["app.kubernetes.io/name"]
	if label == "" || d.Spec.Template.Labels["app.kubernetes.io/name"] != label || s.Spec.Selector["app.kubernetes.io/name"] != label {
		t.Error("the labels differ")
	}
	port := c.Ports[0]
	if port.ContainerPort != 8080 || s.Spec.Ports[0].TargetPort.String() != port.Name || c.LivenessProbe.HTTPGet.Port.String() != port.Name || c.ReadinessProbe.HTTPGet.Port.String() != port.Name {
		t.Error("the ports differ")
	}
}

// inRoot is a script that runs knack on a read-only root. The capabilities that chroot needs are
// dropped with the change of the user. The mounts are in a namespace that ends with the process.
const inRoot = `
mount --bind "$ROOT" "$ROOT"
mount --bind "$SETTINGS" "$ROOT/etc/knack"
mount --bind "$SKILLS" "$ROOT/skills"
for at in / /etc/knack /skills; do mount -o remount,bind,ro "$ROOT$at"; done
! touch "$ROOT/var/lib/knack/written" 2>/dev/null
cd "$ROOT"
exec setpriv --inh-caps=-all --bounding-set=-all,+sys_chroot,+setuid,+setgid --no-new-privs chroot --userspec=65532:65532 . /knack "$@"`

// TestServes checks that the image serves a call as its user, on a read-only root and without
// capabilities. Its settings are mounted as Kubernetes mounts a secret: through links, and readable
// only by the group.
func TestServes(t *testing.T) {
	theImage(t)
	programs(t, "unshare", "setpriv")
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root and the user")
	}
	d, _ := deployment(t)
	container := d.Spec.Template.Spec.Containers[0]
	root, dir := unpacked(t, runtime.GOARCH), t.TempDir()
	token := "knack-test-" + rand.Text()
	hash := sha256.Sum256([]byte(token))
	config, err := os.ReadFile("../knack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	given := strings.Replace(string(config), strings.Repeat("0", 64), hex.EncodeToString(hash[:]), 1) + "audit:\n  to: stdout\n"
	settings, skills := filepath.Join(dir, "settings"), filepath.Join(dir, "skills")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(settings, "..2026"), 0o755),
		os.MkdirAll(filepath.Join(skills, "hello"), 0o755),
		os.WriteFile(filepath.Join(settings, "..2026", "knack.yaml"), []byte(given), 0o440),
		os.Chown(filepath.Join(settings, "..2026", "knack.yaml"), 0, user),
		os.Symlink("..2026", filepath.Join(settings, "..data")),
		os.Symlink("..data/knack.yaml", filepath.Join(settings, "knack.yaml")),
		os.WriteFile(filepath.Join(skills, "hello", "SKILL.md"), []byte("---\nname: hello\ndescription: Says hello. Use when asked to greet.\n---\nSay good morning.\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	started := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "--propagation=private", "sh", "-euc", inRoot, "sh"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "ROOT=" + root, "SETTINGS=" + settings, "SKILLS=" + skills}
		return cmd
	}
	if out, err := started("list", "--dir", "/skills").CombinedOutput(); err != nil || !strings.Contains(string(out), "hello") {
		t.Errorf("list: %v %s", err, out)
	}
	if out, err := started("config", "check", "/etc/knack/knack.yaml").CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "nothing is wrong\n") {
		t.Errorf("config check: %v %s", err, out)
	}
	serve := strings.Fields("serve --http 0.0.0.0:0 --config /etc/knack/knack.yaml --dir /skills")
	cmd := started(serve...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var audit strings.Builder
	cmd.Stdout = &audit
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(errs)
	line, _ := said.ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "knack serves MCP at ")
	if !ok {
		rest, _ := io.ReadAll(said)
		t.Fatalf("%s%s", line, rest)
	}
	host := strings.TrimSuffix(url, "/mcp")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nUid:\t65532\t65532\t65532\t65532\n", "\nGid:\t65532\t65532\t65532\t65532\n", "\nCapEff:\t0000000000000000\n", "\nCapPrm:\t0000000000000000\n", "\nNoNewPrivs:\t1\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("no %q in %s", want, status)
		}
	}
	ask := func(method, path, name, token, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = name
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		if body != "" {
			req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			req.Header.Set("Mcp-Method", "tools/call")
			req.Header.Set("Mcp-Name", "skill")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if code, got := ask("POST", "/mcp", "skills.example.com", token, call); code != 200 || !strings.Contains(got, "Say good morning.") {
		t.Errorf("a call: %d %s", code, got)
	}
	if code, got := ask("POST", "/mcp", "skills.example.com", "", call); code != 401 {
		t.Errorf("without a token: %d %s", code, got)
	}
	// The kubelet sends probes to the address of the pod.
	for _, probe := range []string{container.LivenessProbe.HTTPGet.Path, container.ReadinessProbe.HTTPGet.Path} {
		if code, got := ask("GET", probe, "10.1.2.3:8080", "", ""); code != 200 {
			t.Errorf("%s: %d %s", probe, code, got)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	if err := cmd.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %v %s", err, rest)
	}
	if !strings.Contains(audit.String(), `"subject":"anna"`) {
		t.Errorf("audit log: %s", audit.String())
	}
}

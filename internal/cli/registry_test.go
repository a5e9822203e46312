package cli_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestScriptRegistry checks that skills can be installed from each registry after skopeo has pushed
// them there. umoci makes the images.
func TestScriptRegistry(t *testing.T) {
	testwait.Slow(t)
	for _, program := range []string{"docker-registry", "skopeo", "umoci"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("%s is not installed: %v", program, err)
		}
	}
	distribution := registrytest.Program(t, "registry")
	dir := t.TempDir()
	passwords, open, private := filepath.Join(dir, "passwords"), filepath.Join(dir, "open.yml"), filepath.Join(dir, "private.yml")
	const config = "version: 0.1\nstorage: {inmemory: {}}\nhttp: {addr: '127.0.0.1:0', secret: x}\n"
	for file, content := range map[string]string{
		passwords: "anna:$2a$04$CaSJEeUR6NCGTmSfyLxKG.FWVyUSbVXbHWztJQAJ/YzjX9kVGEm6G\n", // CANARY-password
		open:      config,
		private:   config + "auth: {htpasswd: {realm: knack, path: '" + passwords + "'}}\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][2][]string{
		registrytest.Distribution:   {{distribution}, {distribution, passwords}},
		registrytest.DockerRegistry: {{"docker-registry", "serve", open}, {"docker-registry", "serve", private}},
	} {
		t.Run(name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: "testdata/registry", UpdateScripts: *update, RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					home := filepath.Join(env.WorkDir, "home")
					env.Setenv("HOME", home)
					env.Setenv("KNACK_DIRS", "")
					env.Setenv("REGISTRY", startRegistry(t, args[0]))
					env.Setenv("PRIVATE", startRegistry(t, args[1]))
					return os.MkdirAll(home, 0o755)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"run": run, "exits": exits, "push": push, "login": login},
			})
		})
	}
}

// startRegistry starts a registry and returns the address that it prints.
func startRegistry(t *testing.T, args []string) string {
	cmd := exec.Command(args[0], args[1:]...)
	stdin, err := cmd.StdinPipe() // one of the registries ends when it is closed
	if err != nil {
		t.Fatal(err)
	}
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		w.Close()
	})
	address := regexp.MustCompile(`(?:^|listening on )(127\.0\.0\.1:\d+)`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return m[1]
		}
	}
	t.Fatal("the registry ended without an address")
	return ""
}

// push implements the script command push FOLDER REPOSITORY TAG. It makes an image of the folder
// and pushes it to both registries.
func push(ts *testscript.TestScript, _ bool, args []string) {
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "image")
	ts.Check(err)
	layout := filepath.Join(dir, "layout")
	ts.Check(ts.Exec("umoci", "init", "--layout", layout))
	ts.Check(ts.Exec("umoci", "new", "--image", layout+":x"))
	ts.Check(ts.Exec("umoci", "insert", "--rootless", "--image", layout+":x", ts.MkAbs(args[0]), "/skills"))
	ts.Check(ts.Exec("skopeo", "copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", "oci:"+layout+":x", "docker://"+ts.Getenv("REGISTRY")+"/"+args[1]+":"+args[2]))
	ts.Check(ts.Exec("skopeo", "copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", "--dest-creds=anna:CANARY-password", "oci:"+layout+":x", "docker://"+ts.Getenv("PRIVATE")+"/"+args[1]+":"+args[2]))
}

// login implements the script command login FOLDER PASSWORD. It writes docker's configuration for
// the private registry into a folder.
func login(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	auth := base64.StdEncoding.EncodeToString([]byte("anna:" + args[1]))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, ts.Getenv("PRIVATE"), auth), 0o600))
}

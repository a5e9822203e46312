package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// program skips the test if a program is absent, or fails it in continuous integration. of is the
// Debian package that has the program.
func program(t *testing.T, name, pkg string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is absent; .ci/programs installs it", name)
	}
	t.Skipf("%s is absent; on Debian: apt-get install %s", name, pkg)
}

// put writes a file of a test, and the folders above it.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestCompose has the Go package of docker compose load compose.yaml and check it against the
// schema. The test also checks the rights of the container, and that the parts of the file fit each
// other.
func TestCompose(t *testing.T) {
	composed := func(text string) error {
		dir := t.TempDir()
		file := filepath.Join(dir, "compose.yaml")
		put(t, file, text)
		options, err := cli.NewProjectOptions([]string{file}, cli.WithWorkingDirectory(dir))
		if err != nil {
			return err
		}
		project, err := options.LoadProject(context.Background())
		if err != nil {
			return err
		}
		knack, balancer := project.Services["knack"], project.Services["balancer"]
		if !knack.ReadOnly || !slices.Equal(knack.CapDrop, []string{"ALL"}) || !slices.Equal(knack.SecurityOpt, []string{"no-new-privileges:true"}) {
			return errors.New("knack has more rights than it needs")
		}
		// With a published port of the machine, there could be only one replica.
		if len(knack.Ports) > 0 || knack.Deploy == nil || knack.Deploy.Replicas == nil || *knack.Deploy.Replicas < 2 {
			return errors.New("knack cannot have several replicas")
		}
		var places []string
		for _, v := range knack.Volumes {
			if v.Type == types.VolumeTypeVolume && v.Source != "" {
				return errors.New("the replicas share the volume " + v.Source)
			}
			places = append(places, v.Target)
		}
		if !slices.Equal(places, []string{"/etc/knack", "/var/lib/knack"}) {
			return fmt.Errorf("mounts at %q", places)
		}
		if where := *knack.Environment["DOCKER_CONFIG"]; len(knack.Secrets) != 1 || where+"/"+knack.Secrets[0].Target != "/run/secrets/config.json" {
			return errors.New("the credentials are not at DOCKER_CONFIG/config.json")
		}
		if len(balancer.Ports) != 1 || len(balancer.Volumes) != 1 || filepath.Base(balancer.Volumes[0].Source) != "haproxy.cfg" {
			return errors.New("the balancer lacks its port or its settings")
		}
		return nil
	}
	judged(t, read(t, "compose.yaml"), composed, []broken{
		{"restart: unless-stopped", "restrt: unless-stopped", "services.knack.restrt"},
		{"replicas: 3", "replicas: three", "invalid"},
		{"memory: 384M", "memory: 384Q", "invalid"},
		{"stop_grace_period: 20s", "stop_grace_period: [20]", "must be a string"},
		{"depends_on: [knack]", "depends_on: [knak]", "undefined service"},
		{"source: registry, target", "source: registri, target", "undefined secret"},
		{"cap_drop: [ALL]", "cap_drop: [NET_RAW]", "more rights"},
		{"read_only: true\n    cap_drop", "read_only: false\n    cap_drop", "more rights"},
		{"    read_only: true\n    cap_drop", "    ports: ['8081:8080']\n    read_only: true\n    cap_drop", "several replicas"},
		{"{type: volume, target: /var/lib/knack}", "{type: volume, source: store, target: /var/lib/knack}\nvolumes: {store: {}}", "mapping"},
		{"target: config.json", "target: registry.json", "DOCKER_CONFIG"},
	})
}

// TestBalancer has HAProxy check haproxy.cfg. It also checks that HAProxy reports mistakes.
func TestBalancer(t *testing.T) {
	program(t, "haproxy", "haproxy")
	balanced := func(text string) error {
		file := filepath.Join(t.TempDir(), "haproxy.cfg")
		put(t, file, text)
		out, err := exec.CommandContext(t.Context(), "haproxy", "-c", "-f", file).CombinedOutput()
		// HAProxy only warns of many settings that do not work, and reports the file as valid.
		if err != nil || strings.Contains(string(out), "[WARNING]") {
			return fmt.Errorf("%v: %s", err, out)
		}
		return nil
	}
	judged(t, read(t, "haproxy.cfg"), balanced, []broken{
		{"option httpchk", "option httpcheck", "unknown option 'httpcheck'"},
		{"default_backend replicas", "default_backend replica", "unable to find required default_backend"},
		{"resolvers docker init-addr", "resolvers docke init-addr", "unable to find required resolvers"},
		{"stick match req.hdr", "stick match res.hdr", "none of which is available during request"},
		{"    stick-table type string len 64 size 100k expire 1h\n", "", "stick"},
		{"    mode http\n", "", "HTTP"},
	})
}

// unit returns a validator of source.conf. Its error has the complaints of systemd about
// knack.service with that drop-in, and reports a service that is too exposed.
func unit(t *testing.T) func(conf string) error {
	service := read(t, "../knack.service")
	dir := t.TempDir()
	installed := filepath.Join(dir, "knack")
	put(t, installed, "#!/bin/sh\n")
	if err := os.Chmod(installed, 0o755); err != nil {
		t.Fatal(err)
	}
	return func(conf string) error {
		file := filepath.Join(t.TempDir(), "knack.service")
		put(t, file, strings.ReplaceAll(service, "/usr/local/bin/knack", installed))
		put(t, file+".d/source.conf", strings.ReplaceAll(conf, "/usr/local/bin/knack", installed))
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput()
		if err != nil || len(out) > 0 {
			return fmt.Errorf("systemd-analyze verify: %v: %s", err, out)
		}
		out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=15", file).CombinedOutput()
		if err != nil {
			return fmt.Errorf("more exposed than 1.5 of 10: %w: %s", err, out)
		}
		return nil
	}
}

// TestUnit has systemd check the service with the drop-in for a fleet.
func TestUnit(t *testing.T) {
	program(t, "systemd-analyze", "systemd")
	judged(t, read(t, "source.conf"), unit(t), []broken{
		{"LoadCredential=", "LoadCredentials=", "'LoadCredentials'"},
		{"ExecStart=\n", "", "more than one ExecStart= setting"},
		{"/usr/local/bin/knack serve", "/usr/local/bin/knak serve", "is not executable"},
		{"Environment=", "Environment ", "'Environment DOCKER_CONFIG'"},
		{"[Service]", "[Service]\nPrivateDevices=no\nProtectSystem=no\nNoNewPrivileges=no\nSystemCallFilter=", "more exposed"},
	})
}

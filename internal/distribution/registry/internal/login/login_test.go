package login

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		file, registry string
		want           Credentials
		fault          string
	}{
		"no file":          {file: "-", registry: "r.example"},
		"empty file":       {file: " \n", registry: "r.example"},
		"another registry": {file: `{"auths":{"x.example":{"auth":"` + b64("u:p") + `"}}}`, registry: "r.example"},
		"a port counts":    {file: `{"auths":{"r.example":{"auth":"` + b64("u:p") + `"}}}`, registry: "r.example:5000"},
		"auth":             {file: `{"auths":{"r.example":{"auth":"` + b64("u:p:q") + `"}}}`, registry: "r.example", want: Credentials{Username: "u", Password: "p:q"}},
		"a URL":            {file: `{"auths":{"https://R.example/v1/":{"auth":"` + b64("u:p") + `"}}}`, registry: "r.example", want: Credentials{Username: "u", Password: "p"}},
		"a default port":   {file: `{"auths":{"https://R.example.:0443/v1/":{"auth":"` + b64("u:p") + `"}}}`, registry: "r.example", want: Credentials{Username: "u", Password: "p"}},
		"zeros in a port":  {file: `{"auths":{"r.example:05000":{"auth":"` + b64("u:p") + `"}}}`, registry: "r.example:5000", want: Credentials{Username: "u", Password: "p"}},
		"identity token":   {file: `{"auths":{"r.example":{"identitytoken":"t"}}}`, registry: "r.example", want: Credentials{RefreshToken: "t"}},
		"registry token":   {file: `{"auths":{"r.example":{"registrytoken":"t"}}}`, registry: "r.example", want: Credentials{AccessToken: "t"}},
		"Docker Hub":       {file: `{"auths":{"https://index.docker.io/v1/":{"auth":"` + b64("u:p") + `"}}}`, registry: "registry-1.docker.io", want: Credentials{Username: "u", Password: "p"}},
		"store":            {file: `{"auths":{"r.example":{}},"credsStore":"ok"}`, registry: "r.example", want: Credentials{Username: "r.example", Password: "CANARY"}},
		"helper":           {file: `{"credHelpers":{"r.example":"token"},"credsStore":"ok"}`, registry: "r.example", want: Credentials{RefreshToken: "CANARY"}},
		"nothing there":    {file: `{"credsStore":"none"}`, registry: "r.example"},
		"helper fails":     {file: `{"credsStore":"fails"}`, registry: "r.example", fault: "docker-credential-fails, which FILE names, gave no credentials for r.example: it ended with exit status 3; see why with: echo r.example | docker-credential-fails get"},
		"helper babbles":   {file: `{"credsStore":"babbles"}`, registry: "r.example", fault: "docker-credential-babbles, which FILE names, gave no credentials for r.example: its answer is not JSON"},
		"helper floods":    {file: `{"credsStore":"floods"}`, registry: "r.example", fault: "docker-credential-floods, which FILE names, gave no credentials for r.example: it ended with signal: broken pipe"},
		"no helper":        {file: `{"credsStore":"missing"}`, registry: "r.example", fault: "it is not in PATH"},
		"a path":           {file: `{"credsStore":"../evil"}`, registry: "r.example", fault: `names the credential helper "../evil"`},
		"no base64":        {file: `{"auths":{"r.example":{"auth":"CANARY!"}}}`, registry: "r.example", fault: `FILE: "auth" of "r.example" is not the base64 of a name and a password: log in to that registry again`},
		"no JSON":          {file: "{\n  \"auths\": CANARY\n}", registry: "r.example", fault: "FILE:2:12 is not the JSON that docker writes"},
		"another type":     {file: "{\n  \"auths\": [\"CANARY\"]\n}", registry: "r.example", fault: "FILE:2:12 is not"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.file, "cred") {
				needsShell(t)
			}
			file := filepath.Join(t.TempDir(), "config.json")
			if c.file != "-" {
				if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			conf := Config{File: file, Read: os.ReadFile, Run: Helper(helpers(t), []string{"PATH=" + os.Getenv("PATH")})}
			got, err := conf.Find(t.Context(), c.registry)
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			text := ""
			if err != nil {
				text = strings.ReplaceAll(err.Error(), file, "FILE")
			}
			if (c.fault == "") != (err == nil) || !strings.Contains(text, c.fault) {
				t.Errorf("error %q, want %q", text, c.fault)
			}
			if strings.Contains(text, "CANARY") {
				t.Errorf("a secret is in the error %q", text)
			}
		})
	}
}

func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the helpers of the test are shell scripts")
	}
}

// helpers returns a PATH with credential helpers, each of which writes a secret to stderr.
func helpers(t *testing.T) string {
	dir := t.TempDir()
	for name, script := range map[string]string{
		"ok":      `printf '{"Username":"%s","Secret":"CANARY"}' "$(cat)"`,
		"token":   `printf '{"Username":"<token>","Secret":"CANARY"}'`,
		"none":    `echo 'credentials not found in native keychain'; exit 1`,
		"fails":   `echo CANARY; exit 3`,
		"babbles": `echo CANARY`,
		"hangs":   `exec sleep 1000`,
		"floods":  `exec cat /dev/zero`,
	} {
		script = "#!/bin/sh\necho CANARY >&2\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join([]string{".", dir}, string(filepath.ListSeparator))
}

// TestRelativeFolders checks that knack runs no helper from a relative folder in PATH, which could
// belong to a project.
func TestRelativeFolders(t *testing.T) {
	needsShell(t)
	dir := filepath.Dir(filepath.Join(helpersFolder(t), "x"))
	t.Chdir(dir)
	if _, err := Helper(".", nil)(t.Context(), "docker-credential-token", ""); err == nil {
		t.Error("a program of the working directory was started")
	}
}

// TestHelperHangs checks that a helper is killed if it waits for input at a prompt that no user
// sees.
func TestHelperHangs(t *testing.T) {
	needsShell(t)
	conf := Config{
		File: "config.json", Read: func(string) ([]byte, error) { return []byte(`{"credsStore":"hangs"}`), nil },
		Run: helper(helpers(t), []string{"PATH=" + os.Getenv("PATH")}, 100*time.Millisecond),
	}
	if _, err := conf.Find(t.Context(), "r.example"); !errors.Is(err, errLate) || !strings.Contains(err.Error(), "docker-credential-hangs, which config.json names, gave no credentials") {
		t.Error(err)
	}
}

func helpersFolder(t *testing.T) string {
	_, dir, _ := strings.Cut(helpers(t), string(filepath.ListSeparator))
	return dir
}

func TestUnreadable(t *testing.T) {
	conf := Config{File: "config.json", Read: func(string) ([]byte, error) { return nil, fs.ErrPermission }}
	if _, err := conf.Find(context.Background(), "r.example"); err == nil || !strings.Contains(err.Error(), "docker's configuration cannot be read: ") {
		t.Errorf("error %v", err)
	}
}

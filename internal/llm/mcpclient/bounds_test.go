package mcpclient

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSecretsHidden checks that each secret is hidden, however many there are, and also if one
// begins with another.
func TestSecretsHidden(t *testing.T) {
	for n := range 10 {
		s := Server{Name: "s", TokenEnv: "TOKEN"}
		env := map[string]string{"TOKEN": "canary-token"}
		for i := range n {
			name := fmt.Sprint("V", i)
			s.EnvFrom = append(s.EnvFrom, name)
			env[name] = "canary-" + strings.Repeat("x", i)
		}
		all, err := readSecrets(s, Options{Getenv: func(name string) string { return env[name] }})
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range env {
			if got := all.hide("<" + value + ">"); got != "<"+redacted+">" {
				t.Errorf("of %d secrets and a token, %s is shown as %s", n, value, got)
			}
		}
	}
}

// TestStartTime checks that the advice about a server that starts slowly helps.
func TestStartTime(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{requestTime: connectTime, time.Second: connectTime, 20 * time.Second: 20 * time.Second, 2 * time.Minute: 2 * time.Minute} {
		if got := (Server{Timeout: timeout}).startTime(); got != want {
			t.Errorf("with a timeout of %v, a start may take %v, want %v", timeout, got, want)
		}
	}
}

package distcmd

import (
	"strings"
	"testing"
)

// TestOfflineVariable checks that KNACK_OFFLINE accepts the usual words for yes and no, and refuses
// other values.
func TestOfflineVariable(t *testing.T) {
	s := newShell(t)
	for value, want := range map[string]string{
		"1": "knack is offline", "true": "knack is offline", "TRUE": "knack is offline", "Yes": "knack is offline", "on": "knack is offline",
		"2": "neither yes nor no", "offline": "neither yes nor no",
	} {
		s.vars["KNACK_OFFLINE"] = value
		_, stderr, status := s.run("add", "http://127.0.0.1:1/a.zip")
		if wantStatus := map[bool]int{true: 3, false: 2}[want == "knack is offline"]; status != wantStatus || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d: %s", value, status, stderr)
		}
	}
	for _, value := range []string{"", "0", "false", "No", "OFF"} {
		s.vars["KNACK_OFFLINE"] = value
		if stdout, stderr, status := s.run("add", s.dir+"/src", "--all", "--dry-run"); status != 0 {
			t.Errorf("%q: status %d: %s%s", value, status, stdout, stderr)
		}
	}
}

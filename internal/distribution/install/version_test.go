package install

import (
	"testing"

	"github.com/knack-dev/knack/internal/base/semver"
)

func TestNewest(t *testing.T) {
	for _, c := range []struct {
		now    string
		tags   []string
		latest bool
		want   string
	}{
		{"v1.2.0", []string{"v1.2.1", "v1.10.0", "v1.9.0", "v2.0.0", "1.99.0", "v1.11.0-rc.1", "nightly", "v1.12"}, false, "v1.10.0"},
		{"v1.2.0", []string{"v1.3.0", "v2.0.0", "v2.1.0-rc.1"}, true, "v2.0.0"},
		{"v1.2.0", []string{"v1.2.0", "v1.1.0"}, true, "v1.2.0"},
		{"v1.2.0", []string{"v1.1.0"}, true, ""},
		{"0.3.1", []string{"0.3.2", "0.4.0", "1.0.0"}, false, "0.3.2"},
		{"0.3.1", []string{"0.3.2", "0.4.0", "1.0.0"}, true, "1.0.0"},
		{"1.0.0-rc.2", []string{"1.0.0-rc.10", "1.0.0-rc.1"}, false, "1.0.0-rc.10"},
		{"1.0.0-rc.2", []string{"1.0.0-rc.10", "1.0.0"}, false, "1.0.0"},
		{"@acme/pdf@1.0.0", []string{"@acme/pdf@1.1.0", "@acme/docx@1.9.0", "1.5.0"}, false, "@acme/pdf@1.1.0"},
		{"my-skill/v1.0.0", []string{"my-skill/v1.0.1+build.5", "v1.8.0"}, false, "my-skill/v1.0.1+build.5"},
	} {
		current, ok := semver.Parse(c.now)
		if got := newest(current, c.tags, c.latest); got != c.want || !ok {
			t.Errorf("above %s: %q, want %q", c.now, got, c.want)
		}
	}
}

package semver

import "testing"

func TestParse(t *testing.T) {
	for _, tag := range []string{"", "main", "v1", "v1.2", "1.2.x", "v1.2.3.4", "1..2", "v-1.2.3", "+1.2.3", "1.2.3-", "1.2.3-a..b"} {
		if v, ok := Parse(tag); ok {
			t.Errorf("%q is read as %+v", tag, v)
		}
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.01_b", "1.0.0-rc.2", "v1.0.0", "1.0.1", "1.2.0", "pdf@1.10.0", "2.0.0", "2026.01.31", "2026.2.1"}
	for i, a := range ordered {
		for j, b := range ordered {
			x, _ := Parse(a)
			y, _ := Parse(b)
			if got := x.Compare(y); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		tag, version string
		want         bool
	}{
		{"v2.9.9", "1.0.0", false}, {"v1.0.0", "1.0.0", true}, {"1.0.0", "1.0.0", true}, {"v1.0.0", "1.0.0-rc.1", false},
		{"1.0", "1.0.7", true}, {"1.0", "1.1.0", false}, {"1.2.3_b", "1.2.3+b", true}, {"prod", "1.0.0", true}, {"1.0_b", "1.0.7", true}, {"x.y@1.0", "1.0.7", true}, {"", "", true}, {"v1.0.0", "", false},
	} {
		if got := Names(c.tag, c.version); got != c.want {
			t.Errorf("Names(%q, %q) = %v", c.tag, c.version, got)
		}
	}
}

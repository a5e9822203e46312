package publish_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/registrytest"
	"github.com/knack-dev/knack/publish"
)

// TestCopyKeepsSignatures checks that a copy replaces no signature that the target has and the
// original does not.
func TestCopyKeepsSignatures(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m := newMachine(t)
	from, to := m.target(host, "acme/from", "v1"), m.target(host, "acme/to", "v1")
	digest := m.publish(skills(2), from).Digest
	for _, kind := range []string{".sig", ".att", ".sbom"} {
		tag := strings.Replace(digest, ":", "-", 1) + kind
		mine, other := registrytest.Pack(t, registrytest.Skills{"a": kind}), registrytest.Pack(t, registrytest.Skills{"b": kind})
		registrytest.Image(t, host, "acme/from", tag, nil, mine)
		copied := func() error {
			_, err := m.Copy(t.Context(), from.Repository, "v1", to)
			return err
		}
		if err := copied(); err != nil {
			t.Fatal(err)
		}
		for _, has := range []struct {
			layers  [][]byte
			refused bool
		}{{[][]byte{other}, true}, {[][]byte{mine, other}, false}} {
			want := registrytest.Image(t, host, "acme/to", tag, nil, has.layers...)
			err := copied()
			var refused *publish.Refused
			if errors.As(err, &refused) != has.refused || has.refused && !strings.Contains(err.Error(), "/acme/to has other signatures or statements under the tag "+tag) || !has.refused && err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if at, err := to.Repository.Resolve(t.Context(), tag); at != want || err != nil {
				t.Errorf("%s leads to %s, %v; want %s", tag, at, err, want)
			}
		}
	}
}

// TestReplacedVersion checks that the result says which versions have other content now.
func TestReplacedVersion(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m := newMachine(t)
	to := m.target(host, "acme/one", "prod", "v3.0.0")
	first := m.publish(skills(2), to)
	again := m.publish(skills(2), to)
	changed := m.publish(skills(3), to)
	if len(first.Replaced)+len(again.Replaced) != 0 || len(changed.Replaced) != 1 || changed.Replaced["v3.0.0"] != first.Digest {
		t.Errorf("%v, %v, %v", first.Replaced, again.Replaced, changed.Replaced)
	}
	m.From = "./empty"
	if _, err := m.try(library{}, to); err == nil || err.Error() != "./empty has no skills" {
		t.Error(err)
	}
}

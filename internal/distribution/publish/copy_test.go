package publish_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/publish"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// TestCopyKeepsSignatures checks that a copy never replaces signatures of the target that the
// original does not have.
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

// TestReplacedVersion checks that the result lists the versions that now have other content.
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

// TestCopyManyLayers checks that a copy removes sent layers from the disk: an image may have more
// layers than a process can have open files.
func TestCopyManyLayers(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m := newMachine(t)
	var layers [][]byte
	for i := range 40 {
		layers = append(layers, registrytest.Pack(t, registrytest.Skills{fmt.Sprint("s", i, "/SKILL.md"): registrytest.Skill(fmt.Sprint("s", i), "")}))
	}
	registrytest.Image(t, host, "acme/from", "v1", nil, layers...)
	var open, most atomic.Int64
	spool := m.Spool
	m.Spool = func() (origin.Spool, error) {
		s, err := spool()
		most.Store(max(most.Load(), open.Add(1)))
		return counted{s, &open}, err
	}
	to := m.target(registrytest.Start(t).Host, "acme/to", "v1")
	if r, err := m.Copy(t.Context(), m.target(host, "acme/from").Repository, "v1", to); err != nil || r.Sent != 41 {
		t.Fatalf("%+v, %v", r, err)
	}
	if open.Load() != 0 || most.Load() > registry.AtOnce {
		t.Errorf("%d files were open at once, and %d still are", most.Load(), open.Load())
	}
}

type counted struct {
	origin.Spool
	open *atomic.Int64
}

func (c counted) Close() error {
	c.open.Add(-1)
	return c.Spool.Close()
}

package install_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/install"
)

// TestVerifyAllocates checks that verify allocates little for each file of many skills, so that it
// takes hardly longer than hashing the files.
func TestVerifyAllocates(t *testing.T) {
	const skills = 200
	w := newWorld(t, "folder")
	for i := range skills {
		name := fmt.Sprint("skill-", i)
		put(t, filepath.Join(w.source, name), map[string]string{"SKILL.md": "---\nname: " + name + "\ndescription: x\n---\n", "a": "a", "b": "b"})
	}
	_, err := w.planAdd(w.options(), install.Request{Sources: []string{w.source}, All: true})
	must(t, err)
	_, err = w.run(w.options(), func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := in.PlanVerify(ctx, nil, nil)
		runtime.ReadMemStats(&after)
		if len(p.Steps) != skills || p.Outcome() != install.Done {
			t.Errorf("%d skills, %v", len(p.Steps), p.Outcome())
		}
		if took := (after.TotalAlloc - before.TotalAlloc) / (3 * skills); took > 20<<10 {
			t.Errorf("%d bytes for a file", took)
		} else {
			t.Logf("%d bytes for a file", took)
		}
		return &install.Plan{}, nil
	})
	must(t, err)
}

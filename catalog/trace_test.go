package catalog

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

// TestTrace checks that a trace has each file once, in the order of the last reads, and that
// reading a file clears the fault of an earlier one.
func TestTrace(t *testing.T) {
	ctx, trace := WithTrace(t.Context())
	fault := errors.New("no disk")
	for _, text := range []string{"a", "b", "a2"} {
		TraceOf(ctx).Failed(fault)
		if err := trace.Fault(); err != fault {
			t.Errorf("fault %v", err)
		}
		TraceOf(ctx).Got("skill://"+text[:1], []byte(text))
	}
	want := []Load{
		{"skill://b", skill.DigestOf([]byte("b")), 1},
		{"skill://a", skill.DigestOf([]byte("a2")), 2},
	}
	if diff := cmp.Diff(want, trace.Loads()); diff != "" || trace.Fault() != nil {
		t.Error(diff, trace.Fault())
	}
}

package bound

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// TestEnter checks that a file that needs all the memory is judged alone, and that a caller can
// stop waiting.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave, err := Enter(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waited, entered := make(chan error), make(chan error)
		go func() { _, err := Enter(ctx, 1); waited <- err }()
		go func() {
			leave, err := Enter(t.Context(), 1)
			entered <- err
			leave()
		}()
		synctest.Wait()
		select {
		case <-entered:
			t.Error("two files take more than the room")
		default:
		}
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		leave()
		if err := <-entered; err != nil {
			t.Error(err)
		}
	})
}

// TestFits checks that the number of nodes of a text, not its length, decides whether it fits.
func TestFits(t *testing.T) {
	for _, tt := range []struct {
		what string
		p    Parser
		text string
		want bool
	}{
		{"a long word", Shell, strings.Repeat("a", 2*Memory), true},
		{"many words", Shell, strings.Repeat("a ", Shell.Most()), true},
		{"too many words", Shell, strings.Repeat("a ", Shell.Most()+1), false},
		{"too many pipes", Shell, strings.Repeat("|", Shell.Most()+1), false},
		{"too many lines", YAML, strings.Repeat("a\n", YAML.Most()+1), false},
		{"a long line", YAML, strings.Repeat("a ", Memory), true},
	} {
		if got := tt.p.Fits(tt.text); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
}

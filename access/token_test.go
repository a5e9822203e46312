package access_test

import (
	"context"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

// TestParseTokens: what an editor does to a file is read, and a line of any length has a
// number and no words of this program's parts.
func TestParseTokens(t *testing.T) {
	token, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader("\ufeff" + line + " anna\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := tokens.Verify(context.Background(), token); !ok || s.Name != "anna" {
		t.Errorf("%+v %v", s, ok)
	}
	_, err = access.ParseTokens(strings.NewReader(line + "\n\n" + strings.Repeat("x", 100_000) + "\n"))
	const want = "line 3 is longer than 64 KiB: write one hash of a token a line, as 'knack config token' prints it, and whose it is"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

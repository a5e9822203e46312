package skillsext

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// maxCursor bounds a cursor in bytes. The client sends each cursor back to the server.
const maxCursor = 4 << 10

// pages counts the pages of one list of an untrusted server.
type pages struct {
	n    int
	seen map[[sha256.Size]byte]bool // hashes of the cursors, since a server could send gigabytes of cursors
}

// next records the cursor of a page. It returns an error if the list cannot be read to its end.
func (p *pages) next(cursor string) error {
	if cursor == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(cursor))
	p.n++
	switch {
	case len(cursor) > maxCursor:
		return fmt.Errorf("a cursor of the server has more than %d KiB", maxCursor>>10)
	case p.seen[sum]:
		return errors.New("the server repeats a cursor, so the pages do not end")
	case p.n >= maxPages:
		return fmt.Errorf("the pages do not end: there are more than %d", maxPages)
	case p.seen == nil:
		p.seen = map[[sha256.Size]byte]bool{}
	}
	p.seen[sum] = true
	return nil
}

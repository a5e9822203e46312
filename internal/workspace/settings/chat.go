package settings

import (
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
)

// KeyIn reads the key of an endpoint from a file that chat.models names. No error contains the
// file's content.
func (f *File) KeyIn(name string) (string, error) {
	key, err := secretIn(f.Resolve(name))
	if err != nil {
		return "", &Error{fmt.Errorf("%s: the key-file %s: %w", f.Shown, display.Echo(name), err), HintOf(err, "write into it the key, and nothing else"), false}
	}
	return key, nil
}

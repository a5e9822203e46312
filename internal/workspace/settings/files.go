package settings

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

// credentials is the folder of systemd's credentials, which exist only while their service runs.
const credentials = "/run/credentials/"

// UnusableFiles returns warnings about the files of tokens and certificates in the section http. It
// warns of a file with which a server would not start, and of a certificate that clients would
// refuse now. It gives no warning of a file that this user may not read, since the server's user
// may.
func (f *File) UnusableFiles(now time.Time) (warnings []string) {
	h := f.Config.HTTP
	var data [3][]byte
	fine := true
	for i, k := range []struct{ key, path string }{
		{"http.tls-cert", h.TLSCert}, {"http.tls-key", h.TLSKey}, {"http.token-file", h.TokenFile},
	} {
		if k.path == "" {
			continue
		}
		path := f.Resolve(k.path)
		var err error
		data[i], err = ReadUserFile(path)
		if err == nil && len(data[i]) > config.MaxSize {
			err = skill.ErrTooLarge
		}
		if err == nil {
			continue
		}
		data[i] = nil
		fine = fine && i == 2
		within, _ := filepath.Rel(credentials, path)
		if !errors.Is(err, fs.ErrPermission) && !(errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(within)) {
			warnings = append(warnings, fmt.Sprintf("%s: the server would not start with %s: %s: %s",
				k.key, display.Echo(k.path), ReasonOf(err), HintOf(err, "use a file of at most 1 MiB that knack can read")))
		}
	}
	if fine && h.TLSCert != "" {
		pair, err := tls.X509KeyPair(data[0], data[1])
		if err == nil && now.After(pair.Leaf.NotAfter) {
			warnings = append(warnings, fmt.Sprintf("http.tls-cert: the certificate %s ended at %s, and clients refuse it: renew it", display.Echo(h.TLSCert), pair.Leaf.NotAfter.UTC().Format(time.RFC3339)))
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("http.tls-cert, http.tls-key: the server would not start with %s and %s: %s: use a certificate and its own private key, both in PEM",
				display.Echo(h.TLSCert), display.Echo(h.TLSKey), err))
		}
	}
	if data[2] != nil {
		if _, err := access.ParseTokens(bytes.NewReader(data[2])); err != nil {
			warnings = append(warnings, fmt.Sprintf("http.token-file: the server would not start with %s: %s", display.Echo(h.TokenFile), err))
		}
	}
	return warnings
}

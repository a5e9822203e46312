package settings

import (
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/workspace/config"
)

// ScanPolicy returns the section scan of the file in effect, or of the user's file if inEffect is
// nil, with the file. A server on stdio obeys it too, although it reads no other settings. An
// unusable user's file is an error if it may contain the section: held-back skills must not be
// served because of a typing error or an unreadable file.
func ScanPolicy(env *console.Env, inEffect *File) (config.Scan, *File, error) {
	if inEffect != nil {
		return inEffect.Config.Scan, inEffect, nil
	}
	f, err := New(env, "").Trusted()
	switch {
	case err == nil && f == nil:
		return config.Scan{}, nil, nil
	case err == nil:
		return f.Config.Scan, f, nil
	}
	if data, readErr := ReadUserFile(New(env, "").UserFile()); readErr != nil || len(data) > config.MaxSize || scanKey().Match(data) {
		return config.Scan{}, nil, err
	}
	return config.Scan{}, nil, nil
}

// scanKey matches a possible key scan, in any notation.
var scanKey = lazyregexp.New(`scan["']?\s*:`)

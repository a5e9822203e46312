package buildinfo

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// ID returns an identifier of the running build. Cached results carry it, because another build
// might not repeat them. It is "" if the build is unknown. ID reads the executable at most once,
// and only if version and commit do not identify the build.
var ID = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		path = ""
	}
	if runtime.GOOS == "linux" {
		path = "/proc/self/exe" // the running file, even if another file is at its path now
	}
	return Current().id(path)
})

// id returns version and commit or, if these do not identify the build, the digest of the
// executable.
func (b Info) id(executable string) string {
	if !b.Modified && (b.Commit != "" || b.Version != "devel") {
		return fmt.Sprintln(b.Version, b.Commit, b.Go, b.Platform)
	}
	f, err := os.Open(executable)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil))
}

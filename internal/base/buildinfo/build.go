// Package buildinfo identifies the running build of knack.
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Info is the build information that knack version prints.
type Info struct {
	Version string `json:"version"`
	// Commit is empty for a build outside a repository. Modified is true if the files differed from
	// that commit.
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Current returns the build information that the Go toolchain wrote into the binary.
func Current() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return parse(info)
}

func parse(info *debug.BuildInfo) Info {
	b := Info{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the output line of knack version.
func (b Info) String() string {
	return fmt.Sprintf("knack %s (%s, %s)", b.Version, b.Go, b.Platform)
}

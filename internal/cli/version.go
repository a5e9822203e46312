package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/console"
)

// buildInfo is the output of knack version.
type buildInfo struct {
	Version string `json:"version"`
	// Commit is empty if the build had no repository, and Modified is set if its files
	// differed from that commit.
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// build returns the version that the Go toolchain wrote into the binary.
func build() buildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) buildInfo {
	b := buildInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

func (b buildInfo) String() string {
	return fmt.Sprintf("knack %s (%s, %s)", b.Version, b.Go, b.Platform)
}

func versionCommand(env *console.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  knack version
  knack version --json   # with the commit`,
		Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b := build()
			if asJSON {
				return console.PrintJSON(env.Stdout, b)
			}
			_, err := fmt.Fprintln(env.Stdout, b)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the commit, the Go version and the platform")
	return cmd
}

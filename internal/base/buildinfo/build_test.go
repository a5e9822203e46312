package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

func TestBuild(t *testing.T) {
	here := Info{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	released := here
	released.Version, released.Commit, released.Modified = "v1.2.3", "0123abc", true
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want Info
	}{
		"outside a repository": {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, here},
		"a release": {debug.BuildInfo{
			Main:     debug.Module{Version: "v1.2.3"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}},
		}, released},
	} {
		difftest.Same(t, parse(&c.info), c.want, name)
	}
}

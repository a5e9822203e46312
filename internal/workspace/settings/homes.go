package settings

import (
	"os"
	"path/filepath"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
)

// UnusableHomes returns a warning for each environment variable that is set to move the home of a
// client but cannot.
func UnusableHomes(env *console.Env, getenv func(string) string) (out []string) {
	if getenv == nil {
		return nil
	}
	homes := agents.Homes{Home: env.Home}
	for _, v := range agents.Variables() {
		value := getenv(v.Name)
		if value == "" || !v.Moves {
			continue
		}
		instead := "it is ignored"
		if at := homes.Path(v.Default); at != "" {
			instead = "knack reads " + env.Shown(filepath.FromSlash(at)) + " instead"
		}
		if !filepath.IsAbs(value) {
			out = append(out, v.Name+" is "+display.Echo(value)+", which is no absolute path: "+instead)
		} else if realpath.Ask(value, false, func() bool { info, err := os.Stat(value); return err == nil && !info.IsDir() }) {
			out = append(out, v.Name+" is "+display.Echo(value)+", which is no folder; name a folder, or unset it")
		}
	}
	return out
}

package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
)

// shadows says of each of these folders of skills why another skill answers to its name, by the
// snapshot that list and doctor read. Folders whose skill answers itself are left out.
func shadows(ctx context.Context, env *console.Env, project string, folders []string) map[string]string {
	from := sourceFlags{vets: vetsOnce}
	from.register(&cobra.Command{}, env)
	from.project = project
	v, err := from.view(ctx, *env)
	if err != nil {
		return nil
	}
	at := map[string]*catalog.Entry{}
	for _, e := range v.Entries {
		if e.Status == catalog.Shadowed && e.By != nil {
			at[realpath.Of(filepath.Join(e.Root.Dir, filepath.FromSlash(e.Path)))] = e
		}
	}
	why := map[string]string{}
	for _, folder := range folders {
		if e := at[realpath.Of(folder)]; e != nil {
			why[folder] = "it is shadowed: " + e.By.Place() + " has the same name and comes first, so that answers to " + display.Echo(e.Name) +
				"; remove or rename that one, or name this one " + v.Called(e)
		}
	}
	return why
}

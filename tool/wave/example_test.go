package wave_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/wave"
)

// A program uses contract 003 with the project of the agent's working folder.
func ExampleSkillManager() {
	ctx := context.Background()
	open := func(sources ...catalog.Source) (*lookup.Finder, error) {
		skills := catalog.New(sources, catalog.Options{})
		return &lookup.Finder{Catalog: skills}, skills.Refresh(ctx)
	}
	home, err := open(builtin.New())
	if err != nil {
		panic(err)
	}
	manager := &wave.SkillManager{Finder: home, Project: func(_ context.Context, workdir string) (*lookup.Finder, error) {
		root := skill.Root{Label: "wave-project", Scope: skill.ScopeProject, Dir: filepath.Join(workdir, ".wave", "skills"), Prefix: "wave-project"}
		return open(dir.New(dir.Options{Root: root}), builtin.New()) // keep it, for the next call in the same folder
	}}
	result, err := manager.Execute(ctx, wave.SkillToolArgs{SkillName: "engage"}, wave.ToolContext{Workdir: "testdata"})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Success, strings.SplitN(result.Content, "\n", 2)[0])
	// Output:
	// true Skill: engage (Type: personal)
}

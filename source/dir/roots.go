package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// wellKnown is one row of the table: the folders in which one client keeps skills.
type wellKnown struct {
	label   string // the root's label without its suffix "-project" or "-user"
	project string // below a project's folder; empty for none
	user    string // below the home folder; empty for none
	client  string
	source  string // the page that documents it, or the client's own command that lists it
}

// wellKnownRoots are in order of precedence. Contract 002 fixes the first two
// rows; the rest follow by how many clients read them.
var wellKnownRoots = []wellKnown{
	{"agent", ".agent/skills", ".agent/skills", "any", "contract 002"},
	{"claude", ".claude/skills", ".claude/skills", "Claude Code", "contract 002; the project's: https://code.claude.com/docs/en/skills; the user's, read only in a copy of that page: https://docs-jaan-to.pages.dev/docs/research/ai-workflow-claude-code-skills-official"},
	{"agents", ".agents/skills", ".agents/skills", "any", "https://agentskills.io/client-implementation/adding-skills-support, its table read at https://github.com/agentskills/agentskills/blob/4b9501659b24f6eb15815392fafc3094b1ca1e46/docs/client-implementation/integrating-skills.mdx; https://github.com/block/goose/blob/main/documentation/docs/guides/context-engineering/using-skills.md"},
	{"wave", ".wave/skills", ".wave/skills", "Wave", "contract 003"},
	{"codex", ".codex/skills", ".codex/skills", "Codex", "https://github.com/openai/codex/blob/main/codex-rs/core/src/skills/loader.rs (the user's is deprecated there, still read)"},
	{"gemini", ".gemini/skills", ".gemini/skills", "Gemini CLI", "https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/skills.md"},
	{"cursor", ".cursor/skills", ".cursor/skills", "Cursor", "https://cursor.com/docs/skills.md"},
	{"copilot", ".github/skills", ".copilot/skills", "GitHub Copilot", "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/create-skills"},
	{"opencode", ".opencode/skills", ".config/opencode/skills", "OpenCode", "https://opencode.ai/v1/docs/skills/"},
	{"opencode-skill", ".opencode/skill", ".config/opencode/skill", "OpenCode", "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/skill/skill.ts ({skill,skills}/**/SKILL.md)"},
	{"goose", ".goose/skills", ".config/goose/skills", "Goose", "https://github.com/block/goose/blob/main/documentation/docs/guides/context-engineering/using-skills.md; the user's: https://github.com/vercel-labs/skills#supported-agents"},
	{"windsurf", ".windsurf/skills", ".codeium/windsurf/skills", "Windsurf", "https://docs.windsurf.com/windsurf/cascade/skills.md"},
	{"amp", "", ".config/agents/skills", "Amp, Crush", "https://github.com/vercel-labs/skills#supported-agents; amp skill list, 0.0.1790142911"},
	{"amp-config", "", ".config/amp/skills", "Amp", "amp skill list, 0.0.1790142911"},
	{"qwen", ".qwen/skills", ".qwen/skills", "Qwen Code", "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/skills.md"},
	{"cline", ".cline/skills", ".cline/skills", "Cline", "https://docs.cline.bot/customization/skills"},
	{"clinerules", ".clinerules/skills", "", "Cline", "https://docs.cline.bot/customization/skills"},
	{"continue", ".continue/skills", ".continue/skills", "Continue", "https://github.com/continuedev/continue/blob/main/extensions/cli/src/util/loadMarkdownSkills.ts"},
	{"crush", ".crush/skills", ".config/crush/skills", "Crush", "https://github.com/charmbracelet/crush/blob/main/internal/config/load.go (GlobalSkillsDirs, projectSkillSubdirs)"},
	{"kilo", ".kilo/skills", ".kilo/skills", "Kilo Code", "kilo debug skill, 7.7.7"},
	{"kilo-config", "", ".config/kilo/skills", "Kilo Code", "kilo debug skill, 7.7.7"},
	{"kilocode", ".kilocode/skills", ".kilocode/skills", "Kilo Code", "https://github.com/vercel-labs/skills#supported-agents; kilo debug skill, 7.7.7"},
	{"opencode-home", "", ".opencode/skills", "OpenCode", "opencode debug skill, 1.18.33"},
}

// WellKnown lists the folders in which clients keep skills, first match first, whether
// they exist or not. projects are absolute project folders, home is the user's; either
// may be empty.
//
// Each project contributes itself and its parents up to the repository's root, see [Project]. A
// root's label is the row's with "-user", or with "-project" for the first of those folders and
// "-project-2", "-project-3" for the next. A label depends only on the folder's distance, not on
// the existence of other folders. The home folder is never a project, so that its roots count once,
// as global. Roots with the same real folder are listed once, as the first of them, with the other
// labels in [skill.Root.Also].
func WellKnown(projects []string, home string) []skill.Root {
	folders := projectFolders(projects, home)
	var out []skill.Root
	seen := map[string]int{} // 1 + the index of the root
	reals := map[string]string{}
	add := func(label string, scope skill.Scope, folder, suffix string) {
		if folder == "" || suffix == "" {
			return
		}
		dir := filepath.Join(folder, filepath.FromSlash(suffix))
		real := realBelow(folder, suffix, reals)
		if i := seen[real] - 1; i >= 0 {
			out[i].Also = strings.TrimPrefix(out[i].Also+","+label, ",")
			return
		}
		out = append(out, skill.Root{Label: label, Scope: scope, Dir: dir})
		seen[real] = len(out)
	}
	for _, row := range wellKnownRoots {
		for i, dir := range folders {
			label := row.label + "-project"
			if i > 0 {
				label = fmt.Sprintf("%s-%d", label, i+1)
			}
			add(label, skill.ScopeProject, dir, row.project)
		}
		add(row.label+"-user", skill.ScopeGlobal, home, row.user)
	}
	return out
}

// projectFolders returns the projects with their parents, each real folder once and
// without the home folder.
func projectFolders(projects []string, home string) []string {
	seen := map[string]bool{}
	if home != "" {
		seen[realpath.Of(home)] = true
	}
	var out []string
	for _, project := range projects {
		if project == "" {
			continue
		}
		for _, dir := range Project(project, home) {
			if real := realpath.Of(dir); !seen[real] {
				seen[real] = true
				out = append(out, dir)
			}
		}
	}
	return out
}

// Repository lists dir and its parents up to the folder that contains ".git", which is a folder, or
// a file in a linked worktree. Outside a repository it lists only dir.
func Repository(dir string) (chain []string) {
	dir = filepath.Clean(dir)
	for at := dir; ; at = filepath.Dir(at) {
		chain = append(chain, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return chain
		}
		if at == filepath.Dir(at) {
			return []string{dir}
		}
	}
}

// Project lists the folder of a project and its parents up to the root of its repository, as
// [Repository] does. The home folder is never a project, by any path: its list is empty. A
// repository that contains the home folder is the user's own, and a folder in it is a project by
// itself.
func Project(folder, home string) (chain []string) {
	chain = Repository(folder)
	if home == "" {
		return chain
	}
	for i, at := range chain {
		if realpath.Same(at, home) {
			return chain[:min(i, 1)]
		}
	}
	return chain
}

// InRepository reports whether a folder is in a repository that does not contain the home folder.
func InRepository(folder, home string) bool {
	chain := Project(folder, home)
	return len(chain) > 0 && exists(filepath.Join(chain[len(chain)-1], ".git"))
}

// realBelow returns [realpath.Of] for a path below a folder. Few of the well-known folders exist.
// If the first part of sub is missing, folder is resolved only once.
func realBelow(folder, sub string, reals map[string]string) string {
	first, _, _ := strings.Cut(sub, "/")
	sub = filepath.FromSlash(sub)
	if _, err := os.Lstat(filepath.Join(folder, first)); !errors.Is(err, fs.ErrNotExist) {
		return realpath.Of(filepath.Join(folder, sub))
	}
	real, ok := reals[folder]
	if !ok {
		real = realpath.Of(folder)
		reals[folder] = real
	}
	return filepath.Join(real, sub)
}

package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// repository is a repository of the corpus with 17 skills. Their names are so unusual that a name
// in a request can only be the skill's.
const repository = "hashicorp+agent-skills"

// listedSkill is a skill that the model should see.
type listedSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	File        string `json:"file"`
}

// builtin lists the skills that every server has.
var builtin = []listedSkill{{Name: "engage"}, {Name: "write-a-skill"}}

// list returns the skills that knack finds in a folder.
func list(dir string) ([]listedSkill, error) {
	binary, err := knack()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(binary, "list", "--no-builtin", "--json", "--dir", dir).Output()
	if err != nil {
		return nil, fmt.Errorf("knack list: %w", err)
	}
	var v struct{ Skills []listedSkill }
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, fmt.Errorf("knack list: %w", err)
	}
	return v.Skills, nil
}

// long is the name of the generated skill with long files.
const long = "long-read"

// sizes lists the sizes of the generated files, in thousands of bytes.
var sizes = []int{9, 20, 28, 40}

// oneLine is the name of a generated file that has 30 kB in a single line.
const oneLine = "references/line.txt"

// longFile returns the name of a generated file.
func longFile(thousands int) string { return fmt.Sprintf("references/%dk.md", thousands) }

// lines returns a text of the given number of bytes. Each line contains its own number.
func lines(head, name string, bytes int) string {
	b := &strings.Builder{}
	b.WriteString(head)
	for n := 1; b.Len() < bytes; n++ {
		line := fmt.Sprintf("Line %04d of %s: whatever the reader is told here, no line may be missing.\n", n, name)
		if rest := bytes - b.Len() - len(line); rest < 0 {
			line = strings.Repeat(".", len(line)+rest-1) + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// writeLong writes the skill with long files below a folder, and returns the texts by file name.
func writeLong(dir string) (map[string]string, error) {
	texts := map[string]string{
		"SKILL.md": lines("---\nname: "+long+"\ndescription: Checks that long texts arrive whole.\n---\n", "SKILL.md", 40_000),
	}
	for _, n := range sizes {
		texts[longFile(n)] = lines("", longFile(n), n*1000)
	}
	texts[oneLine] = strings.ReplaceAll(lines("", oneLine, 30_000), "\n", " ")
	return texts, write(filepath.Join(dir, long), texts)
}

// longText is the least number of bytes of a text of the corpus that counts as long.
const longText = 36_000

// copyLong makes a skill whose files are the long texts of a folder, and returns the texts by file
// name.
func copyLong(from, to string) (map[string]string, error) {
	texts := map[string]string{}
	err := filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(at)
		if err == nil && len(data) >= longText && utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			texts[fmt.Sprintf("%02d%s", len(texts), filepath.Ext(at))] = string(data)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	files := maps.Clone(texts)
	files["SKILL.md"] = "---\nname: " + long + "\ndescription: Has the long texts of the corpus.\n---\n"
	return texts, write(to, files)
}

// write writes files below a folder.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// places lists the folders below a home or a project in which clients keep skills.
var places = []string{
	".agent/skills", ".agents/skills", ".claude/skills", ".codex/skills", ".gemini/skills", ".cursor/skills", ".github/skills", ".copilot/skills",
	".opencode/skills", ".config/opencode/skills", ".qwen/skills", ".cline/skills", ".continue/skills", ".goose/skills", ".windsurf/skills",
	".kilo/skills", ".kimi-code/skills", ".pi/agent/skills",
}

// writtenSkill is a skill that writeEverywhere or writeLayouts writes.
type writtenSkill struct {
	name, description string
	where, place      string // "user" or "project", and an element of places; "" for a skill of the layouts
}

// layouts lists the places of a project that get skills in unusual forms: a link to a folder
// elsewhere, a copy of a skill that knack finds first, and a skill one folder deeper. Each client
// reads one of the places.
var layouts = []string{".agents/skills", ".claude/skills"}

// writeLayouts writes the skills of the layouts into a project.
func writeLayouts(project string) (all []writtenSkill, err error) {
	for _, place := range layouts {
		dir, word := filepath.Join(project, filepath.FromSlash(place)), strings.Trim(path.Dir(place), ".")
		for layout, at := range map[string][]string{
			"linked": {filepath.Join(project, "elsewhere")},
			"copied": {dir, filepath.Join(project, ".agent", "skills")},
			"nested": {filepath.Join(dir, "group")},
		} {
			k := writtenSkill{name: layout + "-in-" + word, description: fmt.Sprintf("Is %s in %s of the project.", layout, place)}
			for _, folder := range at {
				if err := write(filepath.Join(folder, k.name), map[string]string{"SKILL.md": fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nNothing to do.\n", k.name, k.description)}); err != nil {
					return nil, err
				}
			}
			if layout == "linked" {
				if err := os.Symlink(filepath.Join("..", "..", "elsewhere", k.name), filepath.Join(dir, k.name)); err != nil {
					return nil, err
				}
			}
			all = append(all, k)
		}
	}
	return all, nil
}

// writeEverywhere writes a skill into each of the places.
func writeEverywhere(home, project string) (all []writtenSkill, err error) {
	for _, place := range places {
		for where, dir := range map[string]string{"user": home, "project": project} {
			word := strings.NewReplacer("/skills", "", "/", "-", ".", "").Replace(place)
			k := writtenSkill{name: "kept-" + word + "-" + where, description: fmt.Sprintf("Stands in the %s folder %s.", where, place), where: where, place: place}
			text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nNothing to do.\n", k.name, k.description)
			if err := write(filepath.Join(dir, filepath.FromSlash(place), k.name), map[string]string{"SKILL.md": text}); err != nil {
				return nil, err
			}
			all = append(all, k)
		}
	}
	others, err := writeLayouts(project)
	if err != nil {
		return nil, err
	}
	all = append(all, others...)
	slices.SortFunc(all, func(a, b writtenSkill) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// known returns the names of the skills that knack lists when no root is excluded.
func (r *session) known() (names []string, err error) {
	binary, err := knack()
	if err != nil {
		return nil, err
	}
	if err := r.start(binary, "list", "--json", "--project", r.project); err != nil {
		return nil, err
	}
	var v struct{ Skills []listedSkill }
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		return nil, fmt.Errorf("knack list: %w", err)
	}
	for _, s := range v.Skills {
		names = append(names, s.Name)
	}
	return names, nil
}

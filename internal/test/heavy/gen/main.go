package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/knack-dev/knack/internal/test/heavy"
)

func main() {
	for i, f := range heavy.Files(2_000_000) {
		dir := filepath.Join(os.Args[1], fmt.Sprintf("s%02d", i))
		os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Path)), 0o755)
		os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(fmt.Sprintf("---\nname: s%02d\ndescription: d\n---\nHello.\n", i)), 0o644)
		text := f.Text
		if f.Path == "SKILL.md" && text[:3] != "---" {
			text = fmt.Sprintf("---\nname: s%02d\ndescription: d\n---\n", i) + text
		}
		os.WriteFile(filepath.Join(dir, f.Path), []byte(text), 0o644)
		fmt.Printf("s%02d\t%s\n", i, f.Name)
	}
}

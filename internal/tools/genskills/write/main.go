// Command write writes generated skills into a folder:
//
//	go run ./internal/tools/genskills/write -n 10000 /some/new/folder
//
// The folder must be empty or missing. Equal flags write equal bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/tools/genskills"
)

func main() {
	var o genskills.Options
	n := flag.Int("n", 1000, "how many skills")
	flag.Uint64Var(&o.Seed, "seed", 1, "which skills")
	flag.Float64Var(&o.Faults, "faults", 0, "the share of skills with a fault, from 0 to 1; of real ones 0.07 written by hand")
	flag.Float64Var(&o.Collisions, "collisions", 0, "the share that take their name from a few hundred, from 0 to 1")
	flag.BoolVar(&o.MainOnly, "main-only", false, "write SKILL.md only")
	flag.BoolVar(&o.Flat, "flat", false, "put all skills side by side")
	flag.Parse()
	if flag.NArg() != 1 || *n < 0 {
		fmt.Fprintln(os.Stderr, "usage: write [flags] FOLDER")
		flag.PrintDefaults()
		os.Exit(2)
	}
	files, bytes, err := write(flag.Arg(0), *n, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(3)
	}
	fmt.Printf("%d skills, %d files, %d bytes in %s\n", *n, files, bytes, flag.Arg(0))
}

func write(root string, n int, o genskills.Options) (files, bytes int64, err error) {
	if old, err := os.ReadDir(root); err == nil && len(old) > 0 {
		return 0, 0, fmt.Errorf("%s is not empty; give a new folder", root)
	}
	var wg sync.WaitGroup
	var next, fileCount, byteCount atomic.Int64
	failed := make([]error, runtime.GOMAXPROCS(0))
	for w := range failed {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed[w] == nil; i = int(next.Add(1)) - 1 {
				s := o.At(i)
				for _, f := range s.Files {
					fileCount.Add(1)
					byteCount.Add(int64(len(f.Data)))
				}
				failed[w] = writeSkill(root, s)
			}
		})
	}
	wg.Wait()
	return fileCount.Load(), byteCount.Load(), errors.Join(failed...)
}

func writeSkill(root string, s genskills.Skill) error {
	for _, f := range s.Files {
		at := filepath.Join(root, filepath.FromSlash(s.Path), filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := os.WriteFile(at, f.Data, mode); err != nil {
			return err
		}
	}
	return nil
}

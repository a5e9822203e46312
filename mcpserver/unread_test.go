package mcpserver_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// faulty is a source in which the function open is called before a file named data.txt is opened,
// and may fail.
type faulty struct {
	catalog.Source
	open *atomic.Pointer[func() error]
}

func (s faulty) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.Source.Scan(ctx)
	scan.Bundles = slices.Clone(scan.Bundles)
	for i := range scan.Bundles {
		b := *scan.Bundles[i]
		b.FS, scan.Bundles[i] = faultyFiles{b.FS, s.open}, &b
	}
	return scan, err
}

type faultyFiles struct {
	fs.FS
	open *atomic.Pointer[func() error]
}

func (f faultyFiles) Open(name string) (fs.File, error) {
	if open := f.open.Load(); open != nil && name == "data.txt" {
		if err := (*open)(); err != nil {
			return nil, err
		}
	}
	return f.FS.Open(name)
}

func (f faultyFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// TestListSaysWhatItCannotRead checks that a list that lacks a skill is marked as incomplete, so
// that clients do not cache it. Only a list without skills beyond the limits of publication counts
// as complete.
func TestListSaysWhatItCannotRead(t *testing.T) {
	root := tree(t, map[string]string{"fine/SKILL.md": skillMD("fine", "Fine.", ""), "one/SKILL.md": skillMD("one", "One.", ""), "one/data.txt": "x"})
	alone := tree(t, map[string]string{"one/SKILL.md": skillMD("one", "One.", ""), "one/data.txt": "x"})
	for name, row := range map[string]struct {
		open       func() error
		skills     int
		incomplete bool
		code       int64 // of skills/get
	}{
		"fine":            {nil, 2, false, 0},
		"a broken disk":   {func() error { return syscall.EIO }, 1, true, jsonrpc.CodeInternalError},
		"no descriptors":  {func() error { return syscall.EMFILE }, 1, true, jsonrpc.CodeInternalError},
		"always written":  {func() error { return skill.ErrUnstable }, 1, true, jsonrpc.CodeInternalError},
		"a silent disk":   {func() error { <-time.After(time.Hour); return nil }, 1, true, -32000},
		"over the limits": {func() error { return skill.ErrTooLarge }, 1, false, jsonrpc.CodeInvalidParams},
		"not all of it":   {func() error { return skill.ErrIncomplete }, 1, false, jsonrpc.CodeInvalidParams},
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, dir := range []string{root, alone} {
				var open atomic.Pointer[func() error]
				s := serve(t, scanned(t, faulty{folder(dir), &open}))
				if row.open != nil {
					open.Store(&row.open)
				}
				p := talk(t, s, "")
				ask := func(method, params string) string {
					return p.ask(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s%s}}`, method, params, doorMeta))
				}
				begun := time.Now()
				list := ask("skills/list", "")
				if dir == alone {
					if empty := strings.Contains(list, `"code":-32000`) && strings.Contains(list, "1 skill cannot be read now"); empty != row.incomplete {
						t.Errorf("%s: no skill is listed by %s", name, list)
					}
					continue
				}
				if n := strings.Count(list, `"frontmatter"`); n != row.skills || strings.Contains(list, `"ttlMs":0,`) != row.incomplete || strings.Contains(list, `"knack.dev/incomplete":"1 skill cannot be read now; try again in a moment"`) != row.incomplete {
					t.Errorf("%s: %d skills, %s", name, n, list)
				}
				get := ask("skills/get", `"uri":"skill://one/SKILL.md",`)
				if want := fmt.Sprintf(`"code":%d`, row.code); row.code != 0 && !strings.Contains(get, want) || row.code == 0 && !strings.Contains(get, `"frontmatter"`) {
					t.Errorf("%s: %s", name, get)
				}
				if took := time.Since(begun); took > 20*time.Second {
					t.Errorf("%s: it took %v", name, took)
				}
			}
			<-time.After(2 * time.Hour)
		})
	}
}

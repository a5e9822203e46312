package tool

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestLongNames checks that a name or path of 4 MB gets the same answer as a name just over the
// limit, and costs hardly any memory or time.
func TestLongNames(t *testing.T) {
	testwait.Slow(t)
	h, _ := onDisk(t, 100)
	answer := func(set, name, key, text string) (out string, allocated uint64, took time.Duration) {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		args := `{"` + key + `":` + string(raw)
		switch key {
		case "skill_name":
			if strings.HasPrefix(name, "read_") {
				args += `,"file_path":"x"`
			}
		case "file_path":
			args += `,"skill_name":"calculator"`
		}
		whole := json.RawMessage(args + "}")
		tl, m, begun := toolOf(t, set, name), runtime.MemStats{}, time.Now()
		runtime.ReadMemStats(&m)
		before := m.TotalAlloc
		r, err := tl.Call(t.Context(), h, whole)
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(begun)
		runtime.ReadMemStats(&m)
		return r.Text, m.TotalAlloc - before - uint64(len(whole)), took // the arguments are copied once
	}
	tried := 0
	for _, set := range []string{"default", "universal", "wave", "runner", "uri"} {
		for _, tl := range toolsOf(t, set) {
			for _, key := range []string{"name", "command", "skill_name", "uri", "file_path"} {
				if !slices.Contains(tl.keys, key) && !strings.Contains(string(tl.Schema), `"`+key+`"`) {
					continue
				}
				for shape, unit := range map[string]string{"letters": "abcdefgh", "spaces": "a b\n", "accents": "é", "escapes": "\"\\", "slashes": "a/", "controls": "\x01"} {
					begin := ""
					if key == "uri" {
						begin = "skill://"
					}
					want, _, _ := answer(set, tl.Name, key, (begin + strings.Repeat(unit, 5000))[:4097])
					raw, err := json.Marshal(unit)
					if err != nil {
						t.Fatal(err)
					}
					got, allocated, took := answer(set, tl.Name, key, begin+strings.Repeat(unit, 4<<20/(len(raw)-2)))
					tried++
					difftest.Same(t, got, want, set, tl.Name, key, shape)
					if len(got) > 20_000 {
						t.Errorf("%s %s %s, %s: %d bytes", set, tl.Name, key, shape, len(got))
					}
					t.Logf("%s %s %s, %s: %d KiB, %v", set, tl.Name, key, shape, int64(allocated)>>10, took.Round(100*time.Microsecond))
					if int64(allocated) > 4<<20 {
						t.Errorf("%s %s %s, %s: %d KiB allocated", set, tl.Name, key, shape, allocated>>10)
					}
				}
			}
		}
	}
	if tried < 30 {
		t.Errorf("only %d calls", tried)
	}
}

package mcpserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Answers of every length around a piece of net/http's are whole when they are given
// again, and none is waited for.
func TestAnswersOfAnyLength(t *testing.T) {
	files := map[string]string{"long/SKILL.md": skillMD("long", "Has long files.", "x")}
	var names []string
	for _, size := range []int{60_000, 66_000, 140_000} {
		names = append(names, fmt.Sprint(size))
	}
	for size := 1650; size <= 2050; size++ { // the text is in the answer twice
		names = append(names, fmt.Sprint(size))
	}
	for _, name := range names {
		size := 0
		fmt.Sscan(name, &size)
		files["long/"+name+".txt"] = strings.Repeat("y", size)
	}
	w := start(t, setting{files: files})
	grow(t, w)
	defer func(was time.Duration) { http.DefaultClient.Timeout = was }(http.DefaultClient.Timeout)
	http.DefaultClient.Timeout = 20 * time.Second
	for _, era := range []string{modern, legacy} {
		c := w.dial(era)
		before, asked := w.server.Recalled(), 0
		for _, name := range names {
			call := c.body("tools/call", map[string]any{"name": "read_file_in_skill", "arguments": map[string]any{"skill_name": "long", "file_path": name + ".txt"}})
			first := told(t, c.post(call))
			if !strings.Contains(first, strings.Repeat("y", 1000)) {
				t.Fatalf("%s: %.300s", name, first)
			}
			id := fmt.Sprintf(`"id":%d`, c.next)
			for _, longer := range []string{"", "0"} { // by one byte
				want := strings.Replace(first, id, id+longer, 1)
				if again := told(t, c.post(strings.Replace(call, id, id+longer, 1))); again != want {
					t.Fatalf("%s, %s: asked again: %.300s, and at first %.300s", era, name, again, want)
				}
				asked++
			}
		}
		if given := w.server.Recalled() - before; given != uint64(asked) {
			t.Errorf("%s: %d of %d answers were given again", era, given, asked)
		}
	}
}

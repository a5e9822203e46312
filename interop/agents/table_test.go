package agents

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write what was seen into the document")

// document is the path of the file with the tables: doc/clients.md, or another file to compare
// with.
var document = flag.String("document", "../../doc/clients.md", "the document with the tables")

// record contains the results of a run: for each table, the rows by client, which is the first cell
// of a row. In the document, each table stands between two comments with the table's name.
type record struct {
	sync.Mutex
	rows map[string]map[string]string
}

var seen = &record{rows: map[string]map[string]string{}}

// begin records that a row is being measured. With -update, the old row is removed even if the
// measurement fails.
func (r *record) begin(table, client string) {
	r.Lock()
	defer r.Unlock()
	if r.rows[table] == nil {
		r.rows[table] = map[string]string{}
	}
	r.rows[table][client] = ""
}

// skip records that a row was not measured, so that the old row stays.
func (r *record) skip(table, client string) {
	r.Lock()
	defer r.Unlock()
	delete(r.rows[table], client)
}

// cell records one row. It fails the test if the document has a different row. An empty cell was
// not measured, so the document's cell stays.
func (r *record) cell(t *testing.T, table string, cells ...string) {
	t.Helper()
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	r.Lock()
	defer r.Unlock()
	text, err := os.ReadFile(*document)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _, err := section(string(text), table)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(rows) {
		old := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |\n"), " | ")
		for i := range cells {
			if old[0] == cells[0] && len(old) == len(cells) && cells[i] == "" {
				cells[i] = old[i]
			}
		}
	}
	row := "| " + strings.Join(cells, " | ") + " |"
	t.Log(row)
	r.rows[table][cells[0]] = row
	if !*update && !slices.Contains(strings.Split(rows, "\n"), row) {
		t.Errorf("%s has another row in the table %s; -update writes this one:\n%s", *document, table, row)
	}
}

// close writes the rows into the document if -update is set. Rows of clients that did not run stay.
func (r *record) close() error {
	if !*update || len(r.rows) == 0 {
		return nil
	}
	data, err := os.ReadFile(*document)
	if err != nil {
		return err
	}
	text := string(data)
	for table, rows := range r.rows {
		before, old, after, err := section(text, table)
		if err != nil {
			return fmt.Errorf("%s: %w", *document, err)
		}
		text = before + merge(old, rows) + after
	}
	return os.WriteFile(*document, []byte(text), 0o644)
}

// merge replaces the rows of a table, and returns them in the order of the clients. An empty row
// removes the old one.
func merge(old string, rows map[string]string) string {
	head := strings.SplitN(old, "\n", 3)
	all := map[string]string{}
	for line := range strings.Lines(head[2]) {
		if cells := strings.Split(line, " | "); len(cells) > 1 {
			all[strings.TrimPrefix(cells[0], "| ")] = strings.TrimSuffix(line, "\n")
		}
	}
	for name, row := range rows {
		all[name] = row
	}
	out := head[0] + "\n" + head[1] + "\n"
	for _, a := range agents {
		for _, name := range []string{a.name, a.name + native} {
			if row := all[name]; row != "" {
				out += row + "\n"
			}
		}
	}
	return out
}

// native is the text after the client's name in a row about the client's own list of skills.
const native = ", own list"

// section cuts a document into the parts before, in and after one table.
func section(text, table string) (before, rows, after string, err error) {
	begin, end := "<!-- "+table+": written by make agents -->\n", "<!-- end of "+table+" -->"
	head, rest, ok := strings.Cut(text, begin)
	rows, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 || strings.Count(rows, "\n") < 2 {
		return "", "", "", fmt.Errorf("no table %s with a heading", table)
	}
	return head + begin, rows, end + tail, nil
}

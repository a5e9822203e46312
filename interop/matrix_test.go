package interop

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write what was seen into results.txt and doc/conformance.md")

// document is the file with every result of the suite. doc/conformance.md has a summary of it.
const document = "results.txt"

// record contains the results of a run of the suite, to compare with the document. Each table in
// the document stands between two comments with the table's name.
type record struct {
	sync.Mutex
	seen    map[string][]string // rows by table, formatted as in the document
	partial bool                // set if the run left something out
}

var matrix = &record{seen: map[string][]string{}}

// cell records one row of a table. It fails the test if the document does not have this row.
func (m *record) cell(t *testing.T, table string, columns ...string) {
	t.Helper()
	for i, c := range columns {
		columns[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	row := "| " + strings.Join(columns, " | ") + " |"
	m.Lock()
	m.seen[table] = append(m.seen[table], row)
	m.Unlock()
	if *update {
		return
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _, err := section(string(text), table)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Split(rows, "\n"), row) {
		t.Errorf("%s has no such row; -update writes it:\n%s", document, row)
	}
}

// skipped records that this run does not measure all tables completely.
func (m *record) skipped() {
	m.Lock()
	defer m.Unlock()
	m.partial = true
}

// close checks the other direction after a complete run: each row of the document must have been
// measured. With -update it writes the tables.
func (m *record) close(passed bool) error {
	if !passed || m.partial || testing.Short() || flag.Lookup("test.run").Value.String() != "" && flag.Lookup("test.run").Value.String() != "Interop" ||
		flag.Lookup("test.skip").Value.String() != "" || flag.Lookup("test.list").Value.String() != "" || len(m.seen) == 0 {
		return nil
	}
	data, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	text := string(data)
	for _, table := range tables {
		before, rows, after, err := section(text, table)
		if err != nil {
			return err
		}
		head := strings.SplitN(rows, "\n", 3)
		if len(head) < 2 {
			return fmt.Errorf("%s: the table %s has no heading", document, table)
		}
		seen := slices.Clone(m.seen[table])
		slices.Sort(seen)
		seen = slices.Compact(seen)
		if *update {
			text = before + strings.Join(append(head[:2:2], seen...), "\n") + "\n" + after
			continue
		}
		for row := range strings.Lines(rows) {
			row = strings.TrimSuffix(row, "\n")
			if row != head[0] && row != head[1] && !slices.Contains(seen, row) {
				return fmt.Errorf("%s: nothing saw this row of the table %s; -update removes it:\n%s", document, table, row)
			}
		}
	}
	if *update {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
			return err
		}
		return writePage(text)
	}
	return nil
}

// tables lists the tables of the document that are compared with the results.
var tables = []string{"skills", "general", "reference"}

// section cuts a document into the parts before, in and after one table.
func section(text, table string) (before, rows, after string, err error) {
	begin, end := "<!-- "+table+": written by go test ./interop -update -->\n", "<!-- end of "+table+" -->"
	head, rest, ok := strings.Cut(text, begin)
	rows, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("%s has no table %s", document, table)
	}
	return head + begin, rows, end + tail, nil
}

// Command eval compares our search with bleve, a search library that shares no code with it, on the
// same skills, fields and questions.
//
//	go -C internal/tools/searcheval run . CORPUS [QUERIES]
//
// It prints a table of recall@5, MRR and the mean number of results. With a file of queries, it
// measures only these queries. Each line of the file has a query, a tab, and the names of the
// suitable skills, separated by commas. Without a file, it fails if bleve with its defaults is
// better than our search. It also fails if the recall of a set of tasks that was not used for
// tuning is lower than promised. It is a separate module, so that bleve is not in knack's go.mod.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/tools/knownitem"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: eval CORPUS [QUERIES]")
		os.Exit(2)
	}
	failed, err := run(context.Background(), os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(3)
	}
	for _, why := range failed {
		fmt.Fprintln(os.Stderr, "eval:", why)
	}
	if len(failed) > 0 {
		os.Exit(1)
	}
}

// engine is a search engine. ask returns the names of the skills found, the best first.
type engine struct {
	name string
	ask  func(query string) ([]string, error)
}

func run(ctx context.Context, corpus string, queries []string) (failed []string, err error) {
	v, err := view(ctx, filepath.Join(corpus, "skills"))
	if err != nil {
		return nil, err
	}
	sets := own()
	if len(queries) > 0 {
		table, err := os.ReadFile(queries[0])
		if err != nil {
			return nil, err
		}
		all, err := knownitem.Named(v, string(table))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", queries[0], err)
		}
		sets = []set{{name: filepath.Base(queries[0]), all: all}}
	}
	engines := []engine{{"knack", func(query string) (names []string, err error) {
		found, err := v.Search(ctx, catalog.Query{Text: query})
		for _, h := range found.Hits {
			names = append(names, h.Name)
		}
		return names, err
	}}}
	docs, err := documents(ctx, v)
	if err != nil {
		return nil, err
	}
	english := bleve.NewIndexMapping()
	english.DefaultAnalyzer = en.AnalyzerName
	for _, b := range []struct {
		name      string
		m         *mapping.IndexMappingImpl
		fuzziness int
	}{
		{"bleve", bleve.NewIndexMapping(), 0},
		{"bleve, English analyzer", english, 0},
		{"bleve, fuzziness 1", bleve.NewIndexMapping(), 1},
	} {
		e, err := oracle(b.name, b.m, b.fuzziness, docs)
		if err != nil {
			return nil, err
		}
		engines = append(engines, e)
	}
	return table(v, sets, engines)
}

// promised is the minimum recall@5 of each set of tasks that was not used for tuning.
const promised = 0.95

// set is a named set of questions.
type set struct {
	name     string
	all      []knownitem.Question
	own      bool    // a set of the project: bleve with its defaults must not be better
	promised float64 // the minimum recall@5
}

// own returns the sets of the project.
func own() []set {
	tune, report := knownitem.Questions()
	tuneTasks, tasks := knownitem.Tasks()
	tuneBodies, bodies := knownitem.Bodies()
	return []set{
		{"tuned on", slices.Concat(tune, tuneTasks, tuneBodies), true, 0},
		{"held out", report, true, 0},
		{"held out, mistyped", knownitem.Mistyped(report), true, 0},
		{"tasks, held out", tasks, true, promised},
		{"bodies, held out", bodies, true, promised},
		{"fresh tasks", knownitem.Fresh(), true, promised},
	}
}

func table(v catalog.View, sets []set, engines []engine) (failed []string, err error) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "questions\tnumber\tengine\trecall@5\tMRR\tresults\tms each")
	for _, set := range sets {
		var ours knownitem.Score
		for i, e := range engines {
			begin := time.Now()
			s, err := knownitem.Measure(v, set.all, e.ask)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			each := time.Since(begin).Seconds() * 1000 / float64(len(set.all))
			fmt.Fprintf(w, "%s\t%d\t%s\t%.3f\t%.3f\t%.1f\t%.3f\n", set.name, len(set.all), e.name, s.Recall, s.Rank, s.Results, each)
			switch i {
			case 0:
				ours = s
				if s.Recall < set.promised {
					failed = append(failed, fmt.Sprintf("%s: recall@5 is %.3f, promised are %.2f", set.name, s.Recall, set.promised))
				}
			case 1: // the engine with its defaults
				if set.own && (ours.Recall < s.Recall || ours.Rank < s.Rank) {
					failed = append(failed, set.name+": bleve as it comes is better")
				}
			}
		}
	}
	return failed, nil
}

func view(ctx context.Context, at string) (catalog.View, error) {
	at, err := filepath.Abs(at)
	if err != nil {
		return catalog.View{}, err
	}
	if err := dir.Check(at); err != nil {
		return catalog.View{}, err
	}
	root := skill.Root{Label: "corpus", Scope: skill.ScopeProject, Dir: at}
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: root, Required: true})}, catalog.Options{})
	if err := c.Refresh(ctx); err != nil {
		return catalog.View{}, err
	}
	v, err := c.View(ctx)
	if err == nil {
		_, err = v.Search(ctx, catalog.Query{Text: "warm"}) // builds the index
	}
	return v, err
}

// document is the part of a skill that both engines index.
type document struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Headings    []string `json:"headings"`
	Beginning   string   `json:"beginning"`
}

func documents(ctx context.Context, v catalog.View) ([]document, error) {
	found, err := v.Search(ctx, catalog.Query{})
	if err != nil {
		return nil, err
	}
	docs := make([]document, len(found.Hits))
	for i, h := range found.Hits {
		data, _, err := h.Skill.Read()
		if err != nil {
			return nil, err
		}
		docs[i] = document{h.Name, h.Description, h.Tags(), skill.Headings(data, 200), skill.Beginning(data, 600)}
	}
	return docs, nil
}

// oracle returns bleve as an engine, with a match query over all fields.
func oracle(name string, m *mapping.IndexMappingImpl, fuzziness int, docs []document) (engine, error) {
	x, err := bleve.NewMemOnly(m)
	if err != nil {
		return engine{}, err
	}
	batch := x.NewBatch()
	for i, d := range docs {
		if err := batch.Index(fmt.Sprint(i), d); err != nil {
			return engine{}, err
		}
	}
	if err := x.Batch(batch); err != nil {
		return engine{}, err
	}
	return engine{name, func(query string) (names []string, err error) {
		q := bleve.NewMatchQuery(query)
		q.SetFuzziness(fuzziness)
		r, err := x.Search(bleve.NewSearchRequestOptions(q, len(docs), 0, false))
		if err != nil {
			return nil, err
		}
		for _, h := range r.Hits {
			var i int
			if _, err := fmt.Sscan(h.ID, &i); err != nil {
				return nil, err
			}
			names = append(names, docs[i].Name)
		}
		return names, nil
	}}, nil
}

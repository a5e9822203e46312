package tool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/tool/profile"
)

func labels(tools []*Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name+" ("+t.Contract+")")
	}
	return names
}

func TestParseSets(t *testing.T) {
	const sets = "; the sets are: "
	list := sets + strings.Join(SetNames(), ", ")
	fromDefault := []string{"skill (002)", "read_file_in_skill (001)", "find_skills (find_skills)"}
	tests := []struct {
		in   string
		want []string
		err  string
	}{
		{"universal", []string{"skill (002)"}, ""},
		{"default", fromDefault, ""},
		{DefaultSet, fromDefault, ""},
		{" default ", fromDefault, ""},
		{"universal,universal", []string{"skill (002)"}, ""},
		{"default, universal", fromDefault, ""},
		{"universal,default", fromDefault, ""},
		{"", nil, "there is no tool set called ''" + list},
		{"default,", nil, "there is no tool set called ''" + list},
		{"defualt", nil, "there is no tool set called 'defualt'" + list},
		{"Default", nil, "there is no tool set called 'Default'" + list},
		{"universal,x", nil, "there is no tool set called 'x'" + list},
	}
	for _, tt := range tests {
		got, err := ParseSets(tt.in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		same(t, text, tt.err)
		same(t, labels(got), tt.want)
	}
}

// Of one contract in two sets the first set's wording is served.
func TestParseSetsFirstWins(t *testing.T) {
	v := viewOf(t, hostOf(t, shop()...))
	tools, err := ParseSets("universal,default")
	if err != nil {
		t.Fatal(err)
	}
	same(t, tools[0].Define(v, profile.Client{}).Description, toolOf(t, "universal", "skill").Define(v, profile.Client{}).Description)
}

func TestJoinSetsClash(t *testing.T) {
	one := namedSet{"one", func() []*Tool { return []*Tool{{Contract: "000", Name: "get_skill"}} }}
	two := namedSet{"two", func() []*Tool {
		return []*Tool{{Contract: "000", Name: "get_skill"}, {Contract: "001", Name: "Get_Skill"}}
	}}
	three := namedSet{"three", func() []*Tool { return []*Tool{{Contract: "004", Name: "get_skill"}} }}
	table := []namedSet{one, two, three}
	got, err := joinSets(table, "one,two")
	same(t, err, nil)
	same(t, labels(got), []string{"get_skill (000)", "Get_Skill (001)"})
	_, err = joinSets(table, "one,two,three")
	if err == nil {
		t.Fatal("two contracts with one name are served")
	}
	same(t, err.Error(), "the tool sets one and three both have a tool called get_skill (contracts 000 and 004); serve them from two servers, each with one of the sets")
}

func TestSetNames(t *testing.T) {
	if !slices.Contains(SetNames(), DefaultSet) || !slices.Contains(SetNames(), "universal") {
		t.Errorf("the sets are %v", SetNames())
	}
	for _, name := range SetNames() {
		tools, err := ParseSets(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range tools {
			if !json.Valid(tl.Schema) || tl.Title == "" {
				t.Errorf("%s: %s is incomplete", name, tl.Name)
			}
		}
	}
}

// A call ends with its context, even before the first snapshot.
func TestCallEndsWithContext(t *testing.T) {
	h := NewHost(catalog.New(nil, catalog.Options{}))
	args := map[string]string{
		"skill": `{"name":"x"}`, "read_file_in_skill": `{"skill_name":"x","file_path":"y"}`, "find_skills": `{}`,
	}
	for name, a := range args {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := toolOf(t, "default", name).Call(ctx, h, json.RawMessage(a))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s answers %v", name, err)
		}
	}
}

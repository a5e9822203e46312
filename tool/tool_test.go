package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/difftest"
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
		difftest.Same(t, text, tt.err)
		difftest.Same(t, labels(got), tt.want)
	}
}

// TestCallEndsWithContext checks that a call ends with its context, even before the first snapshot.
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

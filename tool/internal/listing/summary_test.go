package listing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
)

// manyFamilies returns names as in large libraries: families of a few words.
func manyFamilies() (out []*catalog.Entry) {
	families := []string{"cloud", "kitchen", "garden", "payments", "weather", "maps", "fonts", "audio", "trains", "mail"}
	for i := range 1000 {
		family := families[i*i%97%len(families)]
		out = append(out, skilltest.Entries(fmt.Sprintf("%s-%s-%d", family, []string{"deploy", "audit", "report", "import"}[i%4], i), "Does what the name says, with care.")...)
	}
	return out
}

// TestSummary checks that a summary has the project's names first, short names before long ones,
// and then topics of the other skills, the most frequent first.
func TestSummary(t *testing.T) {
	long := strings.Repeat("very-", 12) + "long"
	entries := func(scope skill.Scope, names ...string) (out []*catalog.Entry) {
		for _, name := range names {
			out = append(out, &catalog.Entry{Skill: &skill.Skill{Name: name}, Root: &skill.Root{Scope: scope}})
		}
		return out
	}
	project := entries(skill.ScopeProject, "our-release-process", "house-style")
	user := entries(skill.ScopeGlobal, "azure-storage-blobs", "azure-cosmos-db", "pdf", "react-forms-builder", "azure-monitor")
	everything := slices.Concat(project, user, entries(skill.ScopeBuiltin, "engage"))
	clouds := entries(skill.ScopeProject, "zoo", "wiki")
	for i := range 80 {
		about := []string{"storage-blob", "keyvault-blob", "storage-queue", "identity", "storage-blob"}[i%5]
		clouds = append(clouds, entries(skill.ScopeProject, fmt.Sprintf("azure-%s-%d", about, i))...)
	}
	for _, row := range []struct {
		skills []*catalog.Entry
		room   int
		search string
		want   string
	}{
		{project, 100, "`f`", ": our-release-process, house-style."},
		{project, 36, "`f`", ": our-release-process, house-style."},
		{project, 34, "`f`", ": house-style, …"},
		{project, 36, "", ": our-release-process, house-style."},
		{everything, 45, "", ": house-style. Others, on: azure, release, …"},
		{everything, 105, "`f`", ": our-release-process, house-style, pdf, azure-monitor, engage. Others, with `f`: azure, forms."},
		{everything, 80, "`f`", ": our-release-process, house-style, pdf. Others, with `f`: azure, forms, engage."},
		{everything, 45, "`f`", ": house-style. Others, with `f`: azure, …"},
		{entries(skill.ScopeProject, long), 300, "`f`", ". Topics, with `f`: long."},
		{entries(skill.ScopeProject, long, "pdf"), 300, "`f`", ": pdf. Others, with `f`: long."},
		{entries(skill.ScopeProject, strings.Repeat("l", 41), "a-skill", "123"), 300, "", ": a-skill, 123, …"},
		{entries(skill.ScopeProject, strings.Repeat("l", 41)), 300, "", ""},
		{entries(skill.ScopeProject, "CI/CD Pipeline", "<b>&"), 300, "", ": CI/CD Pipeline, <b>&."},
		// A word of many names comes before a word of one name, even if another word covers all of
		// those names. Of two words that always occur together, only one is used.
		{clouds, 60, "`f`", ". Topics, with `f`: azure, blob, storage, keyvault, queue, …"},
		{manyFamilies(), 120, "`f`", ". Topics, with `f`: deploy, audit, report, import, weather, kitchen, payments, garden, fonts, maps, mail, trains, cloud."},
	} {
		text, named := Summary(row.skills, row.room, row.search)
		difftest.Same(t, text, row.want)
		var want []string
		if strings.HasPrefix(text, ": ") {
			names, _, _ := strings.Cut(strings.TrimPrefix(text, ": "), " Others, ")
			want = slices.DeleteFunc(strings.Split(strings.TrimSuffix(names, "."), ", "), func(name string) bool { return name == display.Ellipsis })
		}
		if !slices.Equal(named, want) {
			t.Errorf("%s: the names are %q", text, named)
		}
	}
}

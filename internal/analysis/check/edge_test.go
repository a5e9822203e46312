package check

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/source/dir"
)

var update = flag.Bool("update", false, "rewrite golden files")

// speaks lists the rules that belong to each category of cases.tsv. If the column strict says
// invalid, at least one of them must have a finding. If it says valid, none may have one. Any of
// these findings makes `check --strict` exit with 1.
var speaks = map[string][]skill.RuleID{
	"bytes/bad-utf8": {frontmatter.FileEncoding}, "bytes/bom": {frontmatter.TextBOM}, "bytes/crlf": {frontmatter.TextControl, frontmatter.FenceMissing, frontmatter.YAMLSyntax},
	"bytes/mixed-eol": {frontmatter.TextControl, frontmatter.YAMLSyntax}, "bytes/nul-control": {frontmatter.TextControl, frontmatter.YAMLControl},
	"bytes/unicode-tags-bidi": {"text-tags", "text-bidi"},
	"case/Skill.md":           {frontmatter.FileSpelling}, "case/skill.md": {frontmatter.FileSpelling}, "case/two-variants": {frontmatter.FileVariants},
	"collision/case-only": {ruleNameDuplicate}, "collision/same-name-differing": {ruleNameDuplicate},
	"desc/empty-null": {frontmatter.DescriptionMissing}, "desc/list": {frontmatter.DescriptionType}, "desc/missing": {frontmatter.DescriptionMissing},
	"desc/multiline": {frontmatter.DescriptionType, frontmatter.YAMLSyntax}, "desc/placeholder": {ruleDescriptionPlaceholder},
	"desc/too-long": {frontmatter.DescriptionLength}, "desc/xml-in-catalog": {frontmatter.YAMLSyntax}, "desc/zero-width": {"text-tags", "text-bidi"},
	"fields/allowed-tools-comma": {ruleAllowedTools}, "fields/allowed-tools-list": {ruleAllowedTools}, "fields/allowed-tools-parens": {frontmatter.YAMLSyntax},
	"fields/compatibility-nonstring": {frontmatter.Compatibility}, "fields/dates": {ruleFieldUnknown}, "fields/hooks": {ruleFieldUnknown}, "fields/invocation": {ruleFieldUnknown},
	"fields/metadata-nested": {frontmatter.Metadata}, "fields/metadata-not-map": {frontmatter.Metadata},
	"files/case-collision": {ruleFileCase, frontmatter.FileVariants}, "files/executable-binary": {ruleFileWindows}, "files/lfs-pointer": {ruleFileWindows}, "files/odd-names": {ruleFileCase},
	"fm/dashes-inside": {frontmatter.FenceGlued, frontmatter.FenceUnclosed}, "fm/delimiter-trailing-space": {frontmatter.FenceBlanks}, "fm/empty-file": {frontmatter.FileEmpty},
	"fm/glued-closer": {frontmatter.FenceGlued}, "fm/html-comment-first": {frontmatter.FenceLate, frontmatter.FenceMissing}, "fm/in-code-fence": {frontmatter.FenceLate, frontmatter.FenceMissing},
	"fm/include-stub": {frontmatter.FenceMissing}, "fm/leading-blank": {frontmatter.FenceLate}, "fm/none": {frontmatter.FenceMissing}, "fm/opener-variant": {frontmatter.FenceMissing, frontmatter.FenceOpener},
	"fm/text-before": {frontmatter.FenceMissing}, "fm/unclosed": {frontmatter.FenceUnclosed}, "fm/yaml-without-opener": {frontmatter.FenceOpener},
	"link/file-escapes": {"link-outside", frontmatter.FileOutside}, "name/colon-slash-dot": {frontmatter.NamePattern}, "name/dir-case-only": {frontmatter.NameFolder},
	"name/dir-mismatch": {frontmatter.NameFolder}, "name/hyphen-edge": {frontmatter.NamePattern}, "name/missing": {frontmatter.NameMissing},
	"name/non-string": {frontmatter.NameType, frontmatter.NameSyntax}, "name/space-upper": {frontmatter.NamePattern}, "name/too-long": {frontmatter.NameLength},
	"name/underscore": {frontmatter.NamePattern}, "name/unicode": {frontmatter.NamePattern},
	"refs/broken": {ruleRefMissing}, "refs/case": {ruleRefCase}, "refs/escape": {ruleRefOutside}, "security/fixtures": {frontmatter.FenceMissing, frontmatter.YAMLSyntax},
	"size/big-bytes": {frontmatter.FilesLarge, ruleSizeFile}, "size/big-skill-md": {ruleSizeBody, frontmatter.FileTooLarge}, "size/long-frontmatter": {frontmatter.FenceTooLong},
	"size/long-line": {frontmatter.FileTooLarge, frontmatter.YAMLSyntax}, "size/many-files": {frontmatter.FilesMany}, "tree/nested-skills": {}, "tree/root-skill": {frontmatter.FenceMissing},
	"yaml/duplicate-key": {frontmatter.YAMLDuplicate}, "yaml/flow-collections-valid": {frontmatter.YAMLSyntax}, "yaml/flow-trailing": {frontmatter.YAMLSyntax},
	"yaml/inner-quotes": {frontmatter.YAMLSyntax}, "yaml/list-dash-start": {frontmatter.YAMLSyntax}, "yaml/nested-fault": {frontmatter.YAMLSyntax},
	"yaml/non-mapping": {frontmatter.YAMLMapping}, "yaml/reserved-start": {frontmatter.YAMLSyntax}, "yaml/star-or-amp-start": {frontmatter.YAMLSyntax},
	"yaml/text-after-block-indicator": {frontmatter.YAMLSyntax}, "yaml/unindented-continuation": {frontmatter.YAMLSyntax}, "yaml/unquoted-colon": {frontmatter.YAMLSyntax},
	"yaml/unrecoverable": {frontmatter.YAMLSyntax},
}

// strictly lists the cases for which the findings differ from the column strict, with the reason.
var strictly = map[string]string{
	// The corpus contains only the SKILL.md of each case.
	"case__two-variants/1/agentplace/SKILL.md":                        "the other spelling is not there",
	"case__two-variants/1/worker-integration/SKILL.md":                "the other spelling is not there",
	"collision__same-name-differing/1/circuit-breaker-setup/SKILL.md": "the other skill is not there",
	"collision__same-name-differing/1/maintainx-hello-world/SKILL.md": "the other skill is not there",
	"files__case-collision/1/siyuan-notes-skill/SKILL.md":             "the other files are not there",
	"link__file-escapes/1/jscraik+Agent-Skills/SKILL.md":              "the link is not there",
	"link__file-escapes/1/ssh-helper/SKILL.md":                        "the link is not there",
	"refs__case/1/postiz/SKILL.md":                                    "the file in the other case is not there, so its links are missing ones",
	"size__big-bytes/1/asklokesh--claudeskill-loki-mode/SKILL.md":     "the large files are not there",
	"size__big-bytes/1/design-tokens/SKILL.md":                        "the large files are not there",
	"size__many-files/1/hugo/SKILL.md":                                "the many files are not there",
	"size__many-files/1/loki-mode/SKILL.md":                           "the many files are not there",
	// No rule checks the part with the fault.
	"fields__dates/1/scenario-war-room/SKILL.md": "the date stands in metadata, where it is a string",
	"refs__broken/1/telegram-telethon/SKILL.md":  "the paths stand in code, which is no link",
	"refs__broken/1/wiki-page-writer/SKILL.md":   "the links stand in code, as examples",
	"refs__case/1/gdpr-compliant/SKILL.md":       "the paths stand in code, which is no link",
}

// TestEdge compares the result of each edge case with testdata/edge.tsv. That table records whether
// the skill can be loaded and published, which findings make `check` exit with 1, and which do so
// only with --strict. TestEdge also compares the findings with the column strict of cases.tsv.
// Package skill tests the column for lenient readers.
func TestEdge(t *testing.T) {
	root, err := filepath.Abs(corpus.Dir(t, "edge"))
	if err != nil {
		t.Fatal(err)
	}
	found, outcome := edge(t, root)
	table, err := os.ReadFile(filepath.Join(root, "cases.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var own strings.Builder
	own.WriteString("file\toutcome\tpublished\terrors\twarnings\n")
	used := 0
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		column := strings.Split(line, "\t")
		category, file, strict := column[0], column[1], column[2]
		fmt.Fprintf(&own, "%s\t%s\n", file, outcome[file])
		rules, known := speaks[category]
		if !known {
			t.Errorf("%s: which rules speak of it?", category)
		}
		says := slices.ContainsFunc(rules, func(id skill.RuleID) bool { return found[file][id] })
		wrong, free := !strings.HasPrefix(strict, "valid"), len(rules) == 0 || strings.Contains(strict, " or ") || strings.Contains(strict, "warning:") || strings.Contains(strict, "(warning)") || strings.HasPrefix(strict, "valid for")
		_, differs := strictly[file]
		if differs {
			used++
		}
		if !free && (wrong != says) != differs {
			t.Errorf("%s (%s, %s): says something of it %v; listed as different: %v; found %v", file, category, strict, says, differs, found[file])
		}
	}
	if used != len(strictly) {
		t.Errorf("%d of %d listed differences met", used, len(strictly))
	}
	golden := filepath.Join("testdata", "edge.tsv")
	if *update {
		if err := os.WriteFile(golden, []byte(own.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(own.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("testdata/edge.tsv:%d differs (run with -update and read the difference)\n got %s\nwant %s", i+1, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
		}
	}
}

// edge judges every case. It returns, for each file, the rules with a finding and the line for
// testdata/edge.tsv.
func edge(t *testing.T, root string) (map[string]map[skill.RuleID]bool, map[string]string) {
	t.Helper()
	scan, err := dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Dir: root}, Required: true}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reports := make([]Report, len(scan.Bundles))
	names := make([]string, len(scan.Bundles))
	for i, b := range scan.Bundles {
		reports[i] = load(context.Background(), b)
		names[i] = path.Join(b.Path, cmp.Or(b.Entry, strings.Join(b.Others(), "")))
	}
	first := map[skill.Key]int{}
	for i, r := range reports {
		n, taken := first[skill.KeyOf(r.Skill.Name)]
		switch {
		case !r.Skill.Available:
		case !taken:
			first[skill.KeyOf(r.Skill.Name)] = i
		default: // these two cases collide with each other
			f := Duplicate(r, Place{names[n], NamePosition(reports[n].Data)}, r.Skill.Digest == reports[n].Skill.Digest)
			reports[i].Findings = append(reports[i].Findings, f)
			reports[n].Findings = append(reports[n].Findings, f)
		}
	}
	for _, n := range scan.Notices {
		rule, _ := RuleOf(n.Rule)
		for i, b := range scan.Bundles {
			if strings.HasPrefix(n.Path, b.Path+"/") || n.Path == b.Path {
				reports[i].Findings = append(reports[i].Findings, Finding{Rule: n.Rule, Severity: rule.Severity})
			}
		}
	}
	found, outcome := map[string]map[skill.RuleID]bool{}, map[string]string{}
	for i, r := range reports {
		rules := map[skill.RuleID]bool{}
		by := map[skill.Severity][]string{}
		for _, f := range r.Findings {
			if !rules[f.Rule] {
				by[f.Severity] = append(by[f.Severity], string(f.Rule))
			}
			rules[f.Rule] = true
		}
		for _, ids := range by {
			slices.Sort(ids)
		}
		found[names[i]] = rules
		columns := []string{"skipped", "no", strings.Join(by[skill.SeverityError], " "), strings.Join(by[skill.SeverityWarning], " ")}
		if r.Skill.Available {
			columns[0] = "available"
		}
		if r.Publishable() {
			columns[1] = "yes"
		}
		outcome[names[i]] = strings.TrimRight(strings.Join(columns, "\t"), "\t")
	}
	return found, outcome
}

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

	"github.com/knack-dev/knack/internal/base/ruleid"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

var update = flag.Bool("update", false, "rewrite golden files")

// speaks lists the rules about the subject of each category of cases.tsv. If the column
// strict says invalid, one of them must have a finding; if it says valid, none may. All of
// them end `check --strict` with 1.
var speaks = map[string][]skill.RuleID{
	"bytes/bad-utf8": {ruleid.FileEncoding}, "bytes/bom": {ruleid.TextBOM}, "bytes/crlf": {ruleid.TextControl, ruleid.FenceMissing, ruleid.YAMLSyntax},
	"bytes/mixed-eol": {ruleid.TextControl, ruleid.YAMLSyntax}, "bytes/nul-control": {ruleid.TextControl, ruleid.YAMLControl},
	"bytes/unicode-tags-bidi": {"text-tags", "text-bidi"},
	"case/Skill.md":           {ruleid.FileSpelling}, "case/skill.md": {ruleid.FileSpelling}, "case/two-variants": {ruleid.FileVariants},
	"collision/case-only": {ruleNameDuplicate}, "collision/same-name-differing": {ruleNameDuplicate},
	"desc/empty-null": {ruleid.DescriptionMissing}, "desc/list": {ruleid.DescriptionType}, "desc/missing": {ruleid.DescriptionMissing},
	"desc/multiline": {ruleid.DescriptionType, ruleid.YAMLSyntax}, "desc/placeholder": {ruleDescriptionPlaceholder},
	"desc/too-long": {ruleid.DescriptionLength}, "desc/xml-in-catalog": {ruleid.YAMLSyntax}, "desc/zero-width": {"text-tags", "text-bidi"},
	"fields/allowed-tools-comma": {ruleAllowedTools}, "fields/allowed-tools-list": {ruleAllowedTools}, "fields/allowed-tools-parens": {ruleid.YAMLSyntax},
	"fields/compatibility-nonstring": {ruleid.Compatibility}, "fields/dates": {ruleFieldUnknown}, "fields/hooks": {ruleFieldUnknown}, "fields/invocation": {ruleFieldUnknown},
	"fields/metadata-nested": {ruleid.Metadata}, "fields/metadata-not-map": {ruleid.Metadata},
	"files/case-collision": {ruleFileCase, ruleid.FileVariants}, "files/executable-binary": {ruleFileWindows}, "files/lfs-pointer": {ruleFileWindows}, "files/odd-names": {ruleFileCase},
	"fm/dashes-inside": {ruleid.FenceGlued, ruleid.FenceUnclosed}, "fm/delimiter-trailing-space": {ruleid.FenceBlanks}, "fm/empty-file": {ruleid.FileEmpty},
	"fm/glued-closer": {ruleid.FenceGlued}, "fm/html-comment-first": {ruleid.FenceLate, ruleid.FenceMissing}, "fm/in-code-fence": {ruleid.FenceLate, ruleid.FenceMissing},
	"fm/include-stub": {ruleid.FenceMissing}, "fm/leading-blank": {ruleid.FenceLate}, "fm/none": {ruleid.FenceMissing}, "fm/opener-variant": {ruleid.FenceMissing, ruleid.FenceOpener},
	"fm/text-before": {ruleid.FenceMissing}, "fm/unclosed": {ruleid.FenceUnclosed}, "fm/yaml-without-opener": {ruleid.FenceOpener},
	"link/file-escapes": {"link-outside", ruleid.FileOutside}, "name/colon-slash-dot": {ruleid.NamePattern}, "name/dir-case-only": {ruleid.NameFolder},
	"name/dir-mismatch": {ruleid.NameFolder}, "name/hyphen-edge": {ruleid.NamePattern}, "name/missing": {ruleid.NameMissing},
	"name/non-string": {ruleid.NameType, ruleid.NameSyntax}, "name/space-upper": {ruleid.NamePattern}, "name/too-long": {ruleid.NameLength},
	"name/underscore": {ruleid.NamePattern}, "name/unicode": {ruleid.NamePattern},
	"refs/broken": {ruleRefMissing}, "refs/case": {ruleRefCase}, "refs/escape": {ruleRefOutside}, "security/fixtures": {ruleid.FenceMissing, ruleid.YAMLSyntax},
	"size/big-bytes": {ruleid.FilesLarge, ruleSizeFile}, "size/big-skill-md": {ruleSizeBody, ruleid.FileTooLarge}, "size/long-frontmatter": {ruleid.FenceTooLong},
	"size/long-line": {ruleid.FileTooLarge, ruleid.YAMLSyntax}, "size/many-files": {ruleid.FilesMany}, "tree/nested-skills": {}, "tree/root-skill": {ruleid.FenceMissing},
	"yaml/duplicate-key": {ruleid.YAMLDuplicate}, "yaml/flow-collections-valid": {ruleid.YAMLSyntax}, "yaml/flow-trailing": {ruleid.YAMLSyntax},
	"yaml/inner-quotes": {ruleid.YAMLSyntax}, "yaml/list-dash-start": {ruleid.YAMLSyntax}, "yaml/nested-fault": {ruleid.YAMLSyntax},
	"yaml/non-mapping": {ruleid.YAMLMapping}, "yaml/reserved-start": {ruleid.YAMLSyntax}, "yaml/star-or-amp-start": {ruleid.YAMLSyntax},
	"yaml/text-after-block-indicator": {ruleid.YAMLSyntax}, "yaml/unindented-continuation": {ruleid.YAMLSyntax}, "yaml/unquoted-colon": {ruleid.YAMLSyntax},
	"yaml/unrecoverable": {ruleid.YAMLSyntax},
}

// strictly lists the cases whose strict reading differs from the column, with the reason.
var strictly = map[string]string{
	// The corpus has only the SKILL.md of a case.
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
	// No rule looks at the place of the fault.
	"fields__dates/1/scenario-war-room/SKILL.md": "the date stands in metadata, where it is a string",
	"refs__broken/1/telegram-telethon/SKILL.md":  "the paths stand in code, which is no link",
	"refs__broken/1/wiki-page-writer/SKILL.md":   "the links stand in code, as examples",
	"refs__case/1/gdpr-compliant/SKILL.md":       "the paths stand in code, which is no link",
}

// TestEdge compares each edge case with testdata/edge.tsv, our own column beside cases.tsv:
// available or skipped, published or not, and the findings for which `check` and `check
// --strict` end with 1. It compares the strict reading with the column strict of cases.tsv;
// package skill tests the lenient one.
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

// edge judges every case and returns the rules with a finding, by file, and our columns.
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
		default: // the collision consists of these two cases
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

package genskills

import "strings"

// These tables were measured over 20,790 distinct skills of public repositories.
var (
	fileCounts   = []point{{0, 1}, {.407, 1}, {.41, 2}, {.5, 2}, {.6, 3}, {.7, 4}, {.75, 5}, {.8, 5}, {.9, 8}, {.95, 12}, {.98, 22}, {.99, 35}, {.999, 117}, {1, 1104}}
	mainBytes    = []point{{0, 250}, {.01, 400}, {.05, 1222}, {.1, 1859}, {.25, 2907}, {.4, 4589}, {.5, 5802}, {.6, 7400}, {.75, 10558}, {.8, 12285}, {.9, 16077}, {.95, 20151}, {.98, 28013}, {.99, 33755}, {.999, 70708}, {1, 294426}}
	otherBytes   = []point{{0, 0}, {.01, 52}, {.05, 277}, {.1, 445}, {.2, 989}, {.3, 1737}, {.4, 2705}, {.5, 3942}, {.6, 5382}, {.7, 7207}, {.8, 10107}, {.9, 14537}, {.95, 22484}, {.98, 46189}, {.99, 88970}, {.995, 161000}, {.999, 854294}, {1, 4181864}}
	descriptions = []point{{0, 19}, {.1, 95}, {.25, 165}, {.5, 276}, {.75, 370}, {.9, 523}, {.95, 647}, {.99, 926}, {.999, 1024}, {1, 1024}}
)

var layouts = []weighted[string]{
	{"skills/NAME", .42}, {"plugins/GROUP/skills/NAME", .25}, {"skills/GROUP/NAME", .14}, {"GROUP/NAME", .1},
	{".claude/skills/NAME", .04}, {".agents/skills/NAME", .03}, {"packages/GROUP/.claude/skills/NAME", .02},
}

// kind is a kind of file other than SKILL.md, with its usual folder.
type kind struct{ ending, folder string }

var kinds = []weighted[kind]{
	{kind{".md", "references"}, .58}, {kind{".py", "scripts"}, .15}, {kind{".json", "assets"}, .055}, {kind{".sh", "scripts"}, .035},
	{kind{".xsd", "assets"}, .025}, {kind{".patch", "benchmarks"}, .02}, {kind{".yaml", "templates"}, .022}, {kind{".ts", "scripts"}, .018},
	{kind{".txt", "references"}, .018}, {kind{".js", "scripts"}, .012}, {kind{".mjs", "scripts"}, .01}, {kind{".ttf", "assets"}, .007},
	{kind{".html", "assets"}, .006}, {kind{".csv", "assets"}, .006}, {kind{".svg", "assets"}, .005}, {kind{".png", "assets"}, .005}, {kind{"", "."}, .026},
}

// faults lists the faults of real skills with their frequency.
var faults = []weighted[string]{
	{"colon", 54}, {"block-text", 10}, {"star", 9}, {"inner-quote", 5}, {"nested", 5}, {"flow", 4}, {"unindented", 2}, {"reserved", 1}, {"duplicate-key", 1},
	{"no-frontmatter", 30}, {"unclosed", 2}, {"glued-closer", 4}, {"no-description", 7}, {"empty-description", 3}, {"no-name", 9}, {"upper-case", 40},
	{"other-folder", 60}, {"long-description", 2}, {"long-name", 4}, {"byte-order-mark", 1}, {"crlf", 4}, {"spelling", 4}, {"code-fence", 1}, {"empty", 1},
}

// trade lists technical terms that people search for.
var trade = strings.Fields(`analyze deploy review extract generate validate query model report data api cloud test build image document
	parse format audit security trading research email calendar browser workflow agent memory search index graph schema design style token chart table export
	import convert summarize translate plan monitor alert debug trace profile cache queue stream batch policy access release notes commit branch issue ticket
	customer invoice contract finance health biology chemistry protein sequence market portfolio kubernetes terraform docker python typescript react swift kotlin
	rust golang postgres redis kafka`)

// small lists the words that make up a third of any English text.
var small = strings.Fields("the to and of a in for or with is on when use from that by this it as are be you not an your")

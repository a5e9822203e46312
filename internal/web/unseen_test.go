package web_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/web"
)

// unseen are 30 invisible characters: all that set the text direction, and some of each
// other kind.
var unseen = []rune{
	0x200e, 0x200f, 0x061c, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, // of UAX #9
	0x200b, 0x200c, 0x200d, 0x2060, 0x2063, 0xfeff, 0x00ad, 0x034f, 0x180e, 0x115f, 0x3164, 0xfe00, 0x2028, 0x2029,
	0x1d173, 0xe0001, 0xe0041, 0x7f,
}

// TestNothingUnseenOnPages checks that no page and no JSON contains an invisible
// character unescaped. This applies to every text of a skill, a query or a client.
func TestNothingUnseenOnPages(t *testing.T) {
	if len(unseen) != 30 {
		t.Fatalf("%d characters", len(unseen))
	}
	for i, r := range unseen {
		if !testwait.SecondLane() && i%10 != 7 {
			continue
		}
		t.Run(fmt.Sprintf("U+%04X", r), func(t *testing.T) { t.Parallel(); seekUnseen(t, r) })
	}
}

func seekUnseen(t *testing.T, r rune) {
	x := func(format string) string { return strings.ReplaceAll(format, "@", string(r)) }
	quoted := func(format string) string { // escaped, if YAML does not allow the character itself
		if r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return strings.ReplaceAll(format, "@", display.Escaped(r))
		}
		return x(format)
	}
	name := quoted("na@me")
	if r == 0x7f || r == 0x2028 || r == 0x2029 {
		name = "name" // with the character in its name, the skill would be skipped
	}
	body := x("# He@ad\n\nTe@xt **bo@ld** `co@de` [li@nk](fi@le.md \"ti@tle\") [out](https://e@xample.org/ \"o@ut\") ![al@t](no@ne.png) <b@>&#" + fmt.Sprint(int(r)) + ";\n\n" +
		"    inden@ted\n\n```no@te\nfen@ced\n```\n\n<!-- com@ment -->\n\n| a@b |\n|---|\n| c@d |\n")
	f := open(t, map[string]string{
		x("one/fo@lder/SKILL.md"):      "---\nname: \"" + name + quoted("\"\ndescription: \"Wo@rds. Use when asked.\"\nlicense: \"M@IT\"\nodd: \"fi@eld\"\nmetadata:\n  \"ke@y\": \"va@lue\"\n---\n") + body,
		x("one/fo@lder/fi@le.md"):      body,
		x("one/fo@lder/so@urce.txt"):   x("o@ne\ntwo\n"),
		x("one/fo@lder/di@r/pic@.png"): png,
		x("one/raw@/SKILL.md"):         x("---\nname: ra@w\ndescription: Wo@rds.\n---\n"),
		x("one/lo@st/SKILL.md"):        quoted("---\nname: \"lo@st\"\n---\n"),
		x("one/br@oken/SKILL.md"):      x("---\nna@me: [x\n---\n"),
		x("one/ne@ar/SKI@LLS.md"):      "---\nname: near\ndescription: d\n---\n",
		"one/same/SKILL.md":            quoted("---\nname: \"sa@me\"\ndescription: One.\n---\n"),
		"two/same/SKILL.md":            quoted("---\nname: \"sa@me\"\ndescription: Two.\n---\n"),
	})
	tokens := access.NewTokens(nil)
	site := web.New(web.Options{Catalog: f.catalog, Verifier: tokens, Usage: f.usage, Version: x("1@2")})
	countList(f.usage, f.view(), x("cli@ent"))
	called(f.usage, f.view(), x("cli@ent"), "skill", []byte(`{"name":"same"}`))
	shows := 0
	look := func(path string, bytes bool) (links []string) {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("GET", path, nil)
		site.ServeHTTP(w, req.WithContext(access.Principal{Subject: access.Subject{Name: x("an@na")}}.Context(req.Context())))
		if w.Code >= 500 {
			t.Errorf("%q: %d", path, w.Code)
		}
		answer := w.Body.String()
		if bytes {
			return nil
		}
		if i := strings.IndexFunc(answer, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || display.IsUnseen(r) }); i >= 0 {
			t.Errorf("%q has it as it is: %q", path, answer[max(0, i-60):min(len(answer), i+60)])
		}
		if strings.Contains(answer, display.CodePoint(r)) {
			shows++
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			doc, err := html.Parse(strings.NewReader(answer))
			must(t, err)
			for _, a := range all(doc, tag("a")) {
				links = append(links, attr(a, "href"))
			}
		}
		return links
	}
	seen := map[string]bool{}
	pages := []string{
		"/", "/health", "/usage", "/connect", "/nothing", "/?state=skipped", "/?q=" + url.QueryEscape(x("na@me")), "/?root=" + url.QueryEscape(x("on@e")), "/metrics",
		"/skills/" + url.PathEscape(x("no@thing")), "/api/v1/skills", "/api/v1/skills?state=skipped", "/api/v1/problems", "/api/v1/skills/" + url.PathEscape(x("no@thing")),
		"/.well-known/agent-skills/index.json", "/api/v1/skills?q=" + url.QueryEscape(x("@")),
	}
	for _, e := range f.view().Entries {
		if e.Status != catalog.Skipped {
			at := strings.TrimSuffix(strings.TrimPrefix(e.URI().String(), "skill://"), "/SKILL.md")
			pages = append(pages, "/api/v1/skills/"+at, "/api/v1/problems/"+at)
		}
	}
	for len(pages) > 0 {
		at := pages[0]
		pages = pages[1:]
		if at, _, _ = strings.Cut(at, "#"); seen[at] || !strings.HasPrefix(at, "/") {
			continue
		}
		seen[at] = true
		pages = append(pages, look(at, strings.HasPrefix(at, "/raw/") || strings.HasPrefix(at, "/zip/") || strings.HasPrefix(at, "/assets/"))...)
	}
	files := 0
	for at := range seen {
		if strings.HasPrefix(at, "/skills/") && strings.Contains(at, url.PathEscape(x("fi@le.md"))) {
			files++
		}
	}
	if shows < 10 || files == 0 {
		t.Errorf("it is spelt on %d of %d pages, %d of them of a file", shows, len(seen), files)
	}
}

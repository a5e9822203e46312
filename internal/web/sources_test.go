package web_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/web"
)

const (
	release = "sha256:9f2b1e4c0000000000000000000000000000000000000000000000000000beef"
	higher  = "sha256:77ab01020000000000000000000000000000000000000000000000000000beef"
	signer  = "key:ab12cd34ef560000000000000000000000000000000000000000000000000000"
)

// TestSources checks how each state of a source is shown: its row on the health page, the facts of
// its skills, the API and the metrics. A client that rules restrict gets the sources of roots that
// it sees, without reasons.
func TestSources(t *testing.T) {
	f := open(t, files)
	now := time.Now()
	since := now.Add(-time.Hour).UTC().Truncate(time.Second)
	served := follow.Status{
		Name: "one", From: "oci://registry.example.com/acme/skills:prod", Release: release, Version: "1.4.0", Signer: signer, Signature: "signed", Since: since,
		Answered: now.Add(-3 * time.Second), Polls: map[follow.Outcome]uint64{follow.Unchanged: 40, follow.Pulled: 2}, Pulls: 2, PullTime: 3 * time.Second, Bytes: 9_000_000, Swaps: 2,
	}
	hostile := follow.Status{Name: "two", From: "<b>git\u202e"}
	var states []follow.Status
	site := web.New(web.Options{Catalog: f.catalog, Sources: func() []follow.Status { return states }})
	get := func(ctx context.Context, path string) answered {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
		return answered{w.Code, w.Header(), w.Body.String()}
	}
	rows := func(ctx context.Context) (out [][]string) {
		doc, err := html.Parse(strings.NewReader(get(ctx, "/health").body))
		must(t, err)
		for _, section := range all(doc, func(n *html.Node) bool { return attr(n, "id") == "sources" }) {
			for _, row := range all(all(section, tag("tbody"))[0], tag("tr")) {
				out = append(out, texts(all(row, func(n *html.Node) bool { return n.Data == "th" || n.Data == "td" })))
			}
		}
		return out
	}
	deny, err := access.ParsePattern("skill://two/**")
	must(t, err)
	some := catalog.WithFilter(t.Context(), access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{deny}}}).Filter(access.Subject{}))

	if got := rows(t.Context()); got != nil {
		t.Errorf("without a source there are %q", got)
	}
	if body := get(t.Context(), "/metrics").body; strings.Contains(body, "knack_source") {
		t.Error("without a source there are metrics")
	}
	const from = "one oci://registry.example.com/acme/skills:prod"
	at := since.Format("2006-01-02 15:04:05 UTC")
	for name, c := range map[string]struct {
		change func(*follow.Status)
		row    []string
		metric string
	}{
		"current":        {func(*follow.Status) {}, []string{from, "1.4.0 9f2b1e4c0000", "signed by key:ab12cd34ef56", at, "some time ago", "current"}, `knack_source_polls_total{source="one",outcome="unchanged"} 40`},
		"not signed":     {func(s *follow.Status) { s.Signature, s.Signer = "unsigned", "" }, []string{from, "1.4.0 9f2b1e4c0000", "not signed", at, "some time ago", "current"}, `digest="` + release + `",signature="unsigned"} 1`},
		"unknown signer": {func(s *follow.Status) { s.Signature = "unknown signer" }, []string{from, "1.4.0 9f2b1e4c0000", "unknown signer", at, "some time ago", "current"}, `signature="unknown signer"} 1`},
		"silent":         {func(s *follow.Status) { s.Failure, s.FailingSince = "it refuses connections", since }, []string{from, "1.4.0 9f2b1e4c0000", "signed by key:ab12cd34ef56", at, "some time ago", "not answering since " + at + ": it refuses connections"}, `knack_source_age_seconds{source="one"} `},
		"silent after a refusal": {func(s *follow.Status) {
			s.Failure, s.FailingSince, s.Refused, s.RefusedReason = "it refuses connections", since, pull.Limit, "300 MB is too large"
		}, []string{from, "1.4.0 9f2b1e4c0000", "signed by key:ab12cd34ef56", at, "some time ago", "not answering since " + at + ": it refuses connections | refused before: 300 MB is too large"}, `knack_source_refused{source="one",reason="limit"} 1`},
		"coming":  {func(s *follow.Status) { s.Pending, s.At = higher, since }, []string{from, "1.4.0 9f2b1e4c0000", "signed by key:ab12cd34ef56", at, "some time ago", "release coming 77ab01020000 is served from " + since.Format("15:04:05 UTC") + " on"}, ""},
		"refused": {func(s *follow.Status) { s.Refused, s.RefusedReason = pull.Version, "1.3.0 is lower" }, []string{from, "1.4.0 9f2b1e4c0000", "signed by key:ab12cd34ef56", at, "some time ago", "refused 1.3.0 is lower"}, `knack_source_refused{source="one",reason="version"} 1`},
		"waiting": {func(s *follow.Status) { *s = follow.Status{Name: s.Name, From: s.From} }, []string{from, "none", "–", "–", "none since the start", "waiting The first release is being fetched."}, `knack_source_bytes_total{source="one"} 0`},
		"waiting, refused": {func(s *follow.Status) {
			*s = follow.Status{Name: s.Name, From: s.From, Answered: s.Answered, Refused: pull.Signature, RefusedReason: "not signed"}
		}, []string{from, "none", "–", "–", "some time ago", "waiting not signed"}, `knack_source_refused{source="one",reason="signature"} 1`},
		"waiting in vain": {func(s *follow.Status) {
			*s = follow.Status{Name: s.Name, From: s.From, Failure: "no such host", FailingSince: since}
		}, []string{from, "none", "–", "–", "none since the start", "waiting not answering since " + at + ": no such host"}, `knack_source_age_seconds{source="one"} `},
	} {
		s := served
		c.change(&s)
		states = []follow.Status{s, hostile}
		got := rows(t.Context())
		if len(got) != 2 || !cmp.Equal(got[1], []string{"two <b>git[U+202E]", "none", "–", "–", "none since the start", "waiting The first release is being fetched."}) {
			t.Fatalf("%s: %q", name, got)
		}
		if age, ok := strings.CutSuffix(got[0][4], " ago"); ok { // it grows while the test runs
			if d, err := time.ParseDuration(strings.ReplaceAll(age, " ", "")); err != nil || d < 3*time.Second {
				t.Errorf("%s: the age %s: %v", name, age, err)
			}
			got[0][4] = "some time ago"
		}
		if diff := cmp.Diff(c.row, got[0]); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		metrics := get(t.Context(), "/metrics").body
		if !strings.Contains(metrics, c.metric) {
			t.Errorf("%s: no %s in\n%s", name, c.metric, metrics)
		}
		// A client that sees only the first root gets only its source, and no reasons.
		narrow := rows(some)
		if len(narrow) != 1 {
			t.Fatalf("%s, with rules: %q", name, narrow)
		}
		for _, reason := range []string{s.Failure, s.RefusedReason} {
			if says := narrow[0][5]; reason != "" && (strings.Contains(says, reason) || !strings.Contains(says, "The log of the server says why.")) {
				t.Errorf("%s, with rules: %q", name, says)
			}
		}
		if body := get(some, "/metrics").body; strings.Contains(body, `source="two"`) || !strings.Contains(body, `source="one"`) {
			t.Errorf("%s: the metrics with rules are those of other roots", name)
		}
	}

	states = []follow.Status{served, hostile}
	page := get(t.Context(), "/skills/one/git/").body
	for _, want := range []string{"<dt>Source</dt><dd>oci://registry.example.com/acme/skills:prod 1.4.0<br><code class=\"digest\">" + release, "<dt>Signature</dt><dd>signed by key:ab12cd34ef56</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a skill lacks %s", want)
		}
	}
	for _, path := range []string{"/srv/skills", `C:\srv\skills`, "git+file:///srv/skills"} {
		local := served
		local.From = path
		states = []follow.Status{local}
		for _, address := range []string{"/health", "/skills/one/git/", "/api/v1/skills/one/git", "/metrics"} {
			if strings.Contains(get(t.Context(), address).body, "srv") {
				t.Errorf("%s names the folder %s", address, path)
			}
		}
	}
	states = []follow.Status{served, hostile}
	if strings.Contains(get(t.Context(), "/skills/two/git/").body, "<dt>Signature</dt>") {
		t.Error("a source without a release is on the page of a skill")
	}
	whole := get(t.Context(), "/api/v1/skills/one/git")
	if want := `"source":{"from":"oci://registry.example.com/acme/skills:prod","release":"` + release + `","version":"1.4.0","signature":"signed","signer":"` + signer + `","since":"` + since.Format(time.RFC3339) + `"}`; !strings.Contains(whole.body, want) {
		t.Errorf("the API lacks %s in %s", want, whole.body)
	}
	if err := document(t, f).validates("/api/v1/skills/one/git", whole); err != nil {
		t.Error(err)
	}
}

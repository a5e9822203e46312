// Package web shows a catalogue to people and programs over HTTP. It serves pages at /,
// a JSON API at /api/v1, the discovery index at /.well-known/agent-skills, and metrics.
//
// A [Site] is an [http.Handler], not a server: the caller checks host, origin and token
// before passing a request on. If tokens are required, the site also handles sign-in:
// it asks a browser for a token and then recognizes it by a cookie. It reads skills
// only through a [catalog.View], one for each request, obtained in one place.
//
// [Site.ServeHTTP] in site.go handles every request. Pages are in home.go, skillpage.go,
// filepage.go, health.go and connect.go, with their HTML in templates; the API is in api.go,
// the index in wellknown.go, and the metrics are in metrics.go. Package internal/web/internal/checks
// checks the skills in the background, and package internal/web/internal/markdown renders Markdown.
//
// Pages are rendered on the server and work without scripts. Their policy forbids
// inline scripts and styles and all content from other servers. Raw HTML in a skill's
// Markdown is shown as text, so a skill cannot choose the markup of a page.
package web

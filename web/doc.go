// Package web shows a catalogue to people and programs over HTTP: pages at /, a
// JSON API at /api/v1, the discovery index at /.well-known/agent-skills, and
// metrics.
//
// A [Site] is an [http.Handler] and no server: whoever mounts it stands before it
// with the checks of host, origin and token. Where tokens are required it is a door
// too: it asks a browser for one, and knows it again by a cookie. It reads skills through a
// [catalog.View] alone, one for each request, taken in one place.
//
// Pages are rendered on the server and work without scripts. Their policy forbids
// inline scripts and styles and everything from elsewhere. A skill's Markdown is
// shown with its raw HTML as text; nothing that a skill says becomes markup
// of its own choice.
package web

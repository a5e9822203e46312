package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples has each section in its shortest form.
var samples = map[string]string{
	"check": "check: {strict: true}", "project": "project: {tools: wave}", "roots": "roots: [{dir: a, label: acme}]",
	"sources": "sources: [{name: acme, from: 'oci://r.example/a:1'}]", "store": "store: {dir: s}", "poll": "poll: 30s", "lock": "lock: enforce",
	"trust": "trust: [{from: '**', keys: [a.pub]}]", "scan": "scan: {mode: enforce}", "approvals": "approvals: a.json",
	"chat": "chat: {models: {m: {url: 'http://127.0.0.1:1/v1', model: m}}}", "servers": "servers: {s: {command: [s], use: [tools]}}",
	"access": "access: {default: deny, rules: []}", "sign-in": "sign-in: {issuer: 'https://id.example', client-id: knack, redirect-url: 'https://s.example/signin/callback'}",
	"http": "http: {hosts: [s.example]}", "http.listen": "http: {listen: 8080}", "log": "log: {level: info}", "audit": "audit: {to: a.log}", "usage": "usage: {file: u}", "limits": "limits: {rate: 1}",
}

// TestScopes checks which kinds of files may have each section: always, or only for servers over
// standard input and output (s) or over HTTP (h).
func TestScopes(t *testing.T) {
	want := map[string]string{ // in a project's file, the user's, and the file of --config
		"check": "yes/yes/yes", "project": "yes s/no/no",
		"store": "no/yes s/yes s", "lock": "no/yes s/yes s", "trust": "no/yes s/yes s", "scan": "no/yes s/yes s", "approvals": "no/yes s/yes s",
		"roots": "no/yes h/yes s", "sources": "no/yes s/yes s", "poll": "no/yes s/yes s", "log": "no/yes h/yes s", "audit": "no/yes h/yes s",
		"chat": "no/yes/yes", "servers": "no/yes/yes",
		"access": "no/yes h/yes h", "sign-in": "no/yes h/yes h", "http": "no/yes h/yes h", "http.listen": "no/no/yes h", "usage": "no/yes h/yes h", "limits": "no/yes h/yes h",
	}
	got := map[string]string{}
	for name, text := range samples {
		if _, problems := Parse([]byte(text)); len(problems) > 0 {
			t.Errorf("%s: %s", name, linesOf(problems))
		}
		var kinds []string
		for _, kind := range []Files{OfProject, OfUser, Named} {
			section, _, _ := strings.Cut(name, ".")
			problems := Misplaced([]byte(text), kind)
			if len(problems) > 1 || len(problems) == 1 && (problems[0].Position != at(1, 1) && section == name || problems[0].Message == "" || !strings.Contains(problems[0].Fix, problems[0].Field)) {
				t.Errorf("%s in %d: %s", name, kind, linesOf(problems))
			}
			cell := "yes"
			if len(problems) > 0 {
				cell = "no"
			}
			stdio, only := Transports([]byte(text), kind)
			if slices.Contains(stdio, section) && cell == "yes" {
				cell += " s"
			}
			if slices.Contains(only, section) && cell == "yes" {
				cell += " h"
			}
			kinds = append(kinds, cell)
		}
		got[name] = strings.Join(kinds, "/")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var sections, rows []string
	for _, k := range root {
		sections = append(sections, k.name)
	}
	for _, s := range scopes {
		if !strings.Contains(s.name, ".") {
			rows = append(rows, s.name)
		}
		if (s.stdio|s.http)&^s.files != 0 || s.files == OfProject|trusted != (s.why == "") {
			t.Errorf("%s: the row contradicts itself", s.name)
		}
	}
	if diff := cmp.Diff(sections, rows); diff != "" {
		t.Errorf("the tables have different sections (-root +scopes):\n%s", diff)
	}
}

package config

import (
	"slices"
	"strings"
)

// Key describes a key of the file, for `knack help settings` and doc/configuration.md.
type Key struct {
	Path    string // with dots between the levels, "check.rules.RULE"
	Type    string // the type of its value
	Default string // the default
	Title   string // its meaning, in one line
}

// Keys returns every key, in the order of the document.
func Keys() []Key {
	rule := Key{"check.rules.RULE", strings.Join(severities, ", "), "as `knack help rules` says", "the severity of this rule's findings; `off` drops them, and --fix leaves them alone"}
	lane := Key{"scan.rules.RULE", "enforce, review, off", "as `knack help rules` says", "the lane of this rule's findings on this server; `off` drops them"}
	return slices.Concat(titled(keysOf("", root)), keysOf("check.", checkKeys), []Key{rule}, keysOf("project.", projectKeys), keysOf("roots[].", rootKeys("")), keysOf("sources[].", sourceKeys("")), keysOf("store.", storeKeys), keysOf("trust[].", trustKeys("")),
		keysOf("scan.", scanKeys), []Key{lane}, keysOf("scan.accept[].", acceptKeys("")), chatKeyDocs(), keysOf("servers.NAME.", serverKeys("")), keysOf("access.", accessKeys), keysOf("access.tokens[].", tokenKeys("")), keysOf("access.rules[].", ruleKeysOf("", nil)), serveKeyDocs())
}

func chatKeyDocs() []Key {
	return slices.Concat(keysOf("chat.", chatKeys), keysOf("chat.models.NAME.", chatModelKeys("")))
}

func serveKeyDocs() []Key {
	return slices.Concat(keysOf("sign-in.", signInKeys), keysOf("http.", httpKeys), keysOf("log.", logKeys), keysOf("audit.", auditKeys), keysOf("usage.", usageKeys), keysOf("limits.", limitKeys))
}

func keysOf[T any](prefix string, keys []key[T]) (out []Key) {
	for _, k := range keys {
		out = append(out, Key{prefix + k.name, k.kind, k.byDefault, k.title})
	}
	return out
}

// titled adds a note to the title of each section that must not be in a project's file.
func titled(docs []Key) []Key {
	for i, k := range docs {
		for _, s := range scopes {
			if s.name == k.Path && s.files&OfProject == 0 {
				docs[i].Title += "; never in a project's file"
			}
		}
	}
	return docs
}

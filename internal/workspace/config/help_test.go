package config

import (
	"slices"
	"strings"
)

// keyDoc is a row of doc/configuration.md: a key of the file.
type keyDoc struct {
	Path    string // with dots between the levels, "check.rules.RULE"
	Type    string // the type of its value
	Default string // the default
	Title   string // its meaning, in one line
}

// keyDocs returns every key, in the order of the document.
func keyDocs() []keyDoc {
	rule := keyDoc{"check.rules.RULE", strings.Join(severities, ", "), "its severity in doc/check.md", "the severity of this rule's findings; `off` drops them, and --fix leaves them alone"}
	lane := keyDoc{"scan.rules.RULE", "enforce, review, off", "its lane in doc/scan.md", "the lane of this rule's findings on this server; `off` drops them"}
	return slices.Concat(titled(keysOf("", root)), keysOf("check.", checkKeys), []keyDoc{rule}, keysOf("project.", projectKeys), keysOf("roots[].", rootKeys("")), keysOf("sources[].", sourceKeys("")), keysOf("store.", storeKeys), keysOf("trust[].", trustKeys("")),
		keysOf("scan.", scanKeys), []keyDoc{lane}, keysOf("scan.accept[].", acceptKeys("")), chatKeyDocs(), keysOf("servers.NAME.", serverKeys("")), keysOf("access.", accessKeys), keysOf("access.tokens[].", tokenKeys("")), keysOf("access.rules[].", ruleKeysOf("", nil)), serveKeyDocs())
}

func chatKeyDocs() []keyDoc {
	return slices.Concat(keysOf("chat.", chatKeys), keysOf("chat.models.NAME.", chatModelKeys("")))
}

func serveKeyDocs() []keyDoc {
	return slices.Concat(keysOf("sign-in.", signInKeys), keysOf("http.", httpKeys), keysOf("log.", logKeys), keysOf("audit.", auditKeys), keysOf("usage.", usageKeys), keysOf("limits.", limitKeys))
}

func keysOf[T any](prefix string, keys []key[T]) (out []keyDoc) {
	for _, k := range keys {
		out = append(out, keyDoc{prefix + k.name, k.kind, k.byDefault, k.title})
	}
	return out
}

// titled adds to the titles of sections that a project's file must not have them.
func titled(docs []keyDoc) []keyDoc {
	for i, k := range docs {
		for _, s := range scopes {
			if s.name == k.Path && s.files&OfProject == 0 {
				docs[i].Title += "; never in a project's file"
			}
		}
	}
	return docs
}

package config

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Credentials are sent to one address, and to no other. At most one of TokenEnv and TokenFile is
// set.
type Credentials struct {
	TokenEnv  Word // the variable with the token
	TokenFile Word // the file with the token; a relative path starts at the folder of the configuration
	Headers   []Setting
}

// Given reports whether there is a token or a header.
func (c *Credentials) Given() bool {
	return c.TokenEnv.Text != "" || c.TokenFile.Text != "" || len(c.Headers) > 0
}

// tokenEnvKey, tokenFileKey and headersKey are the keys of credentials in a section.
func tokenEnvKey[T any](at, about string, credentials func(*T) *Credentials) key[T] {
	return key[T]{"token-env", "text", "no token", about, func(d *decoder, v frontmatter.Value, to *T) {
		credentials(to).TokenEnv = Word{d.variable(at+".token-env", v), v.Position}
	}}
}

func tokenFileKey[T any](at string, credentials func(*T) *Credentials) key[T] {
	return key[T]{"token-file", "text", "no token", "the file with that token, in place of a variable", func(d *decoder, v frontmatter.Value, to *T) {
		text, ok := d.textOK(at+".token-file", v, writeAFile)
		if credentials(to).TokenFile = (Word{text, v.Position}); ok {
			d.refuseTilde(at+".token-file", v.Position, text, writeWholePath)
		}
	}}
}

func headersKey[T any](at, about string, credentials func(*T) *Credentials) key[T] {
	return key[T]{"headers", "section", "none", about, func(d *decoder, v frontmatter.Value, to *T) {
		credentials(to).Headers = d.settings(at+".headers", v, func(name, value string) (what, fix string) {
			lower := strings.ToLower(name)
			switch {
			case slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "mcp-"):
				return "does not belong in this file", "leave it out; a token is named with token-env or token-file"
			case !headerName().MatchString(name) || !headerText().MatchString(value):
				return "is not a header", "write a name and a text of ASCII characters, such as X-Team: billing"
			}
			return "", "name the variable that has it with token-env, or the file with token-file"
		})
	}}
}

// checkTokens reports two tokens for one address.
func (d *decoder) checkTokens(at string, v frontmatter.Value, position skill.Position) {
	if !lacks(v, "token-env") && !lacks(v, "token-file") {
		d.add(ruleValue, position, at, "leave one of them out", "%s has both token-env and token-file", at)
	}
}

package origin

import "testing"

// TestHasScheme checks that HasScheme accepts a source with a scheme in any case, and refuses the
// name of a skill, which may have a colon.
func TestHasScheme(t *testing.T) {
	for text, want := range map[string]bool{
		"npm:pdf": true, "NPM:pdf": true, "mcp:x": true, "File:./x": true, "git@host.example:x": true, "https://x.example": true, "oci://x.example/y": true,
		"pdf": false, "acme:pdf": false, "ssh:connect": false, "npm": false, "acme/skills": false, "./npm:x": false, "": false,
	} {
		if got := HasScheme(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAccess checks which sources get the credentials of knack.yaml.
func TestAccess(t *testing.T) {
	for text, want := range map[string]string{
		"https://x.example": "", "https://x.example/a.zip": "", "mcp:https://x.example/mcp": "",
		"/a.zip": "a file needs none", "/a": "a folder needs none", "acme/skills": "git's own credential helpers are asked",
		"oci://x.example/y": "the login of 'docker login' is used", "npm:pdf": "the token in your .npmrc is used",
	} {
		if r, err := Parse(text, "/", "/"); err != nil || r.Access() != want {
			t.Errorf("%s: %q, %v", text, r.Access(), err)
		}
	}
}

package typo

import "testing"

// TestField checks that Field recognizes a misspelt key of a field, and no other word.
func TestField(t *testing.T) {
	for key, want := range map[string]string{
		"descripton": "description", "Desciption": "description", "naem": "name", "names": "name", "licence": "license", "allowed_tools": "allowed-tools",
		"description": "", "version": "", "tags": "", "disallowed-tools": "", "author": "", "date": "", "": "", "user-invokable": "user-invocable",
	} {
		if got := Field(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

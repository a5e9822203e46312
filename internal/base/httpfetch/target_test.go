package httpfetch

import (
	"errors"
	"testing"
)

// TestCheckTarget checks to which addresses a server may lead another program.
func TestCheckTarget(t *testing.T) {
	f := New(Options{Resolver: names(t, map[string]string{"public.example": "93.184.215.14", "inside.example": "10.1.2.3", "mapped.example": "::ffff:169.254.169.254"})})
	for to, allowed := range map[string]bool{
		"https://named.example/x": true, "https://public.example/x": true, "https://93.184.215.14/x": true,
		"https://unknown.example/x": true, // for a proxy
		"https://inside.example/x":  false, "https://mapped.example/x": false, "https://127.0.0.1/x": false, "https://[::1]/x": false, "https://localhost./x": false,
		"https://169.254.169.254/x": false, "https://10.0.0.1/x": false, "http://public.example/x": false, "http://named.example/x": false,
		"https://u:p@public.example/x": false, "ssh://public.example/x": false, "ext::sh": false, "https://a b/": false,
	} {
		err := f.CheckTarget(t.Context(), "https://named.example/y", to)
		if (err == nil) != allowed || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := f.CheckTarget(t.Context(), "https://10.0.0.1:8443/y", "https://10.0.0.1:8443/z"); err != nil {
		t.Error(err)
	}
}

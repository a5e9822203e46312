package words

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		url, host string
		kind      Kind
	}{
		{"https://get.acme-tools.dev/install.sh", "get.acme-tools.dev", Named},
		{"HTTPS://user:pw@Get.Acme-Tools.dev:8443/x?y#z", "get.acme-tools.dev", Named},
		{"'https://get.acme-tools.dev.'", "get.acme-tools.dev", Named},
		{"get.acme-tools.dev/x", "get.acme-tools.dev", Named},
		{"root@get.acme-tools.dev:/tmp/x", "get.acme-tools.dev", Named},
		{"https://raw.githubusercontent.com/a/b/main/i.sh", "raw.githubusercontent.com", Named},
		{"https://example.com@get.acme-tools.dev/", "get.acme-tools.dev", Named},
		{`https://get.acme-tools.dev\@example.com/`, "get.acme-tools.dev", Named},
		{"https://example.com.acme-tools.dev/", "example.com.acme-tools.dev", Named},
		{"https://attacker.acme-tools.dev/", "attacker.acme-tools.dev", Named},
		{"https://gist.githubusercontent.com/a/1/raw", "gist.githubusercontent.com", Transient},
		{"https://ab12.ngrok-free.app/x", "ab12.ngrok-free.app", Transient},
		{"bit.ly/3x", "bit.ly", Transient},
		{"https://notbit.ly/3x", "notbit.ly", Named},
		{"http://45.67.89.10:8080/x", "45.67.89.10", Address},
		{"http://759388426/x", "45.67.89.10", Address},
		{"http://0x2d.0x43.0x590a/x", "45.67.89.10", Address},
		{"http://0x2D43590A/", "45.67.89.10", Address},
		{"http://055.67.89.10/", "45.67.89.10", Address},
		{"http://%34%35.67.89.10/", "45.67.89.10", Address},
		{"http://[::ffff:45.67.89.10]:80/", "45.67.89.10", Address},
		{"http://[64:ff9b::45.67.89.10]/", "45.67.89.10", Address},
		{"http://[2a01:4f8::1]/x", "2a01:4f8::1", Address},
		{"https://xn--pple-43d.com/", "xn--pple-43d.com", Punycode},
		{"https://www.аpple.com/", "www.аpple.com", Punycode},
		{"https://example.com/x", "example.com", Nobody},
		{"https://api.example.org", "api.example.org", Nobody},
		{"https://example.io", "example.io", Nobody},
		{"https://evil.com", "evil.com", Nobody},
		{"https://c2.attacker.co.uk/x", "c2.attacker.co.uk", Nobody},
		{"https://your-server.com/x", "your-server.com", Nobody},
		{"https://a.test", "a.test", Nobody},
		{"https://a.invalid", "a.invalid", Nobody},
		{"http://localhost:3000", "localhost", Nobody},
		{"http://127.0.0.1:3000", "127.0.0.1", Nobody},
		{"http://2130706433/", "127.0.0.1", Nobody},
		{"http://[::1]:80/", "::1", Nobody},
		{"http://192.168.0.7/", "192.168.0.7", Nobody},
		{"http://203.0.113.9/", "203.0.113.9", Nobody},
		{"http://[2001:db8::1]/", "2001:db8::1", Nobody},
		{"http://<HOST>:80/x", "<host>", Nobody},
		{"http://{{host}}/x", "{{host}}", Nobody},
		{"$ATTACKER", "$attacker", Nobody},
		{"http://$ATTACKER:80/", "$attacker", Nobody},
		{"http://${YOUR_HOST}/x", "${your_host}", Nobody},
		{"http://backend:8080/x", "backend", Nobody},
		{"http://$u/x", "", Named},
		{"http://a.$u/x", "", Named},
		{"file:///etc/passwd", "", Named},
		{"./script.sh", "", Named},
		{"", "", Named},
		{"https://", "", Named},
		{"https://" + strings.Repeat("a.", 200) + "dev", "", Named},
	} {
		if host, kind := Of(tt.url); host != tt.host || kind != tt.kind {
			t.Errorf("Of(%q) = %q, %d; want %q, %d", tt.url, host, kind, tt.host, tt.kind)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "a.localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": true, "192.168.0.1": false, "example.com": false, "": false} {
		if got := IsLocal(host); got != want {
			t.Errorf("IsLocal(%q) = %v", host, got)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{"https://a.b/c", "0x7f.1", "[::1]:80", "${x}", "a@b:c", "%zz", "http://[", "1.2.3.4.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if host, _ := Of(url); len(host) > maxHost {
			t.Errorf("Of(%q) has %d bytes", url, len(host))
		}
	})
}

package scan

import (
	"strings"
	"testing"
)

func TestHostOf(t *testing.T) {
	for _, tt := range []struct {
		url, host string
		kind      hostKind
	}{
		{"https://get.acme-tools.dev/install.sh", "get.acme-tools.dev", hostNamed},
		{"HTTPS://user:pw@Get.Acme-Tools.dev:8443/x?y#z", "get.acme-tools.dev", hostNamed},
		{"'https://get.acme-tools.dev.'", "get.acme-tools.dev", hostNamed},
		{"get.acme-tools.dev/x", "get.acme-tools.dev", hostNamed},
		{"root@get.acme-tools.dev:/tmp/x", "get.acme-tools.dev", hostNamed},
		{"https://raw.githubusercontent.com/a/b/main/i.sh", "raw.githubusercontent.com", hostNamed},
		{"https://example.com@get.acme-tools.dev/", "get.acme-tools.dev", hostNamed},
		{`https://get.acme-tools.dev\@example.com/`, "get.acme-tools.dev", hostNamed},
		{"https://example.com.acme-tools.dev/", "example.com.acme-tools.dev", hostNamed},
		{"https://attacker.acme-tools.dev/", "attacker.acme-tools.dev", hostNamed},
		{"https://gist.githubusercontent.com/a/1/raw", "gist.githubusercontent.com", hostTransient},
		{"https://ab12.ngrok-free.app/x", "ab12.ngrok-free.app", hostTransient},
		{"bit.ly/3x", "bit.ly", hostTransient},
		{"https://notbit.ly/3x", "notbit.ly", hostNamed},
		{"http://45.67.89.10:8080/x", "45.67.89.10", hostAddress},
		{"http://759388426/x", "45.67.89.10", hostAddress},
		{"http://0x2d.0x43.0x590a/x", "45.67.89.10", hostAddress},
		{"http://0x2D43590A/", "45.67.89.10", hostAddress},
		{"http://055.67.89.10/", "45.67.89.10", hostAddress},
		{"http://%34%35.67.89.10/", "45.67.89.10", hostAddress},
		{"http://[::ffff:45.67.89.10]:80/", "45.67.89.10", hostAddress},
		{"http://[64:ff9b::45.67.89.10]/", "45.67.89.10", hostAddress},
		{"http://[2a01:4f8::1]/x", "2a01:4f8::1", hostAddress},
		{"https://xn--pple-43d.com/", "xn--pple-43d.com", hostPunycode},
		{"https://www.аpple.com/", "www.аpple.com", hostPunycode},
		{"https://example.com/x", "example.com", hostNobody},
		{"https://api.example.org", "api.example.org", hostNobody},
		{"https://example.io", "example.io", hostNobody},
		{"https://evil.com", "evil.com", hostNobody},
		{"https://c2.attacker.co.uk/x", "c2.attacker.co.uk", hostNobody},
		{"https://your-server.com/x", "your-server.com", hostNobody},
		{"https://a.test", "a.test", hostNobody},
		{"https://a.invalid", "a.invalid", hostNobody},
		{"http://localhost:3000", "localhost", hostNobody},
		{"http://127.0.0.1:3000", "127.0.0.1", hostNobody},
		{"http://2130706433/", "127.0.0.1", hostNobody},
		{"http://[::1]:80/", "::1", hostNobody},
		{"http://192.168.0.7/", "192.168.0.7", hostNobody},
		{"http://203.0.113.9/", "203.0.113.9", hostNobody},
		{"http://[2001:db8::1]/", "2001:db8::1", hostNobody},
		{"http://<HOST>:80/x", "<host>", hostNobody},
		{"http://{{host}}/x", "{{host}}", hostNobody},
		{"$ATTACKER", "$attacker", hostNobody},
		{"http://$ATTACKER:80/", "$attacker", hostNobody},
		{"http://${YOUR_HOST}/x", "${your_host}", hostNobody},
		{"http://backend:8080/x", "backend", hostNobody},
		{"http://$u/x", "", hostNamed},
		{"http://a.$u/x", "", hostNamed},
		{"file:///etc/passwd", "", hostNamed},
		{"./script.sh", "", hostNamed},
		{"", "", hostNamed},
		{"https://", "", hostNamed},
		{"https://" + strings.Repeat("a.", 200) + "dev", "", hostNamed},
	} {
		if host, kind := hostOf(tt.url); host != tt.host || kind != tt.kind {
			t.Errorf("hostOf(%q) = %q, %d; want %q, %d", tt.url, host, kind, tt.host, tt.kind)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "a.localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": true, "192.168.0.1": false, "example.com": false, "": false} {
		if got := isLocal(host); got != want {
			t.Errorf("isLocal(%q) = %v", host, got)
		}
	}
}

func FuzzHostOf(f *testing.F) {
	for _, seed := range []string{"https://a.b/c", "0x7f.1", "[::1]:80", "${x}", "a@b:c", "%zz", "http://[", "1.2.3.4.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if host, _ := hostOf(url); len(host) > maxHost {
			t.Errorf("hostOf(%q) has %d bytes", url, len(host))
		}
	})
}

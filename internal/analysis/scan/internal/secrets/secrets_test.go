package secrets_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets/canary"
)

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// TestNoSecret checks that placeholders and ordinary words that look like secrets are not found.
func TestNoSecret(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func(n int) string { return canary.Pick(r, alnum, n) }
	for _, text := range []string{
		"AKIA" + "IOSFODNN7EXAMPLE", "AKIA" + strings.Repeat("A2", 8), "AKIA" + canary.Pick(r, secrets.Forms[0].Alphabet, 17), "XAKIA" + canary.Pick(r, secrets.Forms[0].Alphabet, 16),
		"ghp_" + strings.Repeat("x", 36), "ghp_" + random(35), "ghp_" + random(37), "ghp_your" + random(32), "ghp_1234" + random(32), "my_ghp_" + random(36),
		"sk-" + random(48), "sk-ant-" + random(10), "SG." + random(66), "sk_test_" + random(24), "xoxb-" + random(8), "npm_config_cache",
		"AIza" + strings.Repeat("abcde", 7), "AIza" + "SyA1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q", "12:AA" + random(33), "pypi-AgEIcHlwaS5vcmc", "SK" + strings.Repeat("0123456789abcdef", 2),
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq...\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIE", 30) + "\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte("your private key goes here, as a text of some length")) + "\n-----END PRIVATE KEY-----",
		"-----BEGIN PUBLIC KEY-----\n" + base64.StdEncoding.EncodeToString([]byte("\x30\x2a"+random(60))) + "\n-----END PUBLIC KEY-----",
		"-----BEGIN ",
	} {
		if found := secrets.In(text); len(found) > 0 {
			t.Errorf("%q: %+v", text, found)
		}
		if got := secrets.Hide(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// BenchmarkHostile measures texts that are full of the beginnings of secrets. They should take no
// longer than other texts.
func BenchmarkHostile(b *testing.B) {
	for _, unit := range []string{"ghp_", "sk-", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----: a\n", "SG.SG", "a"} {
		b.Run(unit, func(b *testing.B) {
			text := strings.Repeat(unit, 16<<20/len(unit))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secrets.In(text)
			}
		})
	}
}

func FuzzIn(f *testing.F) {
	for _, canary := range canary.All() {
		f.Add("a " + canary)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, found := range secrets.In(text) {
			if found.From < end || found.Body < found.From || found.To-found.Body < secrets.Shown || found.To > len(text) {
				t.Fatalf("%+v in %q", found, text)
			}
			end = found.To
		}
		secrets.Hide(text)
	})
}

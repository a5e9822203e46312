// Package canary makes invented secrets. Tests use them to check that no secret is displayed. It
// makes them at run time, so that no file of the repository contains one.
package canary

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"math/rand/v2"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
)

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Pick returns n random characters of an alphabet. The result depends only on the state of r.
func Pick(r *rand.Rand, alphabet string, n int) string {
	for {
		var b strings.Builder
		for range n {
			b.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		if !secrets.IsSample(b.String()) && strings.IndexByte("-_.", b.String()[n-1]) < 0 {
			return b.String()
		}
	}
}

// All returns invented secrets of all forms, always the same.
func All() (all []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, form := range secrets.Forms {
		n := min(form.Least+10, form.Most)
		for range 2 {
			random := Pick(r, form.Alphabet, n)
			switch {
			case form.Issuer == "SendGrid":
				random = Pick(r, alnum+"_-", 22) + "." + Pick(r, alnum+"_-", 43)
			case form.Issuer == "OpenAI":
				random = "proj-" + random[:20] + form.Has + random[20:]
			case form.Digits:
				all = append(all, Pick(r, "23456789", 9)+form.Prefix+random)
				continue
			}
			all = append(all, form.Prefix+random)
		}
	}
	for i := range 4 {
		key := ed25519.NewKeyFromSeed([]byte(Pick(r, alnum, 32)))
		der, _ := x509.MarshalPKCS8PrivateKey(key)
		if i%2 == 1 {
			der = append([]byte("openssh-key-v1\x00"), Pick(r, alnum, 200)...)
		}
		all = append(all, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	}
	return all
}

package trust

import "github.com/knack-dev/knack/internal/base/jsonfile"

// The format of cosign before version 3: an image with the tag "sha256-HEX.sig" and a layer for
// each signature.
const (
	// SimpleSigning is the media type of a layer with a signature.
	SimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	// SimpleValue is the layer annotation that has the signature in base64.
	SimpleValue = "dev.cosignproject.cosign/signature"
	// SimpleCertificate is the layer annotation of a signature that was made with a certificate
	// instead of a key.
	SimpleCertificate = "dev.sigstore.cosign/certificate"

	simpleType = "cosign container image signature"
)

// simple is the payload of a signature in this format.
type simple struct {
	Critical struct {
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
}

// judgeSimple evaluates an older signature for a manifest. Such a signature names no key. If no key
// verifies it, another signer may have made it, or it was altered.
func (s Signature) judgeSimple(keys []Key, manifestDigest string) finding {
	var payload simple
	if err := jsonfile.Unmarshal(s.Data, &payload); err != nil || payload.Critical.Type != simpleType {
		return invalid("is not as cosign writes it")
	}
	if payload.Critical.Image.Digest != manifestDigest || manifestDigest == "" {
		return invalid("is of another release")
	}
	if s.Certificate {
		return keyless()
	}
	sig, err := unbase64(s.Value)
	if err != nil {
		return invalid("has no value")
	}
	for _, k := range keys {
		if k.verifies(s.Data, sig) {
			return finding{state: Signed, signer: k.ID}
		}
	}
	return unknownSigner(keys)
}

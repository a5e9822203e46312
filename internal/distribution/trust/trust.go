// Package trust decides whether to accept a release from a registry, by its signatures: sigstore
// bundles and cosign's older signatures, made with keys. It opens no file and sends no request.
package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Signature is a signature of a manifest, as found in a registry.
type Signature struct {
	// MediaType is the layer's media type: a sigstore bundle, or [SimpleSigning].
	MediaType string
	// Data are the layer's bytes: a bundle, or the payload of an older signature.
	Data []byte
	// Value is the annotation dev.cosignproject.cosign/signature of an older signature, in
	// base64.
	Value string
	// Certificate is set if an older signature was made with a certificate instead of a key.
	Certificate bool
}

// Limits of signatures.
const (
	// MaxSize is the maximum size of a signature, in bytes. Real signatures have about 1 KiB, or 12
	// KiB with a log entry.
	MaxSize = 1 << 20
	// MaxFound is the maximum number of signatures of a manifest that are checked.
	MaxFound = 32
)

// State is the result of checking a release's signatures.
type State string

// The states in descending priority. If several signatures have different states, the first of
// these states applies.
const (
	Signed        State = "signed"         // by a key that is trusted for the source
	Invalid       State = "invalid"        // altered, of another release, or not a signature at all
	UnknownSigner State = "unknown signer" // by another key
	Keyless       State = "keyless"        // by a certificate, which is not checked
	Unsigned      State = "unsigned"
	Unclear       State = "unclear" // the registry gave no answer; only without a rule
)

// order has the states in descending priority.
var order = []State{Signed, Invalid, UnknownSigner, Keyless, Unsigned}

// Verdict is the result of checking the signatures of one release.
type Verdict struct {
	State State
	// Signer is the [Key.ID] of the trusted key, if the state is [Signed]. If several trusted
	// keys signed, it is the first one in the rule.
	Signer string
	// Signers are the IDs of all trusted keys that signed.
	Signers []string
	// Reason explains the state, as the end of a sentence about the release: "is not signed".
	Reason string
}

// Short returns the verdict in a few words: "signed by key:ab12cd34ef56", "not signed".
func (v Verdict) Short() string {
	switch v.State {
	case Signed:
		return "signed by " + ShortID(v.Signer)
	case UnknownSigner:
		return "signed by a key that is not trusted here"
	case Keyless:
		return "signed without a key, which is not checked"
	case Invalid:
		return "with an invalid signature"
	case Unclear:
		return "not known whether it is signed"
	}
	return "not signed"
}

// By returns the verdict with signer as its [Verdict.Signer], if [Verdict.Signers] has that signer.
// Otherwise, it returns the verdict unchanged.
func (v Verdict) By(signer string) Verdict {
	if slices.Contains(v.Signers, signer) {
		v.Signer = signer
	}
	return v
}

// Rule names the trusted keys for the sources of a pattern.
type Rule struct {
	From    Pattern
	Keys    []Key
	Require bool   // accept only releases signed by one of the keys
	Where   string // the rule's position for messages: a file and a line
}

// Rules are rules in their order. The first one with a matching pattern applies to a source.
type Rules []Rule

// Rule returns the rule for a source.
func (rs Rules) Rule(source string) (Rule, bool) {
	for _, r := range rs {
		if r.From.Fits(source) {
			return r, true
		}
	}
	return Rule{}, false
}

// Refusal is the error of a release that is not accepted.
type Refusal struct {
	Verdict Verdict
	Message string // a whole sentence without a full stop
	Fix     string
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Verify checks the signatures of a manifest from a source, spelt as in [origin.Ref.Source].
// Without a signature by a trusted key, the error is a [*Refusal] if a signature is invalid, or if
// the source's rule requires a trusted key. The verdict is also valid beside a refusal.
func (rs Rules) Verify(source, manifestDigest string, found []Signature) (Verdict, error) {
	rule, _ := rs.Rule(source)
	v := verdictOn(rule.Keys, manifestDigest, found)
	what := "the release " + short(manifestDigest)
	switch {
	case v.State == Signed:
		return v, nil
	case v.State == Invalid:
		return v, &Refusal{v, fmt.Sprintf("%s %s", what, v.Reason), "ask its publisher to sign it again; what changed it may also have changed the release"}
	case rule.Require && !strings.HasPrefix(source, scheme):
		return v, &Refusal{v, fmt.Sprintf("a source of this kind has no signatures, as only registries have them, and %s takes only releases that %s signed", rule.Where, oneOf(rule.Keys)), "take it from a registry, as oci://REGISTRY/REPOSITORY, or write from: oci://** there for registries alone"}
	case rule.Require:
		return v, &Refusal{v, fmt.Sprintf("%s %s, and %s takes only releases that %s signed", what, v.Reason, rule.Where, oneOf(rule.Keys)), rule.fix(v.State)}
	}
	return v, nil
}

// fix returns advice for making a release acceptable to a rule that requires a signature.
func (r Rule) fix(s State) string {
	const key = "ask its publisher to sign it with that key (knack publish --sign-key, or cosign sign --key)"
	if s == UnknownSigner {
		return "if you trust the publisher's other key, add it to keys there; else ask its publisher to sign it with a key of that rule"
	}
	if len(r.Keys) > 1 {
		return strings.Replace(key, "that key", "one of them", 1)
	}
	return key
}

func oneOf(keys []Key) string {
	if len(keys) == 1 {
		return keys[0].Name
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return strings.Join(names, " or ")
}

// Locked checks a signer recorded in a lock or a store. The error is a [*Refusal] if the source's
// rule requires a signature and the signer is not one of its keys.
func (rs Rules) Locked(source, signer string) error {
	rule, _ := rs.Rule(source)
	if !rule.Require || rule.Trusts(signer) {
		return nil
	}
	recorded := "no signer"
	if signer != "" {
		recorded = ShortID(signer)
	}
	return &Refusal{
		Verdict{State: Unsigned}, fmt.Sprintf("%s is recorded for it, and %s takes only releases that %s signed", recorded, rule.Where, oneOf(rule.Keys)),
		"knack update looks for a signature by that key, and records it",
	}
}

// Trusts reports whether a signer is one of the rule's keys.
func (r Rule) Trusts(signer string) bool {
	return signer != "" && slices.ContainsFunc(r.Keys, func(k Key) bool { return k.ID == signer })
}

// finding is the result of checking one signature.
type finding struct {
	state  State
	signer string
	reason string
}

// verdictOn returns the verdict on signatures with these keys.
func verdictOn(keys []Key, manifestDigest string, found []Signature) Verdict {
	best := finding{state: Unsigned, reason: "is not signed"}
	signed := map[string]bool{}
	for _, s := range found[:min(len(found), MaxFound)] {
		f := s.verify(keys, manifestDigest)
		if f.signer != "" {
			signed[f.signer] = true
		}
		if slices.Index(order, f.state) < slices.Index(order, best.state) {
			best = f
		}
	}
	v := Verdict{State: best.state, Reason: best.reason}
	for _, k := range keys {
		if signed[k.ID] && !slices.Contains(v.Signers, k.ID) {
			v.Signers = append(v.Signers, k.ID)
		}
	}
	if len(v.Signers) > 0 {
		v.Signer = v.Signers[0]
		v.Reason = "is signed by " + v.Signer
	}
	return v
}

func (s Signature) verify(keys []Key, manifestDigest string) finding {
	if len(s.Data) > MaxSize {
		return finding{state: Invalid, reason: fmt.Sprintf("has a signature of more than %d KiB", MaxSize>>10)}
	}
	if s.MediaType == SimpleSigning {
		return s.judgeSimple(keys, manifestDigest)
	}
	return judgeBundle(s.Data, keys, manifestDigest)
}

// unknownSigner returns the finding for a signature by an unknown key.
func unknownSigner(keys []Key) finding {
	if len(keys) == 0 {
		return finding{state: UnknownSigner, reason: "is signed, and no key for it is under trust in your " + configName}
	}
	return finding{state: UnknownSigner, reason: "is signed by another key than " + oneOf(keys)}
}

func keyless() finding {
	return finding{state: Keyless, reason: "is signed with a certificate and without a key, which knack does not check"}
}

func invalid(format string, args ...any) finding {
	return finding{state: Invalid, reason: "has a signature that " + fmt.Sprintf(format, args...)}
}

// configName is the file with the rules.
const configName = "knack.yaml"

// ShortID returns the start of a key's ID, for people.
func ShortID(id string) string { return cmp.Or(short(id), "no key") }

// short returns the start of a digest with its prefix.
func short(digest string) string {
	const digits = 12
	return digest[:min(len(digest), strings.IndexByte(digest, ':')+1+digits)]
}

package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// The patterns match programs of grep, sed and awk that select one key of a .env file. Their group
// is the key.
var (
	grepKey = lazyregexp.New(`^(?:\^(?:export )?)?([A-Za-z][A-Za-z0-9_]*)=(?:\.\*)?\$?$`)
	sedKey  = lazyregexp.New(`^s([/|,#])\^(?:export )?([A-Za-z][A-Za-z0-9_]*)=(?:\\?\(?\.[*+]\\?\)?)?[/|,#](?:\\1)?[/|,#]p$`)
	awkKey  = lazyregexp.New(`^(?:/\^([A-Za-z][A-Za-z0-9_]*)=/|\$1 ?== ?"([A-Za-z][A-Za-z0-9_]*)") ?\{ ?print(?: \$2)? ?\}$`)
	// plainGrep matches options of grep with which it prints only matching lines.
	plainGrep = lazyregexp.New(`^-(?:[EFGhHinoqswx]+|m ?\d+|-only-matching|-ignore-case|-max-count=\d+)$`)
)

// secretKeys lists parts of key names. A key with one of them has a value that is or contains a
// secret.
var secretKeys = strings.Fields("secret token key pass pwd cred auth priv cert seed mnemonic phrase cookie session salt sign jwt bearer pin otp hash dsn uri conn database db redis mongo postgres mysql amqp webhook hook url login account user")

// secretNames lists further words. A key that ends with such a word has a secret as its value. The
// words are short forms of "private key" and the like, and names of services that stand for the
// service's key.
var secretNames = words.Set{Rows: "pk sk pat aws gcp azure stripe openai anthropic claude gemini mistral groq github gitlab slack discord telegram twilio sendgrid mailgun huggingface hf npm pypi alchemy infura wallet"}

// secretEndings lists words with which the names of secret keys end. A pattern without ^ selects
// each key that ends with the pattern.
const secretEndings = "secrets tokens keys password passwd passphrase credentials certificate private value mnemonics"

// namesSecret reports whether a pattern can select a key whose value is a secret. whole is true if
// the pattern matches only the whole name of a key.
func namesSecret(key string, whole bool) bool {
	low := strings.ToLower(key)
	if secretNames.Has(low[strings.LastIndexByte(low, '_')+1:]) || !whole && len(low) < 4 {
		return true
	}
	for _, part := range secretKeys {
		if strings.Contains(low, part) || !whole && strings.HasSuffix(part, low) {
			return true
		}
	}
	for part := range strings.FieldsSeq(secretEndings) {
		if !whole && strings.HasSuffix(part, low) {
			return true
		}
	}
	return false
}

// oneValue returns the output of a filter over a .env file. If the filter selects one value, under
// a key that names no secret, a finding about sending the output is only one to review.
func oneValue(program string, args []value, v value) value {
	if v.secret == "" || !words.IsDotEnv(v.secret) {
		return v
	}
	key, whole := "", true
	for _, a := range args {
		if text := a.text; strings.HasPrefix(text, "-") {
			if strings.HasSuffix(program, "grep") && !plainGrep().MatchString(text) || program == "sed" && text != "-n" && text != "-nE" && text != "-En" || program == "awk" && !strings.HasPrefix(text, "-F") {
				return v
			}
			continue
		}
		if key != "" || !a.known {
			continue
		}
		switch program {
		case "grep", "egrep", "fgrep":
			key = strings.Join(groups(grepKey().FindStringSubmatch(a.text)), "")
			whole = strings.HasPrefix(a.text, "^")
		case "sed":
			if m := sedKey().FindStringSubmatch(a.text); m != nil {
				key = m[2]
			}
		case "awk":
			key = strings.Join(groups(awkKey().FindStringSubmatch(a.text)), "")
		}
		if key == "" {
			return v
		}
	}
	v.mild = v.mild || key != "" && !namesSecret(key, whole)
	return v
}

func groups(match []string) []string { return match[min(1, len(match)):] }

package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// Texts that select one key of a file of variables, for grep, sed and awk. The group is the key.
var (
	grepKey = lazyregexp.New(`^(?:\^(?:export )?)?([A-Za-z][A-Za-z0-9_]*)=(?:\.\*)?\$?$`)
	sedKey  = lazyregexp.New(`^s([/|,#])\^(?:export )?([A-Za-z][A-Za-z0-9_]*)=(?:\\?\(?\.[*+]\\?\)?)?[/|,#](?:\\1)?[/|,#]p$`)
	awkKey  = lazyregexp.New(`^(?:/\^([A-Za-z][A-Za-z0-9_]*)=/|\$1 ?== ?"([A-Za-z][A-Za-z0-9_]*)") ?\{ ?print(?: \$2)? ?\}$`)
	// plainGrep matches options of grep that print no additional lines.
	plainGrep = lazyregexp.New(`^-(?:[EFGhHinoqswx]+|m ?\d+|-only-matching|-ignore-case|-max-count=\d+)$`)
)

// secretKeys are parts of the names of keys whose value is or contains a secret.
var secretKeys = strings.Fields("secret token key pass pwd cred auth priv cert seed mnemonic phrase cookie session salt sign jwt bearer pin otp hash dsn uri conn database db redis mongo postgres mysql amqp webhook hook url login account user")

// secretNames are the last words of other keys whose value is a secret: of private keys, and of
// services whose bare name is used for their key.
var secretNames = words.Set{Rows: "pk sk pat aws gcp azure stripe openai anthropic claude gemini mistral groq github gitlab slack discord telegram twilio sendgrid mailgun huggingface hf npm pypi alchemy infura wallet"}

// secretEndings are words at the end of such keys. A pattern without ^ selects each key that ends so.
const secretEndings = "secrets tokens keys password passwd passphrase credentials certificate private value mnemonics"

// namesSecret reports whether a pattern can select a key whose value is a secret.
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

// oneValue returns the output of a filter over a file of variables. If the filter picks one value
// by a key that names no secret, sending it is only worth a look.
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

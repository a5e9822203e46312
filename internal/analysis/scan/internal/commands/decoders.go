package commands

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/decode"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// decode returns the output of a decoding program. The result is false if the program does not
// decode with the given options.
func (r *shellReader) decode(name string, args []value, in value) (value, bool) {
	source := in
	for _, v := range args {
		if !strings.HasPrefix(v.text, "-") || v.stream {
			if c := r.content(v); !c.empty() {
				source = c
			}
		}
	}
	if name == "openssl" || name == "xxd" || name == "tr" {
		source = openedBy(r, name, args, in)
	}
	text, known, decodes := decode.By(name, texts(args), source.text)
	if !decodes {
		return value{}, false
	}
	out := value{decoder: name, text: text, known: known && source.known}
	if !out.known {
		out.text = ""
	}
	if name == "tr" || name == "rev" { // tr and rev are mostly used for other purposes
		if !source.known || text == source.text {
			return value{}, false
		}
	}
	return out.merge(source), true
}

// openedBy returns the input of openssl, xxd or tr. These programs have other options for their
// input than other decoders.
func openedBy(r *shellReader, name string, args []value, in value) value {
	for i, v := range args {
		if v.text == "-in" && i+1 < len(args) || v.stream {
			return r.content(args[min(i+1, len(args)-1)])
		}
		if name == "xxd" && !strings.HasPrefix(v.text, "-") && i > 0 {
			if c := r.content(v); !c.empty() {
				return c
			}
		}
	}
	return in
}

func texts(args []value) []string {
	all := make([]string, len(args))
	for i, v := range args {
		all[i] = v.text
	}
	return all
}

// flag reports whether a command has an option: one of the letters, or one of the long names.
func flag(args []value, letters, long string) bool {
	return slices.ContainsFunc(args, func(v value) bool { return words.IsFlag(v.text, letters, long) })
}

// decodedUTF16 returns the text of an encoded command of PowerShell, which is in UTF-16.
func decodedUTF16(v value) value {
	text, ok := decode.UTF16(v.text)
	if !ok || !v.known {
		v.text, v.known = "", false
		return v
	}
	v.text = text
	return v
}

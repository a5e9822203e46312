package commands

import (
	"path"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

var programWord = lazyregexp.New(`^(?:[~./A-Za-z0-9_-]*/)?[A-Za-z0-9](?:[A-Za-z0-9._+-]*[A-Za-z0-9+])?$`)

// program notes the name of a program that a command starts.
func (r *shellReader) program(word value, name string) {
	if r.vague || !word.known || builtins.Has(name) || len(name) < 2 || !programWord().MatchString(word.text) {
		return
	}
	shown := path.Base(word.text)
	if ext := strings.ToLower(path.Ext(shown)); documents.Has(ext) {
		return // a list of files in Markdown
	}
	r.s.Fact(passage.FactProgram, shown)
}

// documents has the extensions of files that no one starts.
var documents = words.Set{Rows: ".md .mdx .txt .png .jpg .svg .gif .json .yaml .yml .toml .csv .html .css .pdf .ts .tsx .jsx .lock .log .xml"}

// variable notes an environment variable that a command reads. By custom, only the names of
// environment variables are in capitals.
func (r *shellReader) variable(name string) {
	if len(name) > 1 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && name[0] > '9' {
		r.s.Fact(passage.FactVariable, name)
	}
}

// fileReaders has the programs whose arguments are files that they read.
var fileReaders = words.Set{Rows: "cat head tail less more grep source . diff cp mv tar zip base64 jq wc sed awk open xxd strings"}

// facts notes the files that a command reads and writes, and the packages that it installs.
func (r *shellReader) facts(name string, args []value) {
	for _, v := range args {
		if v.text == "" || v.text[0] == '-' {
			continue
		}
		r.credential(v)
		switch {
		case fileReaders.Has(name):
			r.reads(v)
		case name == "mkdir" || name == "touch" || name == "rm" || name == "rmdir":
			if file := words.Homely(v.text); words.Outside(file) {
				r.s.Fact(passage.FactWrite, file)
			}
			if name == "touch" {
				r.writes(v)
			}
		}
	}
	r.packages(name, args)
}

// installer says how a program installs packages.
type installer struct {
	kind     string // of its packages
	commands string // any of them; empty if all arguments are packages
}

// installers has the programs that install packages. Source: the manual of each.
var installers = sync.OnceValue(func() map[string]installer {
	return map[string]installer{
		"npm": {"npm", "install i add"}, "pnpm": {"npm", "install i add dlx"}, "yarn": {"npm", "add dlx"}, "bun": {"npm", "add install"}, "npx": {"npm", ""}, "bunx": {"npm", ""}, "pnpx": {"npm", ""},
		"pip": {"pip", "install"}, "pip3": {"pip", "install"}, "pipx": {"pip", "install run"}, "uvx": {"pip", ""}, "poetry": {"pip", "add"},
		"brew": {"brew", "install"}, "apt": {"apt", "install"}, "apt-get": {"apt", "install"}, "dnf": {"rpm", "install"}, "yum": {"rpm", "install"}, "apk": {"apk", "add"},
		"cargo": {"cargo", "install add"}, "gem": {"gem", "install"}, "go": {"go", "install get"},
	}
})

// optionValues has the options of installers that take a value.
const optionValues = "-r -c -e -t -i -p --requirement --index-url --extra-index-url --target --prefix --registry --from --with --version --git --branch --tag --python --cache-dir --root --path --package --features"

func (r *shellReader) packages(name string, args []value) {
	if name == "python" && len(args) > 2 && args[0].text == "-m" && args[1].text == "pip" {
		name, args = "pip", args[2:]
	}
	if name == "uv" && len(args) > 1 && (args[0].text == "pip" || args[0].text == "tool" || args[0].text == "add") {
		if args[0].text != "add" {
			args = args[1:]
		}
		r.install(installer{"pip", "install add run"}, args)
		return
	}
	if in, ok := installers()[name]; ok {
		r.install(in, args)
	}
}

func (r *shellReader) install(in installer, args []value) {
	started := in.commands == ""
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case strings.HasPrefix(text, "-"):
			if words.Has(optionValues, text) {
				i++
			}
		case !started:
			if started = words.Has(in.commands, text); !started && text != "global" {
				return
			}
		default:
			if !args[i].known || text == "" || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.ContainsAny(text, " {}<>$") {
				continue
			}
			r.s.Fact(passage.FactPackage, in.kind+":"+text)
			if in.commands == "" || text == "dlx" {
				return // the remaining arguments belong to the program
			}
		}
	}
}

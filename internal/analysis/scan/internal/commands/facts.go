package commands

import (
	"path"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// programWord matches a word that names a program: in lower case, or a cmdlet of PowerShell. A name
// with an underscore is taken for a function unless it has a path or an extension.
var programWord = lazyregexp.New(`^(?:[~./A-Za-z0-9_-]*/)?(?:[a-z][A-Za-z0-9.+-]*[A-Za-z0-9+]|[a-z][A-Za-z0-9_-]*\.[a-z0-9]+|[A-Z][a-z]+-[A-Z][A-Za-z]+|7za?|7zz|Rscript|MSBuild|Xvfb)$`)

// program records the name of a program that a command starts. In a text that may be something else
// than commands, it records only the programs of the table known.
func (r *shellReader) program(word value, name string) {
	if r.vague || !word.known || builtins.Has(name) || !programWord().MatchString(word.text) {
		return
	}
	program := path.Base(word.text)
	if ext := strings.ToLower(path.Ext(program)); documents.Has(ext) {
		return // a list of files in Markdown, not a command
	}
	if !r.isGuess() || known.Has(name) {
		r.s.Fact(passage.FactProgram, program)
	}
}

// isGuess reports whether the text may be something else than commands.
func (r *shellReader) isGuess() bool { return r.from == Bare || r.from == Inline }

// documents lists the extensions of files that are not started as programs.
var documents = words.Set{Rows: ".md .mdx .txt .png .jpg .svg .gif .json .yaml .yml .toml .csv .html .css .pdf .ts .tsx .jsx .lock .log .xml"}

// variable records an environment variable that a shell command reads; see [Analyzer.Finish].
func (r *shellReader) variable(name string) {
	if isEnvironment(name) {
		note(&r.s.read, name)
	}
}

// isEnvironment reports whether a variable has the name of an environment variable: one in
// capitals.
func isEnvironment(name string) bool {
	return len(name) > 1 && !ownVariables.Has(name) && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && name[0] > '9'
}

// ownVariables lists the variables that a shell sets itself. Source: bash(1), Shell Variables.
var ownVariables = words.Set{Rows: "BASH_SOURCE BASH_REMATCH BASH_VERSION BASHPID COMP_WORDS COMPREPLY DIRSTACK EPOCHSECONDS EUID FUNCNAME LINENO OLDPWD OPTARG OPTIND PIPESTATUS PPID PWD RANDOM REPLY SECONDS SHLVL UID"}

// note adds a name to a set of the analyzer. The size of the set is bounded.
func note(set *map[string]bool, name string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	if len(*set) < 4*passage.MaxFacts {
		(*set)[name] = true
	}
}

// fileReaders lists the programs that read the files named in their arguments.
var fileReaders = words.Set{Rows: "cat head tail less more grep source . diff cp mv tar zip base64 jq wc sed awk open xxd strings"}

// facts records the files that a command reads and writes, and the packages that it installs.
func (r *shellReader) facts(name string, args []value) {
	to := written(name, args)
	for _, v := range args {
		if v.text == "" || v.text[0] == '-' {
			continue
		}
		r.credential(v)
		switch {
		case to.isSame(v):
			if name == "tar" { // for cp, mv and zip, effect records the file
				r.writes(v)
			}
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

// written returns the argument that names the file or folder to which cp, mv, zip or tar writes. It
// returns an empty value for other programs, and if the command writes nothing.
func written(name string, args []value) value {
	switch name {
	case "cp", "mv":
		if _, rest := options(args, "tS", "target-directory suffix"); len(rest) > 1 {
			return rest[len(rest)-1]
		}
	case "zip":
		return packed(name, args)
	case "tar":
		if isPacking(args) {
			return packed(name, args)
		}
		opts, _ := options(args, "fCbgHKLNTVX", "file directory")
		for _, o := range opts {
			if o.name == "C" || o.name == "directory" {
				return o.value
			}
		}
	}
	return value{}
}

// isSame reports whether two values are the same argument of a command.
func (v value) isSame(other value) bool { return v.text == other.text && v.from == other.from }

// installer describes the commands with which a program installs packages.
type installer struct {
	kind     string // the kind of its packages
	commands string // its subcommands that install; empty if all arguments are packages
}

// installers maps the programs that install packages to their subcommands. Source: the manual of
// each.
var installers = sync.OnceValue(func() map[string]installer {
	return map[string]installer{
		"npm": {"npm", "install i add"}, "pnpm": {"npm", "install i add dlx"}, "yarn": {"npm", "add dlx"}, "bun": {"npm", "add install"}, "npx": {"npm", ""}, "bunx": {"npm", ""}, "pnpx": {"npm", ""},
		"pip": {"pip", "install"}, "pip3": {"pip", "install"}, "pipx": {"pip", "install run"}, "uvx": {"pip", ""}, "poetry": {"pip", "add"},
		"brew": {"brew", "install"}, "apt": {"apt", "install"}, "apt-get": {"apt", "install"}, "dnf": {"rpm", "install"}, "yum": {"rpm", "install"}, "apk": {"apk", "add"},
		"cargo": {"cargo", "install add"}, "gem": {"gem", "install"}, "go": {"go", "install get"},
	}
})

// optionValues lists the options of installers that take a value.
const optionValues = "-r -c -e -t -i -p --requirement --index-url --extra-index-url --target --prefix --registry --from --with --version --git --branch --tag --python --cache-dir --root --path --package --features --group --extra --optional --tags -G"

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
	command, started := "", in.commands == ""
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case strings.HasPrefix(text, "-"):
			if words.Has(optionValues, text) {
				i++
			}
		case !started:
			if command, started = text, words.Has(in.commands, text); !started && text != "global" {
				return
			}
		default:
			if !args[i].known || text == "" || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.ContainsAny(text, " {}<>$") {
				continue
			}
			r.s.Fact(passage.FactPackage, in.kind+":"+text)
			if in.commands == "" || command == "dlx" || command == "run" {
				return // the remaining arguments belong to the program
			}
		}
	}
}

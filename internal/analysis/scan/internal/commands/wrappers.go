package commands

import (
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// wrapper describes the options of a program that starts another program.
type wrapper struct {
	short, long string // the options that take a value
	skip        int    // arguments before the program to start
	word        string // the subcommand that starts a program, such as run of uv
}

// wrappers maps programs to their options. Each of these programs starts the program in its
// arguments. Source: the manuals of GNU coreutils, findutils, util-linux and sudo.
var wrappers = sync.OnceValue(func() map[string]wrapper {
	return map[string]wrapper{
		"sudo": {short: "ugpCcrtThDR", long: "user group prompt chdir host close-from role type chroot other-user"},
		"doas": {short: "uC"}, "env": {short: "uSC", long: "unset chdir split-string"},
		"nohup": {}, "setsid": {}, "command": {}, "builtin": {}, "exec": {short: "a"}, "nice": {short: "n", long: "adjustment"},
		"ionice": {short: "cnp", long: "class classdata"}, "stdbuf": {short: "ioe", long: "input output error"},
		"timeout": {short: "ks", long: "kill-after signal", skip: 1}, "gtimeout": {short: "ks", long: "kill-after signal", skip: 1},
		"time": {short: "fo", long: "format output"}, "xargs": {short: "IiLnPsdaE", long: "replace max-lines max-args max-procs max-chars delimiter arg-file"},
		"flock": {short: "wE", long: "wait timeout conflict-exit-code", skip: 1}, "unshare": {short: "SGRw", long: "setuid setgid root wd"}, "chroot": {skip: 1}, "nsenter": {short: "tSG", long: "target setuid setgid"},
		"runuser": {short: "ugG", long: "user group"}, "setpriv": {}, "pkexec": {long: "user"}, "taskset": {skip: 1}, "chrt": {skip: 1}, "setarch": {skip: 1}, "systemd-run": {short: "pEuHM", long: "unit property description slice uid gid working-directory"},
		"strace": {short: "abeEIoOpPsSuUX"}, "ltrace": {short: "aAeFlnopsuw"}, "fakeroot": {}, "xvfb-run": {short: "efnps"},
		"unbuffer": {}, "caffeinate": {short: "tw"}, "busybox": {}, "toybox": {}, "noglob": {}, "parallel": {short: "jN", long: "jobs"},
		"proxychains": {short: "f"}, "proxychains4": {short: "f"}, "torsocks": {}, "winpty": {}, "arch": {}, "watch": {short: "n", long: "interval"},
		"uv": {word: "run", short: "p", long: "with with-editable with-requirements python env-file extra group package project directory index-url"}, "conda": {word: "run", short: "np", long: "name prefix"},
		"poetry": {word: "run"}, "pipenv": {word: "run"}, "pdm": {word: "run"}, "hatch": {word: "run"}, "bundle": {word: "exec"}, "npm": {word: "exec"}, "pnpm": {word: "exec"},
	}
})

// unwrapped returns the command that a program starts, and the command's input. The result is false
// if the program does not start another program.
func unwrapped(name string, args []value, in value) ([]value, value, bool) {
	if name == "find" {
		for i, v := range args {
			if v.text == "-exec" || v.text == "-execdir" || v.text == "-ok" {
				return filledIn(args[i+1:], args[0].text), in, true
			}
		}
		return nil, in, false
	}
	if name == "python" && len(args) > 1 && args[0].text == "-m" && args[1].text == "base64" {
		return args[1:], in, true
	}
	w, ok := wrappers()[name]
	if !ok || w.word != "" && (len(args) == 0 || args[0].text != w.word) {
		return nil, in, false
	}
	if w.word != "" {
		args = args[1:]
	}
	split := ""
	for len(args) > 0 {
		text := args[0].text
		if name != "builtin" && isAssignment(text) {
			args = args[1:]
			continue
		}
		if !strings.HasPrefix(text, "-") || text == "-" {
			break
		}
		if name == "command" && strings.ContainsAny(text, "vV") {
			return nil, in, true // this only checks whether the program exists
		}
		n := 1
		if o := strings.TrimLeft(text, "-"); strings.HasPrefix(text, "--") {
			if !strings.Contains(o, "=") && words.Has(w.long, o) {
				n = 2
			}
		} else if i := strings.IndexAny(o, w.short); w.short != "" && i >= 0 {
			if i == len(o)-1 {
				n = 2
			}
			if name == "env" && o[i] == 'S' {
				split = o[i+1:]
				if n == 2 && len(args) > 1 {
					split = args[1].text
				}
			}
		}
		args = args[min(n, len(args)):]
	}
	if w.skip > 0 {
		args = args[min(w.skip, len(args)):]
	}
	if split != "" {
		var words []value
		for word := range strings.FieldsSeq(split) {
			words = append(words, value{text: strings.Trim(word, "'\""), known: true})
		}
		return append(words, args...), in, true
	}
	if len(args) > 1 && args[0].text == "-c" { // flock FILE -c TEXT
		return append([]value{{text: "sh", known: true, from: args[0].from, to: args[0].to}}, args...), in, true
	}
	if name == "xargs" && len(args) > 0 {
		args = append(args[:len(args):len(args)], value{text: in.text, known: in.known, from: in.from, to: in.to}.merge(in))
	}
	return args, in, true
}

// filledIn returns the words of find -exec with {} replaced by the searched folder.
func filledIn(args []value, folder string) []value {
	if strings.HasPrefix(folder, "-") {
		return args
	}
	args = slices.Clone(args)
	for i, v := range args {
		args[i].text = strings.ReplaceAll(v.text, "{}", folder)
	}
	return args
}

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.Trim(strings.ToUpper(name), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && name[0] > '9'
}

package commands

import (
	"strings"

	"github.com/knack-dev/knack/scan/internal/found"
	"github.com/knack-dev/knack/scan/internal/secrets"
)

// writes notes a path that a command writes to.
func (r *shellReader) writes(v value) {
	file := homely(v.text)
	if file == "" || strings.HasPrefix(file, "/dev/") {
		return
	}
	if outside(file) {
		r.s.Fact(found.FactWrite, file)
	}
	if path, ok := matchPath(file, startPaths); ok {
		r.s.Find(found.Persist, r.p, v.from, v.to, secrets.Quote(path)+" is written, which starts by itself later")
	}
	if path, ok := matchPath(file, agentPaths); ok && !ownFile(file) {
		r.s.Find(found.AgentConfig, r.p, v.from, v.to, secrets.Quote(path)+" is written, which agents read")
	}
}

// ownFile reports whether a path is a template or a copy for a test, not the agent's own.
func ownFile(file string) bool { return strings.HasPrefix(file, "/tmp/") }

// reads notes a path that a command reads.
func (r *shellReader) reads(v value) {
	if file := homely(v.text); outside(file) && !strings.HasPrefix(file, "/dev/") && !strings.HasPrefix(file, "/path/to") {
		r.s.Fact(found.FactRead, file)
	}
}

// homely writes a path below the home folder with ~.
func homely(path string) string {
	if strings.Contains(path, "//") && !strings.Contains(path, ":") {
		path = strings.ReplaceAll(path, "//", "/") // of joined parts
	}
	for _, home := range [...]string{"$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(path, home); ok {
			return "~/" + rest
		}
	}
	return path
}

// outside reports whether a path leads out of the skill.
func outside(path string) bool {
	return strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "/") && len(path) > 1 && !strings.HasPrefix(path, "//") || strings.HasPrefix(path, "../../")
}

// matchPath reports whether a path is one of a table: a row that ends with / has all below it.
func matchPath(path string, table []string) (string, bool) {
	low := "/" + strings.ToLower(path)
	for _, p := range table {
		if strings.HasSuffix(low, p) || strings.HasSuffix(p, "/") && strings.Contains(low, p) {
			return path, true
		}
		if strings.HasPrefix(p, "/etc/") && strings.HasPrefix(low, "/"+p) {
			return path, true
		}
		if (strings.HasSuffix(p, "rules") || strings.HasSuffix(p, "clinerules")) && strings.Contains(low, p+"/") {
			return path, true
		}
	}
	return "", false
}

// copies judges cp, mv, ln and install: the last argument, or that of -t, is written.
func (r *shellReader) copies(name string, args []value) {
	opts, rest := options(args, "tmogS", "target-directory mode owner group suffix")
	for _, o := range opts {
		if o.name == "t" || o.name == "target-directory" {
			r.writes(o.value)
			return
		}
	}
	if len(rest) < 2 {
		return
	}
	to := rest[len(rest)-1]
	for _, v := range rest[:len(rest)-1] {
		c := r.content(v)
		if !c.empty() && len(rest) == 2 {
			r.saved[fileName(to.text)] = c
		}
		if strings.HasSuffix(to.text, "/") {
			dir := to
			dir.text += v.text[strings.LastIndexByte(v.text, '/')+1:]
			r.writes(dir)
			return
		}
	}
	r.writes(to)
}

// persists judges programs that make something start by itself, or turn off a guard.
func (r *shellReader) persists(name string, args []value) {
	rest := args[1:]
	switch name {
	case "crontab":
		if len(rest) > 0 && !flag(rest, "lre", "") {
			r.s.Find(found.Persist, r.p, args[0].from, args[0].to, "the table of cron is written")
		}
	case "schtasks":
		for _, v := range rest {
			if strings.EqualFold(v.text, "/create") {
				r.s.Find(found.Persist, r.p, args[0].from, args[0].to, "a task is scheduled")
			}
		}
	case "git":
		for i, v := range rest {
			if strings.EqualFold(v.text, "core.hooksPath") && i+1 < len(rest) && !flag(rest, "", "unset get") {
				r.s.Find(found.Persist, r.p, args[0].from, args[0].to, "the folder of git's hooks is set")
			}
		}
	case "xattr":
		for _, v := range rest {
			if v.text == "com.apple.quarantine" && flag(rest, "dc", "") || strings.HasPrefix(v.text, "-") && strings.Contains(v.text, "c") {
				r.s.Find(found.Gatekeeper, r.p, args[0].from, args[0].to, "the mark of a downloaded file is removed")
				return
			}
		}
	case "spctl":
		if flag(rest, "", "master-disable global-disable") {
			r.s.Find(found.Gatekeeper, r.p, args[0].from, args[0].to, "Gatekeeper is turned off")
		}
	case "set-mppreference", "add-mppreference":
		for _, v := range rest {
			if low := strings.ToLower(v.text); strings.HasPrefix(low, "-disable") || strings.HasPrefix(low, "-exclusion") {
				r.s.Find(found.Gatekeeper, r.p, args[0].from, args[0].to, "Microsoft Defender is told to look away")
				return
			}
		}
	}
	if name == "sed" && flag(rest, "i", "in-place") || name == "chmod" || name == "truncate" {
		if name != "chmod" && len(rest) > 0 {
			r.writes(rest[len(rest)-1])
		}
	}
}

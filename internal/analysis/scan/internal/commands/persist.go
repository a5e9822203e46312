package commands

import (
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// writes records a path to which a command writes. It reports a file whose content will start by
// itself later.
func (r *shellReader) writes(v value) {
	file := words.Homely(v.text)
	if file == "" || strings.HasPrefix(file, "/dev/") {
		return
	}
	if words.Outside(file) || words.IsOfAgents(file) {
		r.s.Fact(passage.FactWrite, file)
	}
	if words.Starts(file) {
		r.s.Find(passage.Persist, r.p, v.from, v.to, secrets.Quote(file)+" is written, which starts by itself later")
	}
}

// reads records a path that a command reads.
func (r *shellReader) reads(v value) {
	if file := words.Homely(v.text); words.Outside(file) && !strings.HasPrefix(file, "/dev/") {
		r.s.Fact(passage.FactRead, file)
	}
}

// copies judges cp, mv, ln and install, which write to the last argument or to the argument of -t.
func (r *shellReader) copies(args []value) {
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
		if !c.empty() {
			at := to.text
			if strings.HasSuffix(at, "/") {
				at += path.Base(v.text)
			}
			r.save(at, c)
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

// persists judges programs that make something start automatically or turn off a protection.
func (r *shellReader) persists(name string, args []value) {
	rest := args[1:]
	switch name {
	case "crontab":
		if len(rest) > 0 && !flag(rest, "lre", "") {
			r.s.Find(passage.Persist, r.p, args[0].from, args[0].to, "the table of cron is written")
		}
	case "schtasks":
		for _, v := range rest {
			if strings.EqualFold(v.text, "/create") {
				r.s.Find(passage.Persist, r.p, args[0].from, args[0].to, "a task is scheduled")
			}
		}
	case "git":
		for i, v := range rest {
			if strings.EqualFold(v.text, "core.hooksPath") && i+1 < len(rest) && !flag(rest, "", "unset get") {
				r.s.Find(passage.Persist, r.p, args[0].from, args[0].to, "the folder of git's hooks is set")
			}
		}
	case "xattr":
		for _, v := range rest {
			if v.text == "com.apple.quarantine" && flag(rest, "dc", "") || strings.HasPrefix(v.text, "-") && strings.Contains(v.text, "c") {
				r.s.Find(passage.Gatekeeper, r.p, args[0].from, args[0].to, "the mark of a downloaded file is removed")
				return
			}
		}
	case "spctl":
		if flag(rest, "", "master-disable global-disable") {
			r.s.Find(passage.Gatekeeper, r.p, args[0].from, args[0].to, "Gatekeeper is turned off")
		}
	case "set-mppreference", "add-mppreference":
		for _, v := range rest {
			if low := strings.ToLower(v.text); strings.HasPrefix(low, "-disable") || strings.HasPrefix(low, "-exclusion") {
				r.s.Find(passage.Gatekeeper, r.p, args[0].from, args[0].to, "Microsoft Defender is told to look away")
				return
			}
		}
	}
	if (name == "sed" && flag(rest, "i", "in-place") || name == "truncate") && len(rest) > 0 {
		r.writes(rest[len(rest)-1])
	}
}

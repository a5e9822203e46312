package commands

import (
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// The strings list the options of curl and wget that take a value. Source: curl(1), wget(1).
const (
	curlShort = "oHdFTuAebcxXmwKErCDYyztPQ"
	curlLong  = "output header data data-raw data-binary data-urlencode data-ascii form form-string upload-file user user-agent referer cookie cookie-jar proxy request max-time connect-timeout retry retry-delay retry-max-time write-out config cert key cacert capath range continue-at dump-header resolve url json interface speed-limit speed-time time-cond max-filesize limit-rate output-dir noproxy socks5 socks5-hostname url-query variable proto proto-redir proto-default tls-max ciphers connect-to unix-socket oauth2-bearer aws-sigv4 keepalive-time key-type cert-type pass proxy-user proxy-header max-redirs netrc-file local-port dns-servers doh-url pinnedpubkey stderr trace trace-ascii etag-save etag-compare rate"
	wgetShort = "OoaPUtTQeiABDIlwR"
	wgetLong  = "output-document output-file append-output directory-prefix user-agent tries timeout header post-data post-file body-data body-file method input-file load-cookies user password ca-certificate"
)

// request describes the URLs that a command fetches, and the data and files that it sends.
type request struct {
	urls   []value
	bodies []value // data to send; in curl, "@path" is a file
	files  []value // files to send
	output string  // the file for the response; "" for the program's output
	named  bool    // the response goes to a file named after the URL
	folder string  // the folder for that file
	stdin  bool    // the program's input is sent
}

// requestOf returns the request of a program that fetches, given its arguments.
func requestOf(name string, args []value) request {
	switch name {
	case "curl":
		return curlRequest(args)
	case "wget":
		return wgetRequest(args)
	}
	var q request
	for i, v := range args {
		switch option := strings.ToLower(v.text); {
		case option == "-outfile" || option == "-o" || option == "--output" || option == "-d" && name == "axel":
			q.output = argument(args, i+1).text
		case option == "-body" || option == "-infile":
			q.bodies = append(q.bodies, *argument(args, i+1))
		case strings.Contains(v.text, "://") || strings.HasPrefix(v.text, "$") || i > 0 && strings.ToLower(args[i-1].text) == "-uri":
			q.urls = append(q.urls, v)
		}
	}
	q.named = name == "aria2c" && q.output == ""
	q.stdin = strings.HasPrefix(name, "http") || name == "xh"
	return q
}

func curlRequest(args []value) request {
	var q request
	opts, rest := options(args, curlShort, curlLong)
	q.urls = rest
	for _, o := range opts {
		switch o.name {
		case "o", "output":
			if q.output = o.value.text; q.output == "-" {
				q.output = ""
			}
		case "O", "remote-name", "remote-name-all", "J":
			q.named = true
		case "output-dir":
			q.folder = o.value.text
		case "d", "data", "data-raw", "data-binary", "data-urlencode", "data-ascii", "F", "form", "json", "form-string", "url-query":
			q.bodies = append(q.bodies, o.value)
		case "T", "upload-file":
			if o.value.text == "-" || o.value.text == "." {
				q.stdin = true
			}
			q.files = append(q.files, o.value)
		case "url":
			q.urls = append(q.urls, o.value)
		}
	}
	for _, b := range q.bodies {
		if _, file, ok := strings.Cut(b.text, "@"); ok {
			q.stdin = q.stdin || file == "-"
		}
	}
	return q
}

func wgetRequest(args []value) request {
	q := request{named: true}
	opts, rest := options(args, wgetShort, wgetLong)
	q.urls = rest
	for _, o := range opts {
		switch o.name {
		case "O", "output-document":
			q.named, q.output = false, o.value.text
			if q.output == "-" || q.output == "/dev/stdout" {
				q.output = ""
			}
		case "P", "directory-prefix":
			q.folder = o.value.text
		case "post-data", "body-data":
			q.bodies = append(q.bodies, o.value)
		case "post-file", "body-file":
			q.files = append(q.files, o.value)
			q.stdin = q.stdin || o.value.text == "-" || o.value.text == "/dev/stdin"
		}
	}
	return q
}

// fetch judges a program that fetches, and returns its output.
func (r *shellReader) fetch(name string, args []value, io redirect) value {
	q := requestOf(name, args[1:])
	var urls []string
	for _, u := range q.urls {
		if host := r.host(u.text); !words.IsLocal(host) {
			r.network = true
		}
		if len(urls) < maxFetched && !strings.HasPrefix(u.text, "file:") {
			urls = append(urls, u.text)
		}
		urls = append(urls, u.fetched...) // xargs curl
	}
	r.judgeRequest(q, args[0], io)
	if len(urls) == 0 {
		return value{}
	}
	out := value{fetched: urls, from: args[0].from, to: args[0].to}
	switch {
	case q.output != "":
		r.write(q.output, out, redirect{from: args[0].from, to: args[0].to})
	case q.named:
		for _, u := range q.urls {
			plain, _, _ := strings.Cut(u.text, "?")
			r.save(path.Join(q.folder, path.Base(plain)), out)
		}
	default:
		return out
	}
	return value{}
}

// runsFetched reports that a program runs the response of a URL. If there are several URLs, it
// reports the most suspicious one.
func (r *shellReader) runsFetched(urls []string, place value, by string) {
	worst, lane := "", 0
	for _, u := range urls {
		host, kind := words.Of(u)
		r.commands.runs(u)
		rank := 1
		switch {
		case words.IsLocal(host):
			continue
		case kind == words.Transient || kind == words.Address || kind == words.Punycode:
			rank = 2
		}
		if rank > lane {
			worst, lane = u, rank
		}
	}
	id := passage.RunFetched
	switch lane {
	case 0:
		return
	case 2:
		id = passage.RunUnknown
	}
	r.s.Find(id, r.p, place.from, place.to, "what "+secrets.Quote(worst)+" delivers is run by "+secrets.Quote(by))
}

// runs records that a command runs the response of a URL.
func (c *commands) runs(u string) {
	if c.ran == nil {
		c.ran = map[string]bool{}
	}
	c.ran[u] = true
}

// urlUse is a mention of a URL whose host is transient or an IP address.
type urlUse struct {
	url      string
	from, to int
}

// urls records the hosts of the URLs in words.
func (r *shellReader) urls(args []value) {
	for _, v := range args {
		for rest := v.text; ; {
			i := strings.Index(rest, "://")
			if i < 0 {
				break
			}
			start := i
			for start > 0 && isLetter(rest[start-1]) {
				start--
			}
			end := i + 3
			for end < len(rest) && !strings.ContainsRune(" \t\n\"'<>),;`|\\", rune(rest[end])) {
				end++
			}
			r.url(rest[start:end], v)
			rest = rest[end:]
		}
	}
}

func (r *shellReader) url(u string, v value) {
	r.host(u)
	if _, kind := words.Of(u); kind == words.Transient || kind == words.Address {
		r.passing = append(r.passing, urlUse{u, v.from, v.to})
	}
}

// host records the host of a URL as a fact, and returns the host.
func (r *shellReader) host(u string) string {
	host, kind := words.Of(u)
	if kind == words.Nobody {
		r.commands.examples++
	} else {
		r.commands.others++
	}
	r.destination(u)
	return host
}

// destination records the host of a URL, or of a command's argument, as a fact.
func (r *shellReader) destination(text string) {
	host, kind := words.Of(text)
	isHost := kind != words.Named || strings.Contains(host, ".") && (strings.Contains(text, "://") || !documents.Has(path.Ext(host)))
	if host != "" && kind != words.Nobody && isHost {
		r.s.Fact(passage.FactHost, host)
	}
}

// passingHosts reports the URLs that have a transient host or an IP address and whose content is
// not run. If the content is run, runsFetched has already reported the command.
func (r *shellReader) passingHosts() {
	for _, u := range r.passing {
		if r.commands.ran[u.url] {
			continue
		}
		r.s.urlHost(r.p, u.from, u.to, u.url)
	}
}

// urlHost reports a URL whose host is transient or an IP address.
func (s *Analyzer) urlHost(p passage.Part, from, to int, u string) {
	switch host, kind := words.Of(u); kind {
	case words.Transient:
		s.Find(passage.URLTransient, p, from, to, "a URL leads to "+secrets.Quote(host))
	case words.Address:
		s.Find(passage.URLAddress, p, from, to, "a URL leads to the address "+secrets.Quote(host))
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

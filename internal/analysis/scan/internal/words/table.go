package words

import (
	"net/netip"
	"strings"
	"sync"
)

// pastes lists hosts at which anyone can publish texts anonymously. Source: the description of each
// service.
const pastes = "pastebin.com pastebin.pl paste.ee paste.rs paste.debian.net paste.mozilla.org paste.ubuntu.com paste.centos.org paste.c-net.org pastes.io pastes.dev paste.gg " +
	"hastebin.com hastebin.skyra.pw dpaste.com dpaste.org bpa.st ghostbin.com ghostbin.co privatebin.net cpaste.org controlc.com justpaste.it " +
	"ix.io sprunge.us termbin.com clbin.com p.ip.fi rentry.co rentry.org textbin.net snippet.host glot.io telegra.ph codepad.org nopaste.net vpaste.net"

var pasteHosts = Set{Rows: pastes}

// transient lists hosts at which anyone can publish content for a while, anonymously. Their
// subdomains count too. Source: the description of each service.
var transient = Set{Rows: pastes + " " +
	// Gists: https://docs.github.com/get-started/writing-on-github/editing-and-sharing-content-with-gists
	"gist.github.com gist.githubusercontent.com " +
	// Hosts for dropped files.
	"transfer.sh file.io 0x0.st temp.sh bashupload.com bashupload.app catbox.moe files.catbox.moe gofile.io anonfiles.com anonfile.com oshi.at uguu.se tmpfiles.org " +
	"filebin.net ufile.io pixeldrain.com we.tl wetransfer.com sendspace.com zippyshare.com litterbox.catbox.moe keep.sh tmp.ninja file.coffee x0.at ttm.sh " +
	// Tunnels to any machine.
	"ngrok.io ngrok.app ngrok.dev ngrok-free.app ngrok-free.dev trycloudflare.com loca.lt localtunnel.me serveo.net serveousercontent.com localhost.run lhr.life lhr.rocks " +
	"bore.pub pagekite.me telebit.io tunnelmole.net pinggy.link pinggy.io zrok.io devtunnels.ms loclx.io playit.gg portmap.io packetriot.net " +
	// Names that spell an IP address: https://nip.io, https://sslip.io
	"nip.io sslip.io xip.io " +
	// Short links that anyone can make. aka.ms and g.co serve only their owners, and git.io and
	// goo.gl take no new links.
	"bit.ly tinyurl.com t.co is.gd v.gd ow.ly buff.ly cutt.ly rb.gy shorturl.at tiny.cc rebrand.ly t.ly short.io bl.ink lnkd.in s.id shorte.st adf.ly " +
	"dub.sh tiny.one tinu.be urlz.fr clck.ru u.to qr.ae soo.gd bc.vc chilp.it x.gd da.gd"}

// reserved lists domain names that cannot be registered. The names below them count too. Sources: RFC
// 2606, RFC 6761, RFC 8375 and ICANN's resolution 2024.07.29.06 (internal).
var reserved = Set{Rows: "example test invalid localhost local internal home.arpa example.com example.net example.org"}

// placeholderHosts lists placeholders for a host of the reader's choice. A placeholder counts as a
// name without a dot, as the label before the top-level domain, and as the name of a variable.
// Sources: RFC 2606 (example); OWASP's Web Security Testing Guide and MITRE's CAPEC (attacker,
// evil, malicious, victim); the options of Metasploit (lhost, rhost); otherwise the manuals of
// curl, ssh and nginx.
var placeholderHosts = Set{Rows: "example attacker attackers attacker-server attacker-ip attacker-host attacker-site attacker-controlled evil evil-server evilsite evil-site malicious malicious-site malicious-server " +
	"malware-site badsite hacker victim victim-server target target-host target-ip lhost rhost c2 c2-server c2server callback-host collaborator " +
	"host hostname host-name server server-name ip ip-address domain domain-name remote-host remote url base-url " +
	"yourserver yourdomain yourhost yoursite yourcompany yourorg yourapp your-server your-domain mydomain myserver my-server mysite mycompany somedomain some-server somesite"}

// secondLevel lists the second-level labels of countries below which owners register their names.
// Source: https://publicsuffix.org
var secondLevel = Set{Rows: "co com org net ac gov edu"}

// nat64 is the range of addresses that embed an IPv4 address (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// specialAddresses lists ranges that contain no machine of the internet. Sources: IANA's registries
// of special-purpose addresses (RFC 6890); RFC 5737, RFC 3849 and RFC 9637 for documentation.
// 1.2.3.4 is a placeholder in manuals.
var specialAddresses = sync.OnceValue(func() []netip.Prefix {
	return prefixes("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 1.2.3.4/32 2001:db8::/32 3fff::/20 100::/64")
})

func prefixes(row string) []netip.Prefix {
	var all []netip.Prefix
	for p := range strings.FieldsSeq(row) {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

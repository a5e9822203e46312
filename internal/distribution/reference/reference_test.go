package reference

import "testing"

func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		"oci://localhost:05901/acme/skills:v1":       "oci://localhost:5901/acme/skills:v1",
		"oci://localhost:80/acme/skills":             "oci://localhost/acme/skills",
		"oci://localhost:443/acme/skills":            "oci://localhost:443/acme/skills",
		"OCI://R.Example.:443/acme/skills@sha256:ab": "oci://r.example/acme/skills@sha256:ab",
		"oci://r.example:00443/acme/**":              "oci://r.example/acme/**",
		"oci://r.example:5000/acme":                  "oci://r.example:5000/acme",
		"oci://[::ffff:127.0.0.1]:5901/a":            "oci://127.0.0.1:5901/a",
		"oci://[::FFFF:7f00:1]:80/a":                 "oci://127.0.0.1/a",
		"https://[::ffff:10.0.0.1]:443/a":            "https://10.0.0.1/a",
		"oci://[0:0::1]:0080/a":                      "oci://[::1]/a",
		"oci://Registry-1.docker.io:0443/skills:v1":  "oci://docker.io/library/skills:v1",
		"oci://index.docker.io./acme/skills":         "oci://docker.io/acme/skills",
		"oci://docker.io:5000/skills":                "oci://docker.io:5000/skills",
		"oci://docker.io/**":                         "oci://docker.io/**",
		"oci://**":                                   "oci://**",
		"**":                                         "**",
		"https://Site.Example.:443/%7eann/a%2fb.zip": "https://site.example/~ann/a%2Fb.zip",
		"https://site.example:8443/x%41":             "https://site.example:8443/xA",
		"git+http://LocalHost:080/a%zz":              "git+http://localhost/a%zz",
		"git+https://h:443/a//skills/%70df@v1":       "git+https://h/a//skills/%70df@v1",
		"mcp:https://H.example:443/mcp":              "mcp:https://h.example/mcp",
		"GitHub.com:443/Acme/Skills//sub@main":       "github.com/Acme/Skills//sub@main",
		"git.example.:0443/acme/sk%69lls":            "git.example/acme/skills",
		"ssh://git@Git.Example:22/acme/skills":       "ssh://git@git.example/acme/skills",
		"ssh://Ann@git.example:02222/acme":           "ssh://Ann@git.example:2222/acme",
		"git@Git.Example.:acme/sk%69lls":             "git@git.example:acme/sk%69lls",
		"git+file:///Home/x%41":                      "git+file:///Home/x%41",
		"./Skills:443/a%41":                          "./Skills:443/a%41",
		"../X.y/a":                                   "../X.y/a",
		"~/Skills.d/a":                               "~/Skills.d/a",
		"/srv/Skills/a%41":                           "/srv/Skills/a%41",
		"C:/Skills.d/a":                              "C:/Skills.d/a",
		"file:/X.y/a%41":                             "file:/X.y/a%41",
		"mcp:HTTPS://H:443":                          "mcp:https://h",
		"git+ssh://git@H:22/a":                       "ssh://git@h/a",
		"GIT+HTTPS://H:443/a":                        "git+https://h/a",
		"H.example/a%2eb//c%41@v%41":                 "h.example/a.b//c%41@v%41",
		"":                                           "",
	} {
		got := Normal(text)
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if again := Normal(got); again != got {
			t.Errorf("%s: %s, and again %s", text, got, again)
		}
	}
}

func FuzzNormal(f *testing.F) {
	for _, text := range []string{"oci://h:0443/a", "git@h:p", "git+https://h./a%2e", "mcp:https://[::1]:443/x", "h.:1/%", "@:", "oci://a:0:0/b", "0://[:::4.", "https://[::]:443.:443/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := Normal(text); Normal(got) != got {
			t.Errorf("%q: %q, and again %q", text, got, Normal(got))
		}
	})
}

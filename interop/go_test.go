package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/skillsext"
)

// TestInteropGoSDK checks that the Go SDK's client, with the package skillsext for the extension,
// verifies every skill. knack uses both itself, so this test proves less than the tests with other
// clients.
func TestInteropGoSDK(t *testing.T) {
	all := trees(t)
	t.Parallel()
	binary := knack(t)
	for _, tree := range all {
		tree.combinations(func(transport, version string) {
			client := mcp.NewClient(&mcp.Implementation{Name: "knack-interop", Version: "1"}, nil)
			if err := skillsext.AddMethods(client); err != nil {
				t.Fatal(err)
			}
			var via mcp.Transport = &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), binary, tree.args()...)}
			if transport == web {
				via = &mcp.StreamableClientTransport{Endpoint: tree.http(t), HTTPClient: &http.Client{}, DisableStandaloneSSE: true, MaxRetries: -1}
			}
			session, err := client.Connect(t.Context(), via, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			report, err := skillsext.CheckSession(t.Context(), session, nil)
			if err != nil {
				t.Fatal(err)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 3 {
				t.Errorf("%v, %+v", err, tools)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if report.Protocol != version || report.Skills != tree.skills || report.Files != tree.files || len(report.Findings) > 0 {
				t.Errorf("%s, %s, %s: %+v", tree.name, transport, version, report)
			}
			result := fmt.Sprintf("%d skills, %d files verified, %d findings", report.Skills, report.Files, len(report.Findings))
			matrix.cell(t, "skills", "Go SDK with skillsext", transport, version, tree.name, result)
		})
	}
}

// TestInteropCheck runs knack check on a server, as users do.
func TestInteropCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks for every file of every skill")
	}
	t.Parallel()
	binary := knack(t)
	for _, tree := range trees(t) {
		url := tree.http(t)
		for _, version := range []string{legacy, modern} {
			if !tree.over(web, version) {
				continue
			}
			args := []string{"check", "--protocol", version, url}
			r := start(t, binary, args...)
			result := fmt.Sprintf("%d skills, %d files verified, protocol %s: 0 findings", tree.skills, tree.files, version)
			if r.code != 0 || r.stdout != result+"\n" {
				t.Errorf("%s: exit status %d: %s%s", tree.name, r.code, tail(r.stdout), tail(r.stderr))
			}
			matrix.cell(t, "skills", "knack check", web, version, tree.name, result)
		}
	}
}

// mcpgo builds the program that uses mcp-go. The program is a module of its own, so that knack's
// module does not depend on mcp-go.
var mcpgo = sync.OnceValues(func() (string, error) {
	program := filepath.Join(work, "mcpgo.exe")
	cmd := exec.Command("go", "build", "-C", "mcpgo", "-o", program, ".")
	cmd.Env = builder
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build mcpgo: %w: %s", err, out)
	}
	return program, nil
})

// TestInteropMCPGo checks that mcp-go, a client in Go that shares no code with knack, reads every
// file.
func TestInteropMCPGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks for every file of every skill")
	}
	t.Parallel()
	binary := knack(t)
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		script(t, filepath.Join("mcpgo", name))
	}
	program, err := mcpgo()
	if err != nil {
		missing(t, "%v", err)
	}
	for _, tree := range trees(t) {
		tree.combinations(func(transport, version string) {
			args := append([]string{version, binary}, tree.args()...)
			if transport == web {
				args = []string{version, tree.http(t)}
			}
			r := start(t, program, args...)
			var got struct {
				Protocol                        string
				Tools, Skills, Files, Resources int
				Pages                           int
				ResultType, Called              string
				Problems                        []string
				RefusedSkill, RefusedMD         bool
			}
			if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
				t.Fatalf("exit status %d: %s: %v", r.code, tail(r.stderr), err)
			}
			resultType := ""
			if version == modern {
				resultType = "complete"
			}
			if got.Protocol != version || got.Skills != tree.skills || got.Files != tree.files || len(got.Problems) > 0 || got.Tools != 3 ||
				got.Resources < tree.skills || got.Called == "" || got.ResultType != resultType || !got.RefusedMD || !got.RefusedSkill {
				t.Errorf("%s, %s, %s: %+v", tree.name, transport, version, got)
			}
			result := fmt.Sprintf("%d skills on %s, %d files verified, %d resources listed", got.Skills, plural(got.Pages, "page"), got.Files, got.Resources)
			matrix.cell(t, "skills", "mcp-go, raw requests", transport, version, tree.name, result)
		})
	}
}

package agents

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These environment variables control the suite.
const (
	// which lists the clients to run, separated by commas, or is "all". Without it the tests are
	// skipped.
	which = "KNACK_AGENTS"
	// given is the absolute path of the knack to test. Without it the suite builds knack.
	given = "KNACK"
	// installed is the folder of the installed clients. The default is clients.
	installed = "KNACK_AGENTS_CLIENTS"
	// sizesOf lists the numbers of skills to measure, separated by commas. Without it all are
	// measured.
	sizesOf = "KNACK_AGENTS_SIZES"
	// keep is a folder in which homes, recordings and requests remain after the run.
	keep = "KNACK_AGENTS_KEEP"
)

// work is the folder below which each client has a home.
var work string

// workLength is the length of the path of [work], where the system's folder for temporary files is
// not longer. Codex names the path of each skill in a list of bounded length, so a longer path
// leaves room for fewer skills.
const workLength = 40

func TestMain(m *testing.M) {
	if s, ok := sidecar(); ok {
		os.Exit(s.run())
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if work = os.Getenv(keep); work != "" {
		if work, err = filepath.Abs(work); err == nil {
			err = os.MkdirAll(work, 0o755)
		}
	} else if work, err = os.MkdirTemp("", "knack-agents-"); err == nil {
		defer os.RemoveAll(work)
		if pad := workLength - len(work) - 1; pad > 0 {
			work = filepath.Join(work, strings.Repeat("x", pad))
			err = os.Mkdir(work, 0o755)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := seen.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// knack returns the path of the binary to test: the given binary, or one built on the first call.
var knack = sync.OnceValues(func() (string, error) {
	if at := os.Getenv(given); at != "" {
		if _, err := os.Stat(at); err != nil || !filepath.IsAbs(at) {
			return "", fmt.Errorf("%s=%s is not the absolute path of a program", given, at)
		}
		return at, nil
	}
	binary := filepath.Join(work, "knack")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "../../cmd/knack")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build knack: %w: %s", err, out)
	}
	return binary, nil
})

// node returns the path of the Node that npm ci --prefix interop installed. Most systems have a
// Node that is too old for the clients.
func node() (string, error) {
	bin, err := filepath.Abs("../node_modules/node/bin/node")
	if err != nil {
		return "", err
	}
	if _, err = os.Stat(bin); err != nil {
		return "", fmt.Errorf("no Node that the clients can run on; run npm ci --prefix interop: %w", err)
	}
	return bin, nil
}

// patience bounds one run of a client. A run takes 3 to 20 seconds.
const patience = 3 * time.Minute

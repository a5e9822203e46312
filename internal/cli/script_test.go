package cli_test

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/test/testwait"
)

var update = flag.Bool("update", false, "rewrite golden files")

var logTime = regexp.MustCompile(`(?m)^time=\S+ `)

// TestMain makes the test binary run as knack, so that scripts run a real process with
// pipes, signals and an exit status.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // most of the tests wait
	testscript.Main(collected{m}, map[string]func(){"knack": func() {
		ctx, stop := console.UntilSignal()
		if os.Getenv("KNACK_TEST_NOBODY") != "" {
			becomeNobody()
		}
		if os.Getenv("KNACK_TEST_PATIENT") != "" {
			bePatient()
		}
		code := cli.Main(ctx, console.System(), os.Args[1:])
		stop()
		os.Exit(code)
	}})
}

// collected runs the tests with fewer garbage collections. A process that runs as knack collects as
// usual.
type collected struct{ *testing.M }

func (m collected) Run() int {
	debug.SetGCPercent(400)
	bePatient()
	// The tests look at millions of paths. If go recorded them for its cache of test results, it
	// would need a gigabyte, and longer than the tests.
	flag.Parse()
	_ = flag.Set("test.testlogfile", "")
	return m.M.Run()
}

func bePatient() { selection.Patience, selection.RootPatience = time.Minute, time.Minute }

// TestScript runs command lines as users type them. Every script starts with an empty home folder,
// in an empty folder outside any repository.
func TestScript(t *testing.T) {
	t.Parallel() // runs while others wait
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("KNACK_DIRS", "")
			env.Setenv("KNACK_TEST_PATIENT", "1")
			// BIN is the folder of knack, for scripts that must not see the other programs of this
			// machine.
			env.Setenv("BIN", filepath.SplitList(env.Getenv("PATH"))[0])
			return os.MkdirAll(home, 0o755)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run": run, "exits": exits, "write": write, "plain": plain, "big": big, "listen": listen, "model": modelCommand,
		},
	})
}

// run implements the script command run [<FILE] COMMAND…, which runs a command. The command must
// succeed or, after "!", fail. Its standard input is the file, or empty.
func run(ts *testscript.TestScript, neg bool, args []string) {
	if got := status(ts, args); (got != 0) != neg {
		ts.Fatalf("unexpected exit status %d", got)
	}
}

// exits implements the script command exits N [<FILE] COMMAND…, which runs a command and checks
// that the exit status is N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS [<FILE] COMMAND…")
	}
	if got := status(ts, args[1:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// status runs a command and returns its exit status. Outside the second lane, knack runs inside the
// test unless it has to run as another user, which saves a thousand processes. If COLUMNS is set,
// knack always runs inside the test, with a terminal of that width.
func status(ts *testscript.TestScript, args []string) int {
	input, given := strings.CutPrefix(args[0], "<")
	text := ""
	if given {
		text, args = ts.ReadFile(input), args[1:]
	}
	columns, _ := strconv.Atoi(ts.Getenv("COLUMNS"))
	itself := args[0] == "knack" || args[0] == filepath.Join(ts.Getenv("BIN"), "knack")
	if itself && (columns > 0 || !testwait.SecondLane() && ts.Getenv("KNACK_TEST_NOBODY") == "") {
		env := console.Env{Stdin: strings.NewReader(text), Stdout: ts.Stdout(), Stderr: ts.Stderr(),
			Getenv: ts.Getenv, Dir: ts.MkAbs("."), Home: ts.Getenv("HOME"),
			Width: columns, StdoutTerminal: columns > 0, StderrTerminal: columns > 0}
		return cli.Main(context.Background(), env, args[1:])
	}
	if given {
		args = append([]string{"/bin/sh", "-c", `file=$1; shift; exec "$@" <"$file"`, "sh", ts.MkAbs(input)}, args...)
	}
	err := ts.Exec(args[0], args[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// write implements the script command write FILE "TEXT". It writes a Go string, for bytes that a
// script cannot contain.
func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: write FILE TEXT")
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(text), 0o644))
}

// plain implements the script command plain STREAM FILE. It writes a stream to a file, without the
// times of the log, and with $WORK in place of the script's folder.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plain STREAM FILE")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "$WORK")
	text = logTime.ReplaceAllString(text, "")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// listen implements the script command listen. It listens on a free port until the script ends, and
// sets PORT.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: listen")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv("PORT", port)
}

// big implements the script command big FILE, which writes a SKILL.md of 2 MiB.
func big(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: big FILE")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte("---\nname: big\ndescription: d\n---\n"+strings.Repeat("x", 2<<20)), 0o644))
}

package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/test/testwait"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asServer makes the test binary run as an MCP server of some kind: a real process.
const asServer = "KNACK_TEST_PEER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(asServer); kind != "" {
		play(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play runs a server of the given kind.
func play(kind string) {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	kind, argument, _ := strings.Cut(kind, " ")
	switch kind {
	case "sdk":
		if err := tools(argument).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	case "exits":
		fmt.Fprintln(os.Stderr, "Error: no module 'acme'")
		fmt.Fprintln(os.Stderr, "Version 22")
		os.Exit(3)
	case "sleeps": // and ignores SIGTERM
		signal.Ignore(syscall.SIGTERM)
		<-time.After(time.Hour)
	case "connects": // to a server that ignores SIGTERM, until this process is killed
		_, _ = Connect(context.Background(), Server{Name: "stubborn", Command: []string{os.Args[0]}, Env: map[string]string{asServer: "stubborn " + argument}}, Options{Getenv: os.Getenv})
		<-time.After(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		defer func() { <-time.After(time.Hour) }()
	case "forks", "escapes":
		cmd := exec.Command(os.Args[0])
		if kind == "escapes" { // out of the group of processes
			cmd = exec.Command("setsid", os.Args[0])
		}
		cmd.Env = append(os.Environ(), asServer+"=sleeps")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		noted(argument, cmd.Process.Pid)
	case "floods-lines":
		for {
			fmt.Fprintln(out, "listening on port 3000")
		}
	case "floods":
		zeros := bytes.Repeat([]byte("0"), 1<<20)
		for {
			if _, err := out.Write(zeros); err != nil {
				return
			}
		}
	case "pings": // and reads nothing
		for {
			if _, err := fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"p","method":"ping"}`); err != nil {
				return
			}
		}
	case "chats":
		fmt.Fprintln(out, "listening on port 3000\n\n[1,2]\n\"text\"\n{}")
	case "closes":
		os.Stdout.Close()
		<-time.After(time.Hour)
	case "floods-stderr":
		go func() {
			line := os.Getenv("ACME_TOKEN") + strings.Repeat("e", 2*maxLine) + os.Getenv("ACME_TOKEN") + "\n"
			for {
				if _, err := os.Stderr.WriteString(line); err != nil {
					return
				}
			}
		}()
	}
	out.Flush()
	if kind == "stubborn" {
		noted(argument, os.Getpid())
	}
	lines := bufio.NewReader(os.Stdin)
	var capabilities json.RawMessage
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var call struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name         string
				Cursor       string
				Capabilities json.RawMessage
			}
		}
		_ = json.Unmarshal(line, &call)
		answer := func(text string) {
			fmt.Fprintf(out, `{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", text, call.ID)
			out.Flush()
		}
		switch {
		case kind == "silent", kind == "chats":
		case call.Method == "server/discover" && kind == "ends-at-discover":
			os.Exit(1)
		case call.Method == "server/discover" && kind == "ignores-discover":
		case call.Method == "server/discover":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", call.ID)
			out.Flush()
		case call.Method == "initialize":
			capabilities = call.Params.Capabilities
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		case call.Method == "tools/list":
			answer(toolPage(argument, call.Params.Cursor))
		case call.Method == "tools/call":
			switch call.Params.Name {
			case "dies":
				fmt.Fprintln(os.Stderr, "fatal error: out of cheese")
				os.Exit(7)
			case "never":
			case "asks":
				said := string(capabilities)
				for _, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"q","method":"%s","params":{"messages":[],"maxTokens":1,"message":"Your password?"}}`+"\n", method)
					out.Flush()
					reply, _ := lines.ReadString('\n')
					said += "\n" + reply
				}
				text, _ := json.Marshal(said)
				answer(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
			case "wants":
				answer(`{"resultType":"input_required","content":[],"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Your password?"}}}}`)
			case "huge":
				answer(`{"content":[{"type":"text","text":"` + strings.Repeat("x", maxMessage) + `"}]}`)
			case "gigabyte":
				_, _ = out.WriteString(`{"result":{"content":[{"type":"text","text":"`)
				for range 1 << 10 {
					if _, err := out.WriteString(strings.Repeat("x", 1<<20)); err != nil {
						return
					}
				}
				answer(`""`)
			case "deaf": // to later requests
				answer(`{"content":[]}`)
				out.Flush()
				<-time.After(time.Hour)
			case "odd":
				answer(`{"content":[{"type":"hologram"}]}`)
			case "wrong":
				answer(`{"content":7}`)
			default:
				answer(`{"content":[{"type":"text","text":"done"}]}`)
			}
		}
	}
}

// toolPage returns a page of tools.
func toolPage(kind, cursor string) string {
	const t = `{"name":"t","inputSchema":{"type":"object"}}`
	switch kind {
	case "endless":
		return fmt.Sprintf(`{"tools":[],"nextCursor":"%sx"}`, cursor)
	case "repeats":
		return `{"tools":[{"name":"t` + cursor + `","inputSchema":{"type":"object"}}],"nextCursor":"again"}`
	case "many":
		return `{"tools":[` + strings.Repeat(t+",", 600) + t + `],"nextCursor":"x` + cursor + `"}`
	case "large":
		return `{"tools":[{"name":"t","description":"","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 2<<20) + `"}}],"nextCursor":"x` + cursor + `"}`
	case "page":
		return `{"tools":[{"name":"t","description":"` + strings.Repeat("x", maxMessage) + `","inputSchema":{}}]}`
	case "odd":
		return `{"tools":[null,{"name":"a.b/c","description":"Reads\u001b[2J a\u202efile\udb40\udc41","inputSchema":7},{"name":"none","inputSchema":null}]}`
	}
	return `{"tools":[` + t + `]}`
}

// noted writes a number into a file, either completely or not at all.
func noted(file string, n int) {
	if err := os.WriteFile(file+".new", fmt.Append(nil, n), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		panic(err)
	}
}

// tools returns a server of the SDK, for both versions of the protocol.
func tools(canary string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	add := func(name string, do func(json.RawMessage) *mcp.CallToolResult) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Does " + name, InputSchema: &jsonschema.Schema{Type: "object"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return do(r.Params.Arguments), nil
			})
	}
	text := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add("echo", func(arguments json.RawMessage) *mcp.CallToolResult { return text(string(arguments)) })
	add("environment", func(json.RawMessage) *mcp.CallToolResult {
		dir, _ := os.Getwd()
		return text(strings.Join(append(os.Environ(), "in "+dir), "\n"))
	})
	add("fails", func(json.RawMessage) *mcp.CallToolResult {
		r := text("no such file")
		r.IsError = true
		return r
	})
	add("media", func(json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "one"},
			&mcp.ImageContent{Data: make([]byte, 12_345), MIMEType: "image/png"},
			&mcp.AudioContent{Data: make([]byte, 12), MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "file:///a\u202e.txt", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.txt", Text: "of b"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c.bin", Blob: make([]byte, 2_000)}},
		}}
	})
	add("structured", func(json.RawMessage) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}, StructuredContent: map[string]any{"n": 1}}
	})
	add("secret", func(json.RawMessage) *mcp.CallToolResult { return text("the token is " + canary) })
	return s
}

// options returns options for a test.
func options(t *testing.T) Options {
	f := httpfetch.New(httpfetch.Options{Agent: "knack"})
	t.Cleanup(f.Close)
	return Options{
		Getenv:   os.Getenv,
		ReadFile: os.ReadFile,
		HTTP: func(address string) (*http.Client, error) {
			c, err := f.For(address)
			if err != nil {
				return nil, err
			}
			return c.HTTP(), nil
		},
		grace: 200 * time.Millisecond,
	}
}

// as returns a server of the given kind, which is the test binary.
func as(kind string) Server {
	return Server{Name: "files", Command: []string{os.Args[0]}, Env: map[string]string{asServer: kind}}
}

// connected connects to a server, and checks at the end of the test that no process or
// goroutine is left.
func connected(t *testing.T, s Server, o Options) *Connection {
	t.Helper()
	nothingLeft(t)
	c, err := Connect(t.Context(), s, o)
	must(t, err)
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// nothingLeft checks at the end of the test that no goroutine is left.
func nothingLeft(t *testing.T) {
	t.Helper()
	base := runtime.NumGoroutine()
	t.Cleanup(func() {
		testwait.Until(t, func() bool { return runtime.NumGoroutine() <= base }, "goroutines are left:", func() string {
			b := make([]byte, 1<<20)
			return string(b[:runtime.Stack(b, true)])
		})
	})
}

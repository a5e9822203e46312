// Command mcpgo drives a server with mcp-go, a client that shares no code with knack, and prints
// its results as one JSON object.
//
//	mcpgo VERSION URL
//	mcpgo VERSION COMMAND [ARG]…
//
// VERSION is the protocol version. mcp-go has no methods for skills, so mcpgo sends raw requests
// for them.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type seen struct {
	Protocol                string
	Tools, Resources        int
	Skills, Pages, Files    int
	ResultType, Called      string
	Problems                []string
	RefusedSkill, RefusedMD bool
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: mcpgo VERSION URL | COMMAND [ARG]…")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := drive(ctx, os.Args[1], os.Args[2], os.Args[3:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpgo:", err)
		os.Exit(1)
	}
}

func connect(ctx context.Context, version, target string, args []string) (*client.Client, string, error) {
	var t transport.Interface
	var err error
	if strings.HasPrefix(target, "http://") {
		if t, err = transport.NewStreamableHTTP(target); err != nil {
			return nil, "", err
		}
	} else {
		t = transport.NewStdio(target, nil, args...)
	}
	c := client.NewClient(t, client.WithProtocolVersion(version))
	if err := c.Start(ctx); err != nil {
		return nil, "", err
	}
	init := mcp.InitializeRequest{}
	init.Params.ProtocolVersion = version
	init.Params.ClientInfo = mcp.Implementation{Name: "knack-interop", Version: "1.0.0"}
	res, err := c.Initialize(ctx, init)
	if err != nil {
		return nil, "", errors.Join(err, c.Close())
	}
	return c, res.ProtocolVersion, nil
}

func drive(ctx context.Context, version, target string, args []string) (*seen, error) {
	c, protocol, err := connect(ctx, version, target, args)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := &seen{Protocol: protocol, Problems: []string{}}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	s.Tools = len(tools.Tools)
	resources, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return nil, err
	}
	s.Resources = len(resources.Resources)
	if err := s.skills(ctx, c, version); err != nil {
		return nil, err
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = "skill"
	call.Params.Arguments = map[string]any{"name": resources.Resources[0].Name}
	answer, err := c.CallTool(ctx, call)
	if err != nil {
		return nil, err
	}
	if text, ok := answer.Content[0].(mcp.TextContent); ok {
		s.Called, _, _ = strings.Cut(text.Text, "\n")
	}
	read := mcp.ReadResourceRequest{}
	read.Params.URI = "skill://there/is/none.md"
	_, err = c.ReadResource(ctx, read)
	s.RefusedMD = err != nil
	return s, nil
}

// skills reads all pages of skills/list, and every file of each skill.
func (s *seen) skills(ctx context.Context, c *client.Client, version string) error {
	for cursor := ""; ; {
		var page struct {
			ResultType, NextCursor string
			Skills                 []struct {
				URI       string
				Resources []struct {
					URI, Digest string
					Size        int
				}
			}
		}
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if err := raw(ctx, c, version, 1000+s.Pages, "skills/list", params, &page); err != nil {
			return err
		}
		s.Pages++
		s.ResultType = page.ResultType
		for _, skill := range page.Skills {
			s.Skills++
			for _, file := range skill.Resources {
				data, err := readFile(ctx, c, file.URI)
				if err != nil {
					return err
				}
				if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); digest != file.Digest || len(data) != file.Size {
					s.Problems = append(s.Problems, file.URI)
				}
				s.Files++
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	s.RefusedSkill = raw(ctx, c, version, 999, "skills/get", map[string]any{"uri": "skill://there/is/none/SKILL.md"}, new(any)) != nil
	return nil
}

func readFile(ctx context.Context, c *client.Client, uri string) ([]byte, error) {
	req := mcp.ReadResourceRequest{}
	req.Params.URI = uri
	res, err := c.ReadResource(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	var out []byte
	for _, content := range res.Contents {
		switch content := content.(type) {
		case mcp.TextResourceContents:
			out = append(out, content.Text...)
		case mcp.BlobResourceContents:
			data, err := base64.StdEncoding.DecodeString(content.Blob)
			if err != nil {
				return nil, err
			}
			out = append(out, data...)
		}
	}
	return slices.Clip(out), nil
}

// raw sends a request for which mcp-go has no method.
func raw(ctx context.Context, c *client.Client, version string, id int, method string, params map[string]any, out any) error {
	req := transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(id)), Method: method, Params: params}
	if mcp.IsModernProtocol(version) {
		req.Header = http.Header{"Mcp-Method": {method}}
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    version,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "knack-interop", "version": "1.0.0"},
		}
	}
	res, err := c.GetTransport().SendRequest(ctx, req)
	if err != nil {
		return err
	}
	if res.Error != nil {
		return fmt.Errorf("%s: %d %s", method, res.Error.Code, res.Error.Message)
	}
	return json.Unmarshal(res.Result, out)
}

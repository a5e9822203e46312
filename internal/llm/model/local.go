package model

import (
	"context"
	"strings"
	"sync"
	"time"
)

// LocalServer is a model server on this machine.
type LocalServer struct {
	// Name is the program that usually listens on the port, such as "Ollama".
	Name string
	// URL is an [Endpoint.URL] for the wire [OpenAI].
	URL string
	// Models lists the server's models, except models that only make embeddings, judging by their
	// names. It may be empty.
	Models []string
	// Advice is a command or an action that gets a model, for a server without one.
	Advice string
}

// probePatience bounds a request to a server, which is on this machine and only returns a list.
const probePatience = 300 * time.Millisecond

// places lists the default addresses of model servers.
var places = []LocalServer{
	{Name: "Ollama", URL: "http://127.0.0.1:11434/v1", Advice: "ollama pull qwen3:8b"},
	{Name: "LM Studio", URL: "http://127.0.0.1:1234/v1", Advice: "lms get qwen3-8b, or download a model in its window"},
	{Name: "llama.cpp", URL: "http://127.0.0.1:8080/v1", Advice: "start it with a model: llama-server --model FILE.gguf --jinja"},
	{Name: "Docker Model Runner", URL: "http://127.0.0.1:12434/engines/v1", Advice: "docker model pull ai/qwen3"},
}

// Local requests the list of models from the usual ports of model servers on this machine,
// concurrently and within 300 milliseconds. It returns the servers that answer with such a list, in
// a fixed order. It sends no key and uses no proxy.
func Local(ctx context.Context, o Options) []LocalServer {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	o.Proxy = nil
	answers := make([]*LocalServer, len(places))
	var all sync.WaitGroup
	for i, place := range places {
		all.Go(func() { answers[i] = probe(ctx, place, o) })
	}
	all.Wait()
	var found []LocalServer
	for _, s := range answers {
		if s != nil {
			found = append(found, *s)
		}
	}
	return found
}

// probe returns a server with its models, or nil if no model server listens there.
func probe(ctx context.Context, s LocalServer, o Options) *LocalServer {
	c := New(Endpoint{URL: s.URL}, o)
	defer c.Close()
	data, err := c.get(ctx, c.endpointURL("models"))
	if err != nil || text(object(data)["object"]) != "list" {
		return nil
	}
	names, ok := modelsIn(data)
	if !ok {
		return nil
	}
	for _, name := range names {
		if !strings.Contains(strings.ToLower(name), "embed") {
			s.Models = append(s.Models, name)
		}
	}
	return &s
}
